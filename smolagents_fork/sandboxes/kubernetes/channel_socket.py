"""Exec or attachment of a pod, with the interface of a non-blocking socket.

Every message of its WebSocket is a channel's number and bytes: 0 input, 1 output, 2 errors, 3 the
final status as JSON. Version 4 of the protocol cannot end the input, so programs know its length
in every version. The official client's stream waits without a limit within a frame.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import Any

from ...errors import ProtocolError
from ...stream.timed_socket import NOT_READY
from ...stream.websocket_frames import (
    InvalidFrame,
    Opcode,
    WebSocketFrame,
    WebSocketReader,
    control_frame,
    frame_header,
)
from ...system.forks import forget, keep_open
from ..containers.untrusted_json import read_json

__all__ = ["PROTOCOLS", "ChannelSocket", "RelayStream"]

_INPUT, _OUTPUT, _ERRORS, _STATUS = 0, 1, 2, 3
#: Versions that are offered, the newer first.
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
# Bytes of one frame; a caller sends the rest with its next call.
_PIECE = 1 << 16
_READ = 262_144
# Servers send pieces of 32 KiB; more in a message is not one of theirs.
_MOST_PAYLOAD = 16 << 20
# Bytes of one frame and of answers to pings that wait to be sent.
_MOST_UNSENT = 1 << 20
_MOST_ERRORS = 8192


def _failure(text: bytes) -> str:
    """Return the cluster's words for a failure, from the final status; empty for success."""
    document: Any = None
    with contextlib.suppress(ProtocolError):
        document = read_json(text, "a status")
    status: dict[str, Any] = document if isinstance(document, dict) else {}
    if status.get("status") == "Success":
        return ""
    message = status.get("message")
    return (message if type(message) is str else "") or text.decode("utf-8", "replace")[:500]


class _OneRead:
    """Source of frames that is read once for each look of a caller at its deadline.

    Standard error and pings may have no end. What remains is shown by the descriptor, except for
    bytes that TLS has decrypted already.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.is_due = False

    def recv(self, size: int, /) -> bytes:
        has_decrypted = isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0
        if not self.is_due and not has_decrypted:
            raise BlockingIOError
        self.is_due = False
        return self._sock.recv(size)


class ChannelSocket:
    """An open exec or attachment. Not for several threads at once.

    Args:
        sock: Connection of an open WebSocket; owned and closed by this object.

    Attributes:
        errors: end of what the program has written to its standard error.
        failure: the cluster's words for a program that failed; ``None`` before its end, and
            empty if it succeeded.
        end_reason: why the connection ended; empty while it is open.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        keep_open((sock,))
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._once = _OneRead(sock)
        self._frames = WebSocketReader(self._once, _MOST_PAYLOAD)
        self._arrived = bytearray()
        self._unsent = bytearray()
        # Bytes of the caller in a frame that is not sent completely.
        self._pending = 0
        self.errors = b""
        self.failure: str | None = None
        self.end_reason = ""

    def recv(self, size: int, /) -> bytes:
        """Return bytes of the program's output; ``b""`` at its end.

        Raises:
            BlockingIOError: none have arrived.
        """
        self._flush()
        self._once.is_due = True
        while not self._arrived:
            if self.failure is not None or self.end_reason:
                return b""
            self._read()
        piece = bytes(self._arrived[:size])
        del self._arrived[:size]
        return piece

    def _read(self) -> None:
        """Take the bytes that have arrived, or raise BlockingIOError."""
        try:
            frame = self._frames.read()
        except NOT_READY:
            raise BlockingIOError from None
        except EOFError:
            self.end_reason = "the connection was closed"
        except InvalidFrame as error:
            self.end_reason = f"the cluster broke the protocol: {error}"
        except OSError as error:
            self.end_reason = f"{type(error).__name__}: {error}"
        else:
            self._take(frame)
        self._flush()
        if not self.end_reason and len(self._unsent) > _MOST_UNSENT:
            self.end_reason = "the cluster sends pings and reads no answers"

    def _take(self, frame: WebSocketFrame) -> None:
        if frame.opcode == Opcode.CLOSE:
            reason = bytes(frame.payload[2:]).decode("utf-8", "replace")
            self.end_reason = f"the cluster closed the stream{': ' if reason else ''}{reason}"
        elif frame.opcode == Opcode.PING:
            self._unsent += control_frame(Opcode.PONG, bytes(frame.payload))
        elif frame.opcode != Opcode.PONG:
            self._take_message(bytes(frame.payload))

    def _take_message(self, message: bytes) -> None:
        # A server opens a channel, also that of the status, with a message without bytes.
        channel, data = message[:1], message[1:]
        if data and channel == bytes((_STATUS,)):
            self.failure = _failure(data)
        elif channel == bytes((_OUTPUT,)):
            self._arrived += data
        elif channel == bytes((_ERRORS,)):
            self.errors = (self.errors + data)[-_MOST_ERRORS:]

    def send(self, data: bytes | memoryview, /) -> int:
        """Send bytes to the program's input; return the number of bytes sent.

        As a connection of TLS does, it makes a frame of the bytes, and counts them when the frame
        is sent. After an error, the next call has to begin with the same bytes. A program that
        reads no more takes all bytes; what it has written before is still to be read.

        Raises:
            BlockingIOError: they cannot be sent completely now.
        """
        if not self._pending:
            piece = bytes(data[:_PIECE])
            self._pending = len(piece)
            if not self.end_reason:
                self._unsent += frame_header(1 + len(piece)) + bytes((_INPUT,)) + piece
        self._flush()
        if self._unsent:
            raise BlockingIOError
        count, self._pending = self._pending, 0
        return count

    def _flush(self) -> None:
        """Send what can be sent now."""
        while self._unsent:
            try:
                del self._unsent[: self._sock.send(self._unsent[: 1 << 20])]
            except NOT_READY:
                return
            except OSError:
                self._unsent.clear()

    def fileno(self) -> int:
        return self._sock.fileno()

    def setblocking(self, flag: bool, /) -> None:
        """Do nothing: it never blocks."""

    def close(self) -> None:
        """Close the connection, and with it end an exec's program. Idempotent."""
        self.end_reason = self.end_reason or "it was closed here"
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        forget((self._sock,))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class RelayStream(ChannelSocket):
    """Exec of a program that joins the stream to a port, whose error ends it with its words."""

    def recv(self, size: int, /) -> bytes:
        """Return bytes; see :meth:`ChannelSocket.recv`.

        Raises:
            BlockingIOError: none have arrived.
            OSError: the program failed; says why.
        """
        piece = super().recv(size)
        reason = self.errors.decode("utf-8", "replace").strip() or self.failure
        if not piece and reason:
            raise ConnectionResetError(reason)
        return piece
