"""The listener of a sandbox's loopback, received with the first byte of its connection."""

from __future__ import annotations

import contextlib
import select
import socket

from ..errors import ExecutorStartError

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
    numbers: list[int] = []
    with contextlib.suppress(ConnectionError):
        _, numbers, _, _ = socket.recv_fds(connection, 1, 1, socket.MSG_CMSG_CLOEXEC)
    return socket.socket(fileno=numbers[0]) if numbers else None
