"""Common part of the sandboxes that are containers, of whichever engine."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from ...deadline import Deadline
from ...system.proxy_environment import PROXY_PORT
from ..multiplexer_start import CarriedConnections, multiplexer_command, wait_until_listening
from ..provisioner import ByteStream, SandboxSpec

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
    """One running container, in which the engine starts programs.

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
    def open_program(self, argv: list[str], seconds: float) -> ByteStream:
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
        stream = self.open_program(multiplexer_command(PROXY_PORT), deadline.at_most(seconds))
        try:
            wait_until_listening(stream, deadline)
        except BaseException:
            stream.close()
            raise
        return stream
