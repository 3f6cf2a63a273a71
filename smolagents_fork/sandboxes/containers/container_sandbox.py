"""Common part of the sandboxes that are containers, of whichever engine."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...results import FileInfo
from ...system.proxy_environment import PROXY_PORT
from ..multiplexer_start import multiplexer_command, wait_until_listening
from ..provisioner import ByteStream, ConnectionProxy, SandboxSpec
from . import container_files

__all__ = ["ContainerSandbox", "Started"]

_logger = logging.getLogger("smolagents_fork")
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
        self._has_multiplexed = False

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

    def _multiplex(self, proxy: ConnectionProxy, deadline: Deadline) -> None:
        """Have the proxy serve connections that a program in the sandbox carries over a stream.

        Args:
            proxy: Proxy of this process.
            deadline: Deadline of the program's start.

        Raises:
            ExecutorStartError: the sandbox's first did not begin to listen.
        """
        seconds = deadline.at_most(_MULTIPLEXER_SECONDS)
        stream = self._open_program(multiplexer_command(PROXY_PORT), seconds)
        try:
            wait_until_listening(stream, Deadline(seconds))
        except BaseException as error:
            stream.close()
            if not isinstance(error, OSError):
                raise
            told = f"the multiplexer of connections in sandbox {self.name} did not start: {error}"
            if not self._has_multiplexed:
                raise ExecutorStartError(told) from None
            # The code has run, and may have taken the port; it has its kernel, and no hosts.
            _logger.warning("%s; allowed_hosts= are not reached from it any more", told)
        else:
            self._has_multiplexed = True
            proxy.serve_stream(stream)

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
