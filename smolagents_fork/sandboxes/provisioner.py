"""What an executor needs of a place that runs sandboxes, whatever that place is.

Docker's engine is the first such place. A cluster engine takes the same place by implementing these
two protocols; nothing above them assumes a shared file system, a reachable address or a local
socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..results import ExecutorStats

__all__ = ["ByteStream", "Evidence", "Limits", "Provisioner", "Sandbox", "SandboxSpec"]


@dataclass(frozen=True)
class Limits:
    """What a sandbox may use.

    Attributes:
        memory: bytes as a number, or text such as ``"2g"``; ``None`` for no limit. Swap is not
            added to it. Files in the work folder and in /tmp count.
        cpus: processor cores, fractions allowed; ``None`` for no limit.
        pids: processes and threads; ``None`` for no limit.
        workdir_size: bytes or text such as ``"256m"``: how much the work folder may hold.
        tmp_size: the same for /tmp.
    """

    memory: int | str | None = "2g"
    cpus: float | None = 1.0
    pids: int | None = 256
    workdir_size: int | str = "512m"
    tmp_size: int | str = "128m"


@dataclass(frozen=True)
class SandboxSpec:
    """What to start.

    Attributes:
        image: reference the provisioner understands.
        limits: see :class:`Limits`.
        network: ``"none"`` for no interface but loopback, or a network's name.
        read_only: whether the root file system is read-only.
        disk_size: bytes or text: how much may be written into a root file system that is not.
        user: numeric ``uid:gid``.
        runtime: name of an OCI runtime (``runsc`` for gVisor), ``None`` for the engine's own.
        environment: variables of the sandbox; never a secret, the program can read them.
        volumes: as docker-py takes them.
        workdir: absolute path of the folder the program may write to.
        gateway_port: port the kernel gateway listens on inside.
        publish: host address and port to publish the gateway on (port ``None``: any free one).
        lease_seconds: how long the sandbox outlives a host process that was killed.
        extra: engine-specific arguments that override all of the above.
    """

    image: str
    limits: Limits = field(default_factory=Limits)
    network: str = "none"
    read_only: bool = True
    disk_size: int | str | None = None
    user: str = "1000:1000"
    runtime: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    volumes: Any = None
    workdir: str = "/workspace"
    gateway_port: int = 8888
    publish: tuple[str, int | None] | None = None
    lease_seconds: float = 60.0
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """What is known about a sandbox that does not answer any more.

    Attributes:
        state: ``running``, ``exited``, ``removed``, ``engine gone`` and the like.
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

    def open_stream(self, *, timeout: float) -> ByteStream:
        """A stream to the kernel gateway; it may still be coming up (it is waited for inside)."""

    def evidence(self) -> Evidence:
        """What became of it; never raises, takes a second or two at most."""

    def stats(self) -> ExecutorStats:
        """What it uses now."""

    def run(
        self, argv: list[str], *, stdin: bytes = b"", timeout: float, max_bytes: int
    ) -> tuple[int, bytes, bytes]:
        """Run a program beside the kernel: exit code, standard output, standard error."""

    def remove(self) -> None:
        """End and remove it; idempotent, and no error when it is gone already."""


class Provisioner(Protocol):
    """A place that runs sandboxes."""

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox; it is up when its streams answer."""

    def close(self) -> None:
        """Give up the connection to the place; running sandboxes stay."""
