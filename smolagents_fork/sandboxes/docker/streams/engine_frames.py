"""Frames in which the engine sends a container's output.

A frame is a header of 8 bytes (stream number, length) and a payload, as the engine's API documents
for ``attach``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

__all__ = ["STDERR", "STDOUT", "UNFRAMED", "Frames"]

#: Numbers of the streams that carry standard output and standard error.
STDOUT, STDERR = 1, 2
#: Number of what is not framed as the API documents; it is passed on unchanged.
UNFRAMED = -1
# Standard input, output and error, and the engine's own messages.
_STREAMS = range(4)
_HEADER = struct.Struct(">B3sL")


class Frames:
    """Splits a stream into the payloads of its frames, wherever its pieces are cut."""

    def __init__(self) -> None:
        self._framed = True
        self._stream = UNFRAMED
        self._head = b""
        self._left = 0

    @property
    def is_within(self) -> bool:
        """Tell whether the stream is within a frame."""
        return bool(self._head) or self._left > 0

    def split(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield stream number and payload of each part of a frame in the next bytes.

        Args:
            data: Bytes of the stream.
        """
        at = 0
        while at < len(data):
            if not self._framed:
                yield UNFRAMED, data[at:]
                return
            if self._left:
                payload = data[at : at + self._left]
                at += len(payload)
                self._left -= len(payload)
                yield self._stream, payload
                continue
            part = data[at : at + _HEADER.size - len(self._head)]
            at += len(part)
            self._head += part
            if len(self._head) < _HEADER.size:
                return
            head, self._head = self._head, b""
            self._stream, zeros, self._left = _HEADER.unpack(head)
            if self._stream not in _STREAMS or any(zeros):
                self._framed = False
                yield UNFRAMED, head
