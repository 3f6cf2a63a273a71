"""Limits of the codec, and the fault that collects the path to a value.

This module and its siblings (all but ``bundle``) are also sent as text into sandboxes, see
:func:`smolagents_fork.codec.sandbox_source`. They import the standard library only, and a name has
one meaning in all of them.
"""

from __future__ import annotations

import base64
import re
from typing import Any

# 50 MB of floats are 67 MB of base64; four times that leaves room for a frame of several arrays.
DEFAULT_MAX_BYTES = 256 * 1024 * 1024
# The encoder uses two Python frames per level and the JSON scanner up to four C frames. 100 levels
# are far below the interpreter's recursion limit of 1000, wherever the codec is called from.
DEFAULT_MAX_DEPTH = 100
# One JSON item costs up to ~100 bytes once it is a Python object: a few bytes of "[]," on the wire
# must not become gigabytes.
DEFAULT_MAX_ITEMS = 5_000_000
# What one decode may cost: nanoseconds of one core and bytes of memory, in all and for each byte of
# the message. A table of ten thousand columns and a million small dicts are below it.
WORK, WORK_PER_BYTE = 1_000_000_000, 70
MEMORY, MEMORY_PER_BYTE = 128 * 1024 * 1024, 10
# Text with up to as many items costs at most a tenth of the first figures.
_FEW_ITEMS = 50_000
# Pixels are compressed, so their number is limited by itself. Counted over all images of one
# encoding, since a hundred small bombs are as bad as a big one.
MAX_PIXELS = 64_000_000
# Pixels of a picture's longest side: Pillow has a pointer for each row.
MAX_SIDE = 1_000_000
# Ints of more than 64 bits are written in hexadecimal: linear in both directions, and not subject
# to CPython's limit on decimal digits (CVE-2020-10735).
MAX_INT_BITS = 8_000_000
# A fraction is reduced when it is created, which is quadratic.
MAX_FRACTION_BITS = 16_384
# Ints from this value on, and below its negative, are written in hexadecimal.
SMALL_INT = 1 << 63
# Lists of one number type from this length on are packed.
PACKED_FROM = 32
# Raw data from this length on, in bytes, is attached to a message that may have attachments.
ATTACHED_FROM = 4096
# A long path is shortened to this many parts at each end, since people and models read it.
_PARTS_SHOWN = 5

# Advice of the callers whose users set the limit of bytes by this option.
RAISE_VALUE_BYTES = "; raise max_value_bytes="

_STRING = re.compile(rb'"[^"]*"?')
# Bytes of text whose strings are removed at a time, since that takes thirty times their memory.
_BLOCK = 1 << 19


class Fault(Exception):
    """Reason why a value cannot be encoded or decoded; each container adds its part of the path."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self._segments: list[str] = []

    def under(self, segment: str) -> Fault:
        """Record that the fault is below ``segment``, such as ``[3]`` or ``.name``."""
        self._segments.append(segment)
        return self

    def at(self, root: str) -> str:
        """Return the whole message, path first; a deep path is shortened in the middle."""
        parts = self._segments[::-1]
        left_out = len(parts) - 2 * _PARTS_SHOWN
        if left_out > 0:
            parts[_PARTS_SHOWN:-_PARTS_SHOWN] = [f"...({left_out} more)..."]
        return f"{root}{''.join(parts)}: {self.message}"


def too_many_items(most: int) -> Fault:
    """Return the fault of a value with more than ``most`` items, a limit that has no option."""
    return Fault(f"more than {most} items; send an array, a table or text, which is one item")


def key_segment(key: Any) -> str:
    """Format a key as ``['name']``; long keys are truncated."""
    if isinstance(key, (str, int, float, bytes)):
        text = repr(key)
        return f"[{text if len(text) <= 60 else text[:57] + '...'}]"
    return f"[<{type(key).__name__}>]"


def check_items(data: bytes, max_items: int) -> tuple[int, int, int]:
    """Reject JSON text with more than ``max_items`` items, before it is parsed.

    Commas and opening brackets bound the number of items from above. Those inside strings count
    too, so a text over the limit is counted again without its strings.

    Returns:
        the numbers of ``[``, ``{`` and commas, those inside strings included.
    """
    counts = _item_counts(data)
    if sum(counts) > max_items and sum(_counts_outside_strings(data)[:3]) > max_items:
        raise too_many_items(max_items)
    return counts


def item_bound(data: bytes) -> int:
    """Return the most items that JSON text can have."""
    return sum(_item_counts(data))


def _item_counts(data: bytes) -> tuple[int, int, int]:
    return data.count(b"["), data.count(b"{"), data.count(b",")


def _counts_outside_strings(data: bytes) -> list[int]:
    """Count ``[``, ``{``, commas, keys and other strings of JSON text; linear for any text."""
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")  # each quote now delimits a string
    totals = [0] * 5
    start_of_string = b""
    for position in range(0, len(plain), _BLOCK):
        block = start_of_string + plain[position : position + _BLOCK]
        start_of_string = b'"' if block.count(b'"') % 2 else b""
        block = _STRING.sub(b'""', block)
        keys = block.count(b'":')
        counts = (*_item_counts(block), keys, block.count(b'"') // 2 - keys)
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    return totals


class Budget:
    """Work and memory that one decode may take, charged before anything is made.

    Args:
        size: length of the message, in bytes.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self.work_left = WORK + WORK_PER_BYTE * size
        self.memory_left = MEMORY + MEMORY_PER_BYTE * size

    def charge(self, work: int, memory: int = 0) -> None:
        """Take the cost of one part; a fault if the rest does not cover it.

        Args:
            work: nanoseconds of one core.
            memory: bytes.
        """
        self.work_left -= work
        self.memory_left -= memory
        if self.work_left < 0 or self.memory_left < 0:
            raise Fault(
                f"decoding it takes more work or memory than {self._size} bytes may cause; send "
                "fewer and larger parts, such as arrays, text, or a table with fewer columns"
            )

    def charge_text(self, text: bytes, counts: tuple[int, int, int]) -> None:
        """Take the cost of the tree of JSON text, before it is parsed.

        Args:
            text: not parsed yet.
            counts: Counts of its lists, dicts and commas, from :func:`check_items`.
        """
        if sum(counts) <= _FEW_ITEMS:
            return
        lists, dicts, commas = counts
        work, memory = _tree_cost(lists, dicts, commas, keys=commas + dicts, strings=commas)
        if memory > self.memory_left // 2 or work > self.work_left // 2:
            work, memory = _tree_cost(*_counts_outside_strings(text))
        self.charge(work, memory)


def _tree_cost(lists: int, dicts: int, commas: int, keys: int, strings: int) -> tuple[int, int]:
    """Return the nanoseconds and bytes that a tree of JSON takes; no more, if given bounds."""
    # Names that repeat are made once. Those of a large dict do not repeat.
    names = max(0, keys - 32 * dicts)
    memory = 112 * lists + 200 * dicts + 40 * commas + 32 * strings + 200 * names
    return 500 * (lists + dicts), memory


def to_base64(data: Any) -> str:
    """Encode bytes as ASCII text."""
    return base64.b64encode(data).decode("ascii")


def from_base64(text: Any) -> bytes:
    """Return the bytes of ``text``; a fault unless all of it is base64."""
    if type(text) is not str:
        raise Fault(f"expected base64 text, found {type(text).__name__}")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise Fault(f"not base64: {error}") from None
