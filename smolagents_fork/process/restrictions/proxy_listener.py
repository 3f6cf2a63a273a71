"""The listener in a child's own network namespace, whose connections the host's proxy accepts."""

from __future__ import annotations

import socket
import struct

from ...system.proxy_environment import PROXY_PORT
from .descriptor_passing import send_descriptors

__all__ = ["open_listener", "send_listener"]

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


def send_listener(connection: socket.socket, listener: socket.socket | None) -> None:
    """Send the host the listener before the first frame, and close it here.

    Args:
        connection: to the host.
        listener: Listener to send; ``None``: there is none, which the host learns at once.
    """
    if listener is None:
        connection.send(_MISSING)
        return
    with listener:
        send_descriptors(connection, _GIVEN, [listener.fileno()])
