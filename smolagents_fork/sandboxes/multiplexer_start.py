"""Start of the multiplexer of connections in a sandbox, again after each loss of its stream."""

from __future__ import annotations

import logging
import selectors
from collections.abc import Callable
from importlib import resources

from ..deadline import Deadline
from ..errors import ExecutorError, ExecutorStartError
from ..system.closing import close_on_error
from .connection_multiplexer import LISTENING
from .provisioner import ByteStream, ConnectionProxy

__all__ = ["CarriedConnections", "multiplexer_command", "wait_until_listening"]

_logger = logging.getLogger("smolagents_fork")


class CarriedConnections:
    """Connections of one sandbox to the proxy of this process, over one stream after another.

    Args:
        open_multiplexer: Starts a multiplexer in the sandbox, which listens, in so many seconds,
            and returns its stream; raises OSError where it ends, or does not listen in time.
    """

    def __init__(
        self,
        proxy: ConnectionProxy,
        open_multiplexer: Callable[[float], ByteStream],
        sandbox: str,
    ) -> None:
        self._proxy = proxy
        self._open_multiplexer = open_multiplexer
        self._sandbox = sandbox
        self._were_served = False

    def serve_beside(self, kernel: ByteStream, seconds: float) -> None:
        """Have the proxy serve the connections from now on.

        Args:
            kernel: Stream to the sandbox's kernel, opened before; closed where this fails.
            seconds: Limit of the multiplexer's start.

        Raises:
            ExecutorError: the first multiplexer of the sandbox did not start. Before a later one
                code has run, which may have taken the port: it has its kernel and no hosts.
        """
        with close_on_error(kernel):
            self._serve(seconds)

    def _serve(self, seconds: float) -> None:
        try:
            stream = self._open_multiplexer(seconds)
        except (OSError, ExecutorError) as error:
            message = f"the multiplexer of connections in {self._sandbox} did not start: {error}"
            if not self._were_served:
                raise ExecutorStartError(message) from error
            _logger.warning("%s; allowed_hosts= are not reached from it any more", message)
        else:
            self._were_served = True
            self._proxy.serve_stream(stream)


def multiplexer_command(port: int) -> list[str]:
    """Return the command of a multiplexer, for any Python 3 of an image."""
    source = resources.files(__package__).joinpath("connection_multiplexer.py").read_text("utf-8")
    return ["python3", "-I", "-S", "-c", source, str(port)]


def wait_until_listening(stream: ByteStream, deadline: Deadline) -> None:
    """Wait until a multiplexer says that its port can be connected to.

    Raises:
        OSError: it ended, or did not say so in time.
    """
    stream.setblocking(False)
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            try:
                data = stream.recv(len(LISTENING))
            except BlockingIOError:
                seconds = deadline.at_most(1e6)
                if seconds <= 0:
                    raise TimeoutError("it did not listen in time") from None
                selector.select(seconds)
                continue
            if data != LISTENING:
                raise ConnectionError("it has ended")
            return
