"""Descriptors sent to another process, whatever else the user has in flight, and received.

The kernel compares the number of descriptors that all processes of a user have sent and not yet
received with the *sender's* soft limit on open files (``too_many_unix_fds()``, ETOOMANYREFS). A
child's limit is low. Every sender of the fork itself raises its limit for the moment of the
message, so that no child can keep it from sending.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Sequence

from .forks import ForkSafeLock

__all__ = ["receive_descriptor", "send_descriptors"]

_limit_lock = ForkSafeLock()


def send_descriptors(connection: socket.socket, data: bytes, descriptors: Sequence[int]) -> int:
    """Send data with descriptors; return how many bytes were sent.

    Args:
        connection: a connected UNIX socket.
        data: one byte or more.
        descriptors: stay open here.

    Raises:
        OSError: the other end has closed, or the hard limit is reached.
    """
    if sys.platform != "linux":
        return socket.send_fds(connection, [data], list(descriptors))
    import resource  # not available on Windows, where this module is imported

    with _limit_lock:
        usual = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual[1], usual[1]))
        try:
            return socket.send_fds(connection, [data], list(descriptors))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, usual)


def receive_descriptor(connection: socket.socket) -> int | None:
    """Receive the descriptor that was sent with the next byte; ``None`` if none was, or in time.

    Args:
        connection: a connected UNIX socket, which may have a time limit.
    """
    numbers: list[int] = []
    with contextlib.suppress(OSError):
        _, numbers, _, _ = socket.recv_fds(connection, 1, 1, socket.MSG_CMSG_CLOEXEC)
    return numbers[0] if numbers else None
