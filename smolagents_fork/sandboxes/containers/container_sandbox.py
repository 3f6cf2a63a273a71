"""Common part of the sandboxes that are containers, of whichever engine."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from ...deadline import Deadline
from ...results import FileInfo
from ...system.proxy_environment import PROXY_PORT
from ..multiplexer_start import CarriedConnections, multiplexer_command, wait_until_listening
from ..provisioner import ByteStream, SandboxSpec
from . import container_files

__all__ = ["ContainerSandbox", "Started"]

# Limit of the start of the program that carries connections.
_MULTIPLEXER_SECONDS = 30.0


class Started(Protocol):
    """A container or pod that has been started."""

    @property
    def name(self) -> str:
        """Name that the engine knows it by."""

    @property
    def gateway_token(self) -> str:
        """Token that its gateway asks for."""


_Started = TypeVar("_Started", bound=Started)


class ContainerSandbox(ABC, Generic[_Started]):
    """One running container, whose files are read and written by programs in it.

    Args:
        started: the container or pod.
        spec: Description that it was started from.
    """

    def __init__(self, started: _Started, spec: SandboxSpec) -> None:
        self._started = started
        self._spec = spec
        self._lock = threading.Lock()
        self._removed = False
        #: Connections that a multiplexer carries to the proxy of this process.
        self._carried = (
            None
            if spec.proxy is None
            else CarriedConnections(spec.proxy, self.open_multiplexer, f"sandbox {started.name}")
        )

    @property
    def spec(self) -> SandboxSpec:
        """Specification that it was started from."""
        return self._spec

    @property
    def gateway_token(self) -> str:
        """Token that the gateway asks for."""
        return self._started.gateway_token

    @property
    def name(self) -> str:
        """Name that the engine knows it by."""
        return self._started.name

    @abstractmethod
    def run(
        self, argv: list[str], *, stdin: Iterable[bytes] = (), timeout: float, max_bytes: int
    ) -> tuple[int, bytes, bytes]:
        """Run a program in the sandbox; see :class:`.container_files.Run`."""

    @abstractmethod
    def _open_program(self, argv: list[str], seconds: float) -> ByteStream:
        """Start a program in the sandbox; return the stream of its input and output.

        Args:
            argv: program and arguments, without a shell.
            seconds: until the engine has to answer.
        """

    def open_multiplexer(self, seconds: float) -> ByteStream:
        """Have a program in the sandbox listen on the proxy's port; return its stream.

        It replaces the one before, whose connections end.

        Args:
            seconds: until it has to listen.

        Raises:
            OSError: it ended, or did not listen in time.
            ExecutorError: the engine cannot start it.
        """
        deadline = Deadline(min(seconds, _MULTIPLEXER_SECONDS))
        stream = self._open_program(multiplexer_command(PROXY_PORT), deadline.at_most(seconds))
        try:
            wait_until_listening(stream, deadline)
        except BaseException:
            stream.close()
            raise
        return stream

    def write_file(
        self, path: str, pieces: Iterable[bytes], size: int, parts: Sequence[str] = ()
    ) -> None:
        """Write a file; see :meth:`.provisioner.Sandbox.write_file`.

        Args:
            path: absolute; missing folders are made.
            pieces: its content.
            size: of all pieces together, in bytes.
            parts: see :func:`.container_files.write_file`.
        """
        container_files.write_file(self.run, path, pieces, size, parts)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :meth:`.provisioner.Sandbox.make_folder`."""
        container_files.make_folder(self.run, path)

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :meth:`.provisioner.Sandbox.read_file`."""
        return container_files.read_file(self.run, path, max_bytes)

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; see :meth:`.provisioner.Sandbox.list_files`."""
        return container_files.list_files(self.run, path)
