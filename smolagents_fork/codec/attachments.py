"""Long raw data beside the JSON text, for connections that carry bytes.

A message without raw data is its JSON text. With raw data it is, in this order::

    16 bytes           the mark, the number of attachments, the length of the JSON text
    8 bytes for each   the length of the attachment
    JSON text          in which a number stands for an attachment, in place of base64 text
    attachments        each begins at a multiple of 16 bytes

JSON text cannot begin with the mark. Every attachment has a minimum length and is used once, so the
memory of the values stays within a constant factor of the message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from smolagents_fork.codec.limits import ATTACHED_FROM, Fault

_MARK = b"\x00raw"
_HEADER = struct.Struct("<4sIQ")
_LENGTH = struct.Struct("<Q")
_ALIGNED = 16
# Most bytes that a message has besides text and data: for all attachments, and for each.
_FIXED_BYTES = _HEADER.size + _ALIGNED
_BYTES_EACH = _LENGTH.size + _ALIGNED


class Attachments:
    """Raw data of one message that is being encoded."""

    def __init__(self) -> None:
        self._parts: list[memoryview] = []
        #: Most bytes that the attachments add to the text.
        self.size = 0

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, data: memoryview) -> int:
        """Attach contiguous bytes; return the number that stands for them in the JSON text."""
        self.size += len(data) + _BYTES_EACH + (0 if self._parts else _FIXED_BYTES)
        self._parts.append(data)
        return len(self._parts) - 1

    def remove_from(self, count: int) -> None:
        """Keep the first ``count`` attachments only."""
        parts, self._parts, self.size = self._parts[:count], [], 0
        for part in parts:
            self.add(part)

    def release(self) -> None:
        """Release the memory of the attachments, which lets the program resize its objects."""
        for part in self._parts:
            part.release()

    def message(self, text: bytes) -> bytes:
        """Return the message of ``text``, which names these attachments."""
        return b"".join(self.parts(text)) if self._parts else text

    def parts(self, text: bytes) -> list[bytes | memoryview]:
        """Return the message of ``text`` in pieces; the attachments are not copied."""
        if not self._parts:
            return [text]
        count = len(self._parts)
        out: list[bytes | memoryview] = [_HEADER.pack(_MARK, count, len(text))]
        out += [_LENGTH.pack(len(part)) for part in self._parts]
        out.append(text)
        length = _HEADER.size + _LENGTH.size * count + len(text)
        for part in self._parts:
            out += [bytes(-length % _ALIGNED), part]
            length += -length % _ALIGNED + len(part)
        return [b"".join(out[: count + 3]), *out[count + 3 :]]


def has_attachments(data: bytes | bytearray | memoryview) -> bool:
    """Tell whether a message has more than JSON text."""
    return data[: len(_MARK)] == _MARK


def split_message(data: bytes | bytearray | memoryview) -> tuple[bytes, list[memoryview]]:
    """Return the JSON text and the attachments of a message, which may be hostile."""
    view = memoryview(data)
    if len(view) < _HEADER.size:
        raise Fault("a message with an incomplete header")
    _, count, length = _HEADER.unpack_from(view)
    if count * (ATTACHED_FROM + _LENGTH.size) > len(view):
        raise Fault(f"{count} attachments in {len(view)} bytes")
    start = _HEADER.size + _LENGTH.size * count
    end = start + length
    text = bytes(view[start:end])
    parts: list[memoryview] = []
    for number in range(count):
        (length,) = _LENGTH.unpack_from(view, _HEADER.size + _LENGTH.size * number)
        if length < ATTACHED_FROM:
            raise Fault(f"an attachment of {length} bytes; the shortest has {ATTACHED_FROM}")
        begin = end + -end % _ALIGNED
        end = begin + length
        parts.append(view[begin:end])
    if end != len(view):
        raise Fault(f"expected a message of {end} bytes, there are {len(view)}")
    return text, parts


def join_messages(messages: Iterable[Sequence[Any]]) -> list[bytes | memoryview]:
    """Return several messages as one body, in pieces; long ones are not copied.

    Args:
        messages: the pieces of each.
    """
    listed = list(messages)
    sizes = [sum(map(len, pieces)) for pieces in listed]
    short = [_LENGTH.pack(len(listed)), *map(_LENGTH.pack, sizes)]
    length = _LENGTH.size * len(short)
    out: list[bytes | memoryview] = []
    for pieces, size in zip(listed, sizes, strict=True):
        short.append(bytes(-length % _ALIGNED))
        length += -length % _ALIGNED + size
        for piece in pieces:
            if len(piece) < ATTACHED_FROM:
                short.append(bytes(piece))
            else:
                out += [b"".join(short), piece]
                short = []
    return [*out, b"".join(short)]


def split_messages(body: bytes | bytearray | memoryview) -> list[memoryview]:
    """Return the messages of a body that :func:`join_messages` made."""
    view = memoryview(body)
    (count,) = _LENGTH.unpack_from(view)
    end = _LENGTH.size * (count + 1)
    messages = []
    for number in range(1, count + 1):
        (size,) = _LENGTH.unpack_from(view, _LENGTH.size * number)
        begin = end + -end % _ALIGNED
        end = begin + size
        messages.append(view[begin:end])
    return messages


def raw_view(data: Any) -> memoryview:
    """Return the bytes of an object that has a contiguous buffer."""
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")
