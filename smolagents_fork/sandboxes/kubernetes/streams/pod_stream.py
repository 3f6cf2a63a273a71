"""Byte stream of an exec in a pod, with the interface of a non-blocking socket."""

from __future__ import annotations

from ....errors import ExecutorError
from .channel_socket import ERRORS, ChannelSocket

__all__ = ["PodStream"]

# Bytes of one frame; a caller sends the rest with its next call.
_PIECE = 1 << 16
_MOST_ERRORS = 2000


class PodStream:
    """Input and output of a program that copies them, which an exec runs.

    Args:
        sock: of the exec; closed with this object.
    """

    def __init__(self, sock: ChannelSocket) -> None:
        self._sock = sock
        self._arrived = bytearray()
        self._errors = b""
        # Bytes of a frame that is not sent completely.
        self._unsent = 0

    def recv(self, size: int, /) -> bytes:
        """Return bytes of the output; ``b""`` at its end.

        Raises:
            BlockingIOError: none have arrived.
            OSError: the program or the connection failed; says why.
        """
        while not self._arrived:
            try:
                found = self._sock.receive()
            except ExecutorError as error:
                raise ConnectionResetError(str(error)) from None
            if found is None or (not found and self._sock.status is not None):
                if self._errors:
                    raise ConnectionResetError(self._errors.decode("utf-8", "replace").strip())
                return b""
            if not found:
                raise BlockingIOError
            for channel, data in found:
                if channel == ERRORS:
                    self._errors = (self._errors + data)[-_MOST_ERRORS:]
                else:
                    self._arrived += data
        piece = bytes(self._arrived[:size])
        del self._arrived[:size]
        return piece

    def send(self, data: bytes | memoryview, /) -> int:
        """Send bytes to the input; return the number of bytes sent.

        As a connection of TLS does, it makes a frame of the bytes, and counts them when the frame
        is sent. After an error, the next call has to begin with the same bytes.

        Raises:
            BlockingIOError: they cannot be sent completely now.
        """
        if self._unsent:
            self._sock.flush()
        else:
            piece = bytes(data[:_PIECE])
            self._sock.send(piece)
            self._unsent = len(piece)
        if self._sock.unsent:
            raise BlockingIOError
        count, self._unsent = self._unsent, 0
        return count

    def fileno(self) -> int:
        return self._sock.fileno()

    def setblocking(self, flag: bool, /) -> None:
        """Do nothing: it never blocks."""

    def close(self) -> None:
        """End the stream, and with it the program. Idempotent."""
        self._sock.close()
