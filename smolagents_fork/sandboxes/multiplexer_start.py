"""Start of the multiplexer of connections in a sandbox."""

from __future__ import annotations

import select
from importlib import resources

from ..deadline import Deadline
from .connection_multiplexer import LISTENING
from .provisioner import ByteStream

__all__ = ["multiplexer_command", "wait_until_listening"]


def multiplexer_command(port: int) -> list[str]:
    """Return the command of a multiplexer, for any Python 3 of an image.

    Args:
        port: Port of the sandbox's loopback.
    """
    source = resources.files(__package__).joinpath("connection_multiplexer.py").read_text("utf-8")
    return ["python3", "-I", "-S", "-c", source, str(port)]


def wait_until_listening(stream: ByteStream, deadline: Deadline) -> None:
    """Wait until a multiplexer says that its port can be connected to.

    Args:
        stream: Stream of its input and output.
        deadline: Deadline of the wait.

    Raises:
        OSError: it ended, or did not say so in time.
    """
    stream.setblocking(False)
    while True:
        try:
            data = stream.recv(len(LISTENING))
        except BlockingIOError:
            seconds = deadline.at_most(1e6)
            if seconds <= 0:
                raise TimeoutError("it did not listen in time") from None
            select.select([stream], [], [], seconds)
            continue
        if data != LISTENING:
            raise ConnectionError("it has ended")
        return
