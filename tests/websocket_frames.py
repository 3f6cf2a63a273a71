"""WebSocket frames as a server sends them, for tests of what clients do with them."""

from __future__ import annotations

import struct

__all__ = ["frame"]


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
