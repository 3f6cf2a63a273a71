"""Sockets in place of connections that only a thread can wait for.

docker-py reaches an engine through a Windows named pipe, or through a channel of its own SSH
client. Neither has a descriptor that a selector or a poll takes. Two threads copy between such a
connection and a pair of sockets, so everything above has a socket, whatever the engine is reached
by.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Protocol

from ....system.forks import disconnect_in_child

__all__ = ["BlockingConnection", "socket_to"]

_PIECE_BYTES = 1 << 16


class BlockingConnection(Protocol):
    """A connection whose calls wait; the part of a socket that such connections have."""

    def recv(self, size: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> object: ...
    def settimeout(self, seconds: float | None, /) -> object: ...
    def close(self) -> object: ...


def socket_to(connection: BlockingConnection) -> socket.socket:
    """Return a socket for a connection, which is closed when the socket is.

    Args:
        connection: open, and used by nobody else from now on.

    Raises:
        OSError: this process can have no more descriptors.
        RuntimeError: it can have no more threads.
    """
    connection.settimeout(None)
    near, far = socket.socketpair()
    disconnect_in_child(far)

    def receive() -> None:
        # An error of the connection is its end; a named pipe always ends in one.
        with contextlib.suppress(Exception):
            while data := connection.recv(_PIECE_BYTES):
                far.sendall(data)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_RDWR)

    receiver = threading.Thread(target=receive, name="smolagents-fork-receive", daemon=True)

    def send() -> None:
        with contextlib.suppress(Exception):
            while data := far.recv(_PIECE_BYTES):
                connection.sendall(data)
        with contextlib.suppress(Exception):
            connection.close()
        receiver.join()
        far.close()

    sender = threading.Thread(target=send, name="smolagents-fork-send", daemon=True)
    try:
        receiver.start()
        sender.start()
    except BaseException:
        near.close()
        far.close()
        raise
    return near
