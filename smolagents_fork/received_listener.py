"""The listener of a sandbox's loopback, received with the first byte of its connection."""

from __future__ import annotations

import array
import contextlib
import select
import socket

from .errors import ExecutorStartError

__all__ = ["receive_listener"]


def receive_listener(connection: socket.socket, seconds: float) -> socket.socket | None:
    """Receive a sandbox's listener; ``None`` if it has none, or has ended.

    Args:
        connection: Connection to the sandbox, which has sent nothing else yet.
        seconds: Longest wait.

    Raises:
        ExecutorStartError: the sandbox sent neither in time.
    """
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(seconds * 1000):
        raise ExecutorStartError(f"the sandbox sent no listener within {seconds} s")
    numbers = array.array("i")
    with contextlib.suppress(ConnectionError):
        _, ancillary, _, _ = connection.recvmsg(
            1, socket.CMSG_SPACE(numbers.itemsize), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return socket.socket(fileno=numbers[0]) if numbers else None
