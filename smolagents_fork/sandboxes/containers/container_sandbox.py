"""Common part of the sandboxes that are containers, of whichever engine."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

from ...deadline import Deadline
from ...system.closing import close_on_error
from ...system.proxy_environment import PROXY_PORT
from ..multiplexer_start import CarriedConnections, multiplexer_command, wait_until_listening
from ..provisioner import ByteStream, SandboxSpec

__all__ = ["ContainerSandbox"]

# Limit of the start of the program that carries connections.
_MULTIPLEXER_SECONDS = 30.0


class ContainerSandbox(ABC):
    """One running container, in which the engine starts programs."""

    def __init__(self, name: str, gateway_token: str, spec: SandboxSpec) -> None:
        self.name, self.gateway_token, self.spec = name, gateway_token, spec
        self._lock = threading.Lock()
        self._removed = False
        #: Connections that a multiplexer carries to the proxy of this process.
        self._carried = (
            None
            if spec.proxy is None
            else CarriedConnections(spec.proxy, self.open_multiplexer, f"sandbox {name}")
        )

    def remove(self) -> None:
        """Kill and remove it, in the background; done before the process exits. Idempotent."""
        with self._lock:
            if self._removed:
                return
            self._removed = True
        self._begin_removal()

    @abstractmethod
    def _begin_removal(self) -> None:
        """Close the connections and have it removed; called once."""

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

        Raises:
            OSError: it ended, or did not listen in time.
            ExecutorError: the engine cannot start it.
        """
        deadline = Deadline(min(seconds, _MULTIPLEXER_SECONDS))
        stream = self.open_program(multiplexer_command(PROXY_PORT), deadline.at_most(seconds))
        with close_on_error(stream):
            wait_until_listening(stream, deadline)
        return stream
