"""One end of a byte stream that continues over another connection when its connection is lost.

Both ends number the bytes that they send, and keep them until the other end has acknowledged them.
After a loss each end says how many bytes it has received, and the other sends again from there. No
byte is lost or repeated, so nothing above notices.

A frame is a header (bytes received so far, length) and a payload. The first frame over a connection
has no payload. A length of ``END`` ends the stream.

This module also runs inside pods, as part of :mod:`.pod_relay`: it imports the standard library
only, and works with Python 3.8.
"""

from __future__ import annotations

import struct

__all__ = ["Endpoint", "StreamBroken"]

_HEAD = struct.Struct(">QL")
_END = 0xFFFFFFFF
_PIECE = 65536
# Bytes that are kept at most until the other end has acknowledged them.
_WINDOW = 1 << 22
# Bytes after which an acknowledgement is sent that no payload carries.
_ACKNOWLEDGE = 1 << 18


class StreamBroken(Exception):
    """The other end broke the protocol."""


class Endpoint:
    """One end of a stream, without its connections."""

    def __init__(self) -> None:
        #: Bytes that have arrived and are to be passed on.
        self.arrived = bytearray()
        #: Whether the other end has ended the stream.
        self.ended = False
        self._kept = bytearray()
        self._base = self._sent = 0
        self._received = self._acknowledged = 0
        self._input = bytearray()
        self._wire = bytearray()
        self._greeted = False
        self._finished = self._end_sent = False

    @property
    def connected_once(self) -> bool:
        """Tell whether the other end has been heard of over the present connection."""
        return self._greeted

    @property
    def room(self) -> int:
        """Bytes that :meth:`push` may add now."""
        return 0 if self._finished else max(0, _WINDOW - len(self._kept))

    @property
    def accepts(self) -> bool:
        """Tell whether more bytes may be read from the connection."""
        return len(self.arrived) < _WINDOW

    def push(self, data: bytes) -> None:
        """Add bytes to send."""
        self._kept += data

    def finish(self) -> None:
        """End the stream after the bytes that were pushed."""
        self._finished = True

    def abandon(self) -> None:
        """End the stream without the bytes that were pushed and not sent."""
        del self._kept[self._sent - self._base :]
        self._finished = True

    def connected(self) -> None:
        """Begin to use another connection."""
        self._input.clear()
        self._wire[:] = _HEAD.pack(self._received, 0)
        self._acknowledged = self._received
        self._greeted = self._end_sent = False

    def outgoing(self) -> bytearray:
        """Return bytes for the connection; the caller removes those that were sent."""
        if not self._wire and self._greeted:
            start = self._sent - self._base
            piece = self._kept[start : start + _PIECE]
            if piece:
                self._wire += _HEAD.pack(self._received, len(piece)) + piece
                self._sent += len(piece)
            elif self._finished and not self._end_sent:
                self._end_sent = True
                self._wire += _HEAD.pack(self._received, _END)
            elif self._received - self._acknowledged >= _ACKNOWLEDGE:
                self._wire += _HEAD.pack(self._received, 0)
            if self._wire:
                self._acknowledged = self._received
        return self._wire

    def feed(self, data: bytes) -> None:
        """Take bytes from the connection.

        Raises:
            StreamBroken: they are not what an endpoint sends.
        """
        self._input += data
        position = 0
        while len(self._input) - position >= _HEAD.size:
            received, length = _HEAD.unpack_from(self._input, position)
            end = position + _HEAD.size + (0 if length == _END else length)
            if length not in (0, _END) and length > _PIECE:
                raise StreamBroken("a frame of %d bytes" % length)  # noqa: UP031 - Python of pods
            if not self._base <= received <= self._base + len(self._kept):
                raise StreamBroken("an acknowledgement of bytes that were never sent")
            if len(self._input) < end:
                break
            self._acknowledge(received)
            self.arrived += self._input[position + _HEAD.size : end]
            self._received += end - position - _HEAD.size
            self.ended = self.ended or length == _END
            position = end
        del self._input[:position]

    def _acknowledge(self, received: int) -> None:
        del self._kept[: received - self._base]
        self._base = received
        if not self._greeted:
            self._greeted = True
            self._sent = received
        self._sent = max(self._sent, received)
