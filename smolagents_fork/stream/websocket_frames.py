"""A WebSocket on an open connection (RFC 6455): its opening, and its frames in both directions.

The reader of frames is our own. It waits for nothing, so its caller has the time limit of every
read. A payload over its limit may be skipped instead of stored, except for the beginning, which
identifies the message.
"""

from __future__ import annotations

import base64
import enum
import hashlib
import http.client
import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message
from typing import NamedTuple, Protocol

from ..deadline import Deadline
from .http_exchange import Exchangeable, request

__all__ = [
    "InvalidFrame",
    "Opcode",
    "UpgradeRefused",
    "WebSocketFrame",
    "WebSocketReader",
    "control_frame",
    "frame_header",
    "join_writes",
    "open_websocket",
]

# RFC 6455, section 1.3.
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# Bytes that are read of a refusal, and those of them that its message shows.
_MOST_BODY, _MOST_SHOWN = 1 << 20, 500
# Bytes kept of an over-long payload: enough for the table of offsets and both headers.
_KEPT = 16_384
# Bytes of one read, and the length from which a payload is sent as it is.
_PIECE = 65_536


class Opcode(enum.IntEnum):
    """Types of frames (RFC 6455, section 5.2)."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


_OPCODES = frozenset(Opcode)


class UpgradeRefused(Exception):
    """The server does not open a WebSocket.

    Args:
        status: HTTP status of its answer.
        reason: words of the status.
        body: of the answer.
    """

    def __init__(self, status: int, reason: str, body: bytes) -> None:
        shown = body[:_MOST_SHOWN].decode("utf-8", "replace").strip()
        super().__init__(f"{status} {reason}" + (f": {shown}" if shown else ""))
        self.status, self.body = status, body


def open_websocket(
    sock: Exchangeable,
    target: str,
    *,
    host: str,
    subprotocols: Sequence[str],
    headers: Mapping[str, str],
    deadline: Deadline,
) -> Message:
    """Open a WebSocket (RFC 6455, section 4.1); return the headers of the answer.

    Args:
        sock: Connection to the server, which stays open.
        target: Path and query.
        host: Host that the request names.
        subprotocols: Subprotocols that are offered.
        headers: sent besides.
        deadline: Deadline of the answer.

    Raises:
        UpgradeRefused: the server refuses.
        TimeoutError: it did not answer in time.
        OSError: the connection ended.
        http.client.HTTPException, ValueError: the answer is invalid.
    """
    key = base64.b64encode(secrets.token_bytes(16))
    upgrade_headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": key.decode(),
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": ", ".join(subprotocols),
        **headers,
    }
    answer = request(sock, "GET", target, host=host, headers=upgrade_headers, deadline=deadline)
    if answer.status != http.client.SWITCHING_PROTOCOLS:
        raise UpgradeRefused(answer.status, answer.reason, answer.read(_MOST_BODY))
    accepted = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
    if answer.headers.get("Sec-WebSocket-Accept", "").strip() != accepted:
        raise http.client.HTTPException("its Sec-WebSocket-Accept does not answer the request")
    return answer.headers


class InvalidFrame(Exception):
    """The server sent a frame that violates the protocol."""


class WebSocketFrame(NamedTuple):
    """A message or a control frame.

    Attributes:
        opcode: its type (RFC 6455, section 5.2).
        payload: its content.
        skipped: number of bytes that the message had over its limit.
    """

    opcode: int
    payload: bytearray
    skipped: int = 0


class Receivable(Protocol):
    """The part of a socket that is read."""

    def recv(self, size: int, /) -> bytes: ...


class WebSocketReader:
    """Reader of messages up to a limit.

    A read takes whatever has arrived, so that a short message is one read. A timeout may occur at
    any point: what was read stays in this object for the next call.

    Args:
        sock: that it reads from.
        limit: bytes of a message.
        keeps_beginning: whether the beginning of a longer message is kept and its rest skipped;
            otherwise such a message is an error.
    """

    def __init__(self, sock: Receivable, limit: int, *, keeps_beginning: bool = False) -> None:
        self._sock, self._limit, self._keeps_beginning = sock, limit, keeps_beginning
        self._unread = bytearray()
        # First byte of the frame that is being read, and the number of bytes of it that are left.
        self._first: int | None = None
        self._left = 0
        self._start_message()

    def _start_message(self) -> None:
        # Of its first frame.
        self._opcode: int | None = None
        self._payload = bytearray()
        self._skipped = 0

    def read(self) -> WebSocketFrame:
        """Return the next message or control frame (RFC 6455, section 5.2).

        A server sends a long message in fragments, between which control frames may come.

        Raises:
            OSError: it has not arrived in time, or now; or the stream broke.
            EOFError: the stream ended.
            InvalidFrame: it violates the protocol.
        """
        while True:
            if self._first is None:
                self._first, self._left = self._read_head()
            first = self._first
            if first & 8:
                self._fill(self._left)
                self._first = None
                return WebSocketFrame(first & 0xF, self._take(self._left))
            if self._opcode is None:
                self._opcode = first & 0xF
            if self._is_long and not self._keeps_beginning:
                raise InvalidFrame(f"a message has more than {self._limit} bytes")
            while self._left:
                self._read_some()
            self._first = None
            if first & 0x80:
                frame = WebSocketFrame(self._opcode, self._payload, self._skipped)
                self._start_message()
                return frame

    def _read_head(self) -> tuple[int, int]:
        self._fill(2)
        first, length = self._unread[:2]
        if length & 0x80:
            raise InvalidFrame("a frame from the server has a mask")
        if first & 0x70 or first & 0xF not in _OPCODES:
            raise InvalidFrame(f"a frame from the server begins with 0x{first:02x}")
        size = 2
        if length >= 126:
            size, layout = (4, "!H") if length == 126 else (10, "!Q")
            self._fill(size)
            (length,) = struct.unpack_from(layout, self._unread, 2)
        if first & 8:
            if length > 125:
                raise InvalidFrame("a control frame from the server is too long")
            if not first & 0x80:
                raise InvalidFrame("a control frame from the server is a fragment")
        elif (first & 0xF == Opcode.CONTINUATION) != (self._opcode is not None):
            raise InvalidFrame("a fragment from the server without its beginning or end")
        del self._unread[:size]
        return first, length

    @property
    def _is_long(self) -> bool:
        """Tell whether the message is over the limit when the present frame has been read."""
        return self._skipped > 0 or len(self._payload) + self._left > self._limit

    def _read_some(self) -> None:
        """Read bytes of a message, and keep them unless it is over its limit."""
        is_long, size = self._is_long, min(self._left, _PIECE)
        piece = self._take(size) if self._unread else self._receive(size)
        self._left -= len(piece)
        self._payload += piece
        if is_long:
            self._skipped += max(0, len(self._payload) - _KEPT)
            del self._payload[_KEPT:]

    def _fill(self, size: int) -> None:
        while len(self._unread) < size:
            self._unread += self._receive(_PIECE)

    def _receive(self, size: int) -> bytes:
        data = self._sock.recv(size)
        if not data:
            raise EOFError
        return data

    def _take(self, size: int) -> bytearray:
        chunk = self._unread[:size]
        del self._unread[:size]
        return chunk


def frame_header(size: int) -> bytes:
    """Return the header of a binary message in one frame (RFC 6455, section 5.2), masked by zeros.

    Masks keep a page's script from choosing the bytes that a proxy reads. Here there is no script,
    and a mask of zeros, with which the payload stays as it is, is as valid as any other.

    Args:
        size: of the message in bytes.
    """
    first = 0x80 | Opcode.BINARY
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + bytes(4)


def control_frame(opcode: Opcode, payload: bytes) -> bytes:
    """Return a control frame (RFC 6455, section 5.5), masked by zeros.

    Args:
        opcode: its type.
        payload: 125 bytes at most.
    """
    return struct.pack("!BB", 0x80 | opcode, 0x80 | len(payload)) + bytes(4) + payload


def join_writes(
    pieces: Sequence[bytes | memoryview],
) -> Iterator[bytes | memoryview]:
    """Join short pieces, so that a short message is one write; yield long ones as they are."""
    short: list[bytes | memoryview] = []
    for piece in pieces:
        if len(piece) < _PIECE:
            short.append(piece)
            continue
        if short:
            yield b"".join(short)
            short = []
        yield piece
    if short:
        yield b"".join(short)
