"""WebSocket frames as a server sends them, for tests of what clients do with them."""

from __future__ import annotations

import base64
import hashlib
import struct

__all__ = ["accepted_key", "frame"]

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


def accepted_key(request: bytes) -> bytes:
    """Return what a server answers to the key in a client's request (RFC 6455, section 1.3)."""
    lines = request.split(b"\r\n")
    key = next(line for line in lines if line.lower().startswith(b"sec-websocket-key"))
    return base64.b64encode(hashlib.sha1(key.partition(b": ")[2] + _KEY).digest())
