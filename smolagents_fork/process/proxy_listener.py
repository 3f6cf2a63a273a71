"""The listener in a child's own network namespace, whose connections the host's proxy accepts."""

from __future__ import annotations

import array
import contextlib
import os
import select
import socket
import struct

from ..errors import ExecutorStartError
from .descriptor_passing import send_descriptors

__all__ = ["PROXY_PORT", "open_listener", "receive_listener", "send_listener"]

#: Port of the proxy in every child; each has a loopback of its own.
PROXY_PORT = 3128
# Connections that wait for the proxy.
_BACKLOG = 64
# include/uapi/linux/sockios.h and if.h
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_INTERFACE = struct.Struct("16sH14x")  # struct ifreq: name, flags
_GIVEN, _MISSING = b"L", b"N"


def open_listener() -> socket.socket:
    """Enable loopback in this process's own network namespace, and listen there.

    Raises:
        OSError: the kernel refused.
    """
    import fcntl  # not available on Windows, where this module is imported

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        fcntl.ioctl(listener, _SIOCSIFFLAGS, _INTERFACE.pack(b"lo", _IFF_UP))
        listener.bind(("127.0.0.1", PROXY_PORT))
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def send_listener(number: int, listener: socket.socket | None) -> None:
    """Send the listener to the host before the first frame, and close it here.

    Args:
        number: descriptor of the connection to the host.
        listener: ``None``: there is none, which the host learns at once.
    """
    with socket.socket(fileno=os.dup(number)) as connection:
        if listener is None:
            connection.send(_MISSING)
            return
        with listener:
            send_descriptors(connection, _GIVEN, [listener.fileno()])


def receive_listener(connection: socket.socket, seconds: float) -> socket.socket | None:
    """Receive a child's listener; ``None`` if it has none, or has ended.

    Args:
        connection: to the child, which has sent nothing else yet.
        seconds: the longest wait.

    Raises:
        ExecutorStartError: the child sent neither in time.
    """
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(seconds * 1000):
        raise ExecutorStartError(f"the child sent no listener within {seconds} s")
    numbers = array.array("i")
    with contextlib.suppress(ConnectionError):
        _, ancillary, _, _ = connection.recvmsg(
            1, socket.CMSG_SPACE(numbers.itemsize), socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    return socket.socket(fileno=numbers[0]) if numbers else None
