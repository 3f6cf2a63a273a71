"""Descriptors sent to another process, whatever else the user has in flight.

The kernel compares the number of descriptors that all processes of a user have sent and not yet
received with the *sender's* soft limit on open files (``too_many_unix_fds()``, ETOOMANYREFS). A
child's limit is low. Every sender of the fork itself raises its limit for the moment of the
message, so that no child can keep it from sending.
"""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterator, Sequence

from ...system.forks import ForkSafeLock, reset_in_child

__all__ = ["send_descriptors"]

_limit_lock = ForkSafeLock()
_senders = 0
_usual_limit = (0, 0)


def send_descriptors(connection: socket.socket, data: bytes, descriptors: Sequence[int]) -> int:
    """Send data with descriptors; return how many bytes were sent.

    Args:
        connection: a connected UNIX socket.
        data: one byte or more.
        descriptors: stay open here.

    Raises:
        OSError: the other end has closed, or the hard limit is reached.
    """
    with _highest_limit():
        return socket.send_fds(connection, [data], list(descriptors))


@contextlib.contextmanager
def _highest_limit() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    import resource

    global _senders, _usual_limit
    with _limit_lock:
        if _senders == 0:
            _usual_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (_usual_limit[1], _usual_limit[1]))
        _senders += 1
    try:
        yield
    finally:
        with _limit_lock:
            _senders -= 1
            if _senders == 0:
                resource.setrlimit(resource.RLIMIT_NOFILE, _usual_limit)


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, in which no other thread sends."""
    global _senders
    _senders = 0
