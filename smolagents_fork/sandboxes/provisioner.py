"""The seam between executors and places that run sandboxes, whatever such a place is.

A place implements :class:`Provisioner`; Docker's engine is the first. Everything above is typed by
the protocols of this module and assumes no shared file system, no reachable address and no local
socket. ``tests/contract/provisioners`` is the contract as a test suite: every implementation passes
it.

Who calls what: an executor calls :meth:`Provisioner.start`, :meth:`Sandbox.open_stream` once for
each connection to the gateway, :meth:`Sandbox.status` when something has ended, and
:meth:`Sandbox.remove`, from any thread, at any moment and any number of times.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..errors import ExecutorError
from ..results import ExecutorStats
from .resource_limits import Limits

__all__ = [
    "ByteStream",
    "FileTooLarge",
    "Limits",
    "Provisioner",
    "Sandbox",
    "SandboxSpec",
    "SandboxStatus",
]


class FileTooLarge(ExecutorError):
    """A file of a sandbox has more bytes than were to be read."""


@dataclass(frozen=True)
class SandboxSpec:
    """Specification of a sandbox to start.

    Attributes:
        image: reference the provisioner understands.
        limits: see :class:`Limits`.
        environment: variables of the sandbox; never a secret, the program can read them.
        workdir: absolute path of the folder the program may write to.
        gateway_port: port the kernel gateway listens on inside.
        gateway_token: what the gateway asks its clients for.
        lease_seconds: how long the sandbox outlives a host process that was killed.
    """

    image: str
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/workspace"
    gateway_port: int = 8888
    gateway_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    lease_seconds: float = 60.0


@dataclass(frozen=True)
class SandboxStatus:
    """Status of a sandbox: whether it lives, how it ended, and its last log lines.

    Attributes:
        state: ``running``, ``ended``, ``ended and was removed`` and the like.
        exit_code: of the sandbox's main process, ``None`` while unknown.
        out_of_memory: whether something in it was killed for lack of memory.
        log_lines: the last lines it logged.
        log_missing: why these are not known, where they are not.
    """

    state: str
    exit_code: int | None = None
    out_of_memory: bool = False
    log_lines: tuple[str, ...] = ()
    log_missing: str = ""

    @property
    def running(self) -> bool:
        """Tell whether it lives."""
        return self.state == "running"

    def __str__(self) -> str:
        parts = [f"container {self.state}"]
        if self.exit_code is not None:
            parts.append(f"exit code {self.exit_code}")
        if self.out_of_memory:
            parts.append("out of memory: raise memory=, or use less")
        text = ", ".join(parts)
        if self.log_lines:
            text += "; last log lines: " + " | ".join(self.log_lines)
        elif self.log_missing:
            # The engine removes what ended by itself, and may be quicker than the question.
            text += f"; the engine removed its log with it ({self.log_missing})"
        elif self.state.startswith("ended"):
            text += "; nothing in its log says why"
        return text


class ByteStream(Protocol):
    """A non-blocking stream in and out of a sandbox: the part of a socket that is used."""

    def recv(self, size: int, /) -> bytes: ...
    def send(self, data: bytes, /) -> int: ...
    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...
    def close(self) -> None: ...


class Sandbox(Protocol):
    """One running sandbox."""

    @property
    def id(self) -> str:
        """Short identifier, for messages."""

    @property
    def spec(self) -> SandboxSpec:
        """Specification that was asked for."""

    def open_stream(self, *, timeout: float) -> ByteStream:
        """Open a stream to the kernel gateway, which may still be coming up.

        Args:
            timeout: seconds to wait for the gateway; inside the sandbox, where that can be done.

        Raises:
            OSError: nothing answers in time.
            ExecutorError: the sandbox is gone, or can give no stream.
        """

    def engine_responds(self) -> bool:
        """Return whether what the streams run through answers; takes two seconds at most."""

    def status(self) -> SandboxStatus:
        """Return what became of it; never raises, takes a few seconds at most."""

    def stats(self) -> ExecutorStats:
        """Return what it uses now.

        Raises:
            ExecutorError: it is gone.
        """

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file; it is in its place when it is whole.

        Args:
            path: absolute; folders on the way to it are made.
            data: its content.

        Raises:
            ExecutorError: it could not be written; says why.
        """

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file.

        Args:
            path: absolute.
            max_bytes: most to take.

        Raises:
            FileTooLarge: it has more bytes.
            ExecutorError: it could not be read; says why.
        """

    def remove(self) -> None:
        """End and remove it, in the background; idempotent, and no error when it is gone."""


class Provisioner(Protocol):
    """A place that runs sandboxes."""

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox; it is up when its streams answer.

        Raises:
            ExecutorError: it cannot be started; nothing of it is left.
        """

    def ours(self) -> list[str]:
        """Return the ids of sandboxes that this process has started and that are there."""

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for removals under way; return whether all are done. Also after :meth:`close`.

        Args:
            timeout: seconds to wait at most.
        """

    def close(self) -> None:
        """Give up the connection to the place; running sandboxes stay. Safe to call again."""
