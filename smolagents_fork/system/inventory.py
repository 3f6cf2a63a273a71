"""Sandboxes and images of the fork on this machine, as the command line lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from ..errors import ExecutorError

__all__ = [
    "ELSEWHERE",
    "GONE",
    "RUNNING",
    "ImageEntry",
    "Inventory",
    "OwnerProcess",
    "Removal",
    "SandboxEntry",
    "size_text",
]

#: States of an owner. Another machine's processes cannot be looked up from here.
RUNNING, GONE, ELSEWHERE = "running", "gone", "elsewhere"


@dataclass(frozen=True)
class OwnerProcess:
    """The process that started a sandbox.

    Attributes:
        host: name of its machine; empty if unknown.
        pid: its process id; ``None`` if unknown.
        state: ``running``, ``gone`` or ``elsewhere``.
        command: its command line, where it can be read.
        cluster: place of the sandbox in a cluster, such as its node; empty outside one.
    """

    host: str
    pid: int | None
    state: str
    command: str = ""
    cluster: str = ""


@dataclass(frozen=True)
class SandboxEntry:
    """One sandbox that exists now.

    Attributes:
        id: takes ``logs`` and ``kill``.
        executor: name of the executor it belongs to.
        owner: the process that started it.
        started_at: seconds of the epoch.
        state: such as ``running``.
        memory_bytes: in use; ``None`` if unknown.
        memory_limit_bytes: ``None`` for no limit, or if unknown.
        name: of the container; empty for a process.
        image: that it was started from; empty for a process.
    """

    id: str
    executor: str
    owner: OwnerProcess
    started_at: float
    state: str
    memory_bytes: int | None = None
    memory_limit_bytes: int | None = None
    name: str = ""
    image: str = ""


@dataclass(frozen=True)
class ImageEntry:
    """One image that the fork has built.

    Attributes:
        id: short identifier.
        names: its tags; empty for an image that was replaced.
        size_bytes: with layers that it shares with others.
        own_bytes: without them: what removing only this image frees; ``None`` if unknown.
        created_at: seconds of the epoch.
        packages: requirements added to it; ``None`` if it does not say.
        used_by: names of the containers that use it, of any owner and state.
    """

    id: str
    names: tuple[str, ...]
    size_bytes: int
    own_bytes: int | None
    created_at: float
    packages: tuple[str, ...] | None
    used_by: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Removal:
    """A container, an image or a volume that can be removed.

    Attributes:
        id: of the container or the image; the volume's name.
        what: ``container``, ``image`` or ``volume``.
        names: of the container, or the tags of the image, which may have none.
        size_bytes: that its removal frees at least; ``None`` if unknown.
        reason: why it is unneeded.
    """

    id: str
    what: str
    names: tuple[str, ...]
    size_bytes: int | None
    reason: str


def size_text(size: float) -> str:
    """Return a number of bytes for people, in powers of 1,000 as Docker shows them."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


class Inventory(ABC):
    """Sandboxes of one executor, and the logs and images that its engine keeps, if it keeps any.

    A method that needs an engine raises ``EngineUnavailableError`` without one.
    """

    @abstractmethod
    def sandboxes(self) -> list[SandboxEntry]:
        """List the sandboxes that exist on this machine or engine, of any owner."""

    @abstractmethod
    def kill(self, sandbox: SandboxEntry) -> None:
        """End a sandbox; no error if it is gone.

        Args:
            sandbox: one of :meth:`sandboxes`.

        Raises:
            ExecutorError: this user may not.
        """

    def log(self, sandbox: SandboxEntry, lines: int) -> list[str]:  # noqa: ARG002 - of engines
        """Return the last lines of a sandbox's log.

        Args:
            sandbox: one of :meth:`sandboxes`.
            lines: at most this many.

        Raises:
            ExecutorError: it is gone, or has no log.
        """
        raise ExecutorError(
            f"{sandbox.id} keeps no log: what its program prints goes to the executor that "
            "started it"
        )

    def images(self) -> list[ImageEntry]:
        """List the images that the fork has built, the largest first."""
        return []

    def garbage(self, pattern: str) -> list[Removal]:  # noqa: ARG002 - of engines with images
        """List unneeded sandboxes and images.

        Args:
            pattern: shell pattern that a name or id has to match.
        """
        return []

    def remove(self, removal: Removal) -> str:
        """Remove one entry of :meth:`garbage`; return why it was not removed, empty if it was.

        Args:
            removal: Removal from :meth:`garbage`.
        """
        return f"no {removal.what} of this executor can be removed"
