"""A server's end of WebSockets, for tests of what clients do with them."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Callable

__all__ = ["frame", "read_frame", "switching_answer"]

_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(payload: bytes, first: int = 0x82) -> bytes:
    """Return a frame without a mask.

    Args:
        payload: its content.
        first: its first byte: the mark of the last frame, and the kind (RFC 6455, section 5.2).

    Example:
        >>> frame(b"ok")
        b'\\x82\\x02ok'
    """
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", first, size) + payload
    if size < 65_536:
        return struct.pack("!BBH", first, 126, size) + payload
    return struct.pack("!BBQ", first, 127, size) + payload


def read_frame(read: Callable[[int], bytes]) -> tuple[int, bytes]:
    """Read a client's frame; return its first byte, and its content without the mask.

    Args:
        read: returns as many bytes as it is asked for, or fewer at the end.

    Raises:
        EOFError: the client has ended.
    """

    def take(size: int) -> bytes:
        data = read(size)
        if len(data) < size:
            raise EOFError
        return data

    first, length = take(2)
    assert length & 0x80, "a client masks its frames"
    size = length & 0x7F
    if size > 125:
        size = int.from_bytes(take(2 if size == 126 else 8), "big")
    mask = take(4) * (size // 4 + 1)
    number = int.from_bytes(take(size), "big") ^ int.from_bytes(mask[:size], "big")
    return first, number.to_bytes(size, "big")


def switching_answer(request: bytes, protocol: str = "") -> bytes:
    """Return a server's answer to a client's request (RFC 6455, section 4.2.2).

    Args:
        request: with the client's key.
        protocol: that the server chooses; none if it is empty.
    """
    lines = request.split(b"\r\n")
    key = next(line for line in lines if line.lower().startswith(b"sec-websocket-key"))
    digest = hashlib.sha1(key.partition(b": ")[2] + _KEY).digest()
    chosen = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"{chosen}Sec-WebSocket-Accept: {base64.b64encode(digest).decode()}\r\n\r\n"
    ).encode()
