"""Frames between the host and its helper process: a length, then one encoded value.

Descriptors travel with the first byte of the frame that announces them. Both ends refuse a frame
over the limit before they read it, and decode without pickle.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections import deque
from typing import Any

from ...codec import decode, encode
from ...errors import DecodeError, ProtocolError
from ...process.descriptor_passing import send_descriptors

__all__ = ["MOST_BYTES", "FrameSocket"]

#: Longest frame, in bytes.
MOST_BYTES = 16 << 20
_LENGTH = struct.Struct("!I")
_PIECE = 1 << 18
_MOST_DESCRIPTORS = 16


class FrameSocket:
    """One end of the connection. One thread may send while another receives.

    Args:
        connection: a connected socket of this machine; closed with this object.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._descriptors: deque[int] = deque()

    def send(self, value: dict[str, Any], descriptor: int | None = None) -> None:
        """Send a value.

        Args:
            value: plain data.
            descriptor: travels with it; stays open here.

        Raises:
            OSError: the other end has closed the connection.
            ProtocolError: the value is too long.
        """
        body = encode(value, max_bytes=MOST_BYTES)
        data = memoryview(_LENGTH.pack(len(body)) + body)
        if descriptor is not None:
            data = data[send_descriptors(self._socket, bytes(data), [descriptor]) :]
        self._socket.sendall(data)

    def receive(self) -> dict[str, Any] | None:
        """Return the next value; ``None`` when the other end has closed the connection.

        Raises:
            ProtocolError: not a frame of the other end.
        """
        head = self._exactly(_LENGTH.size)
        if head is None:
            return None
        (length,) = _LENGTH.unpack(head)
        if length > MOST_BYTES:
            raise ProtocolError(f"a frame of {length} bytes, over {MOST_BYTES}")
        body = self._exactly(length)
        if body is None:
            return None
        try:
            value = decode(body, path="frame", max_bytes=MOST_BYTES)
        except DecodeError as error:
            raise ProtocolError(f"a frame that cannot be read: {error}") from error
        if type(value) is not dict:
            raise ProtocolError(f"a frame with {type(value).__name__}")
        return value

    def take_descriptor(self) -> int:
        """Return the descriptor that came with the last frame; the caller closes it.

        Raises:
            ProtocolError: none has come.
        """
        if not self._descriptors:
            raise ProtocolError("a frame without the descriptor that it announces")
        return self._descriptors.popleft()

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with_shutdown(self._socket)
        while self._descriptors:
            os.close(self._descriptors.popleft())

    def _exactly(self, count: int) -> bytes | None:
        found = bytearray()
        while len(found) < count:
            try:
                data, descriptors, _, _ = socket.recv_fds(
                    self._socket, min(count - len(found), _PIECE), _MOST_DESCRIPTORS
                )
            except OSError:
                return None
            self._descriptors.extend(descriptors)
            if not data:
                return None
            found += data
        return bytes(found)


def with_shutdown(connection: socket.socket) -> None:
    """Close a socket so that a thread that waits in it wakes."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
