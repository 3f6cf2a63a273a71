"""What one operation may make: items, characters and bits, decided by sizes alone.

Part of the boundary in guards.py, which binds these functions; nothing here looks at names.
"""

from __future__ import annotations

import re
from array import array
from collections import deque
from typing import Any

from .meter import Meter

__all__ = ["DIGITS", "SEQUENCES", "SHORT", "SizeChecks", "length", "number"]

#: Widths and precisions that are worth a look.
DIGITS = re.compile(r"\d{4,}")
SEQUENCES = (str, bytes, bytearray, list, tuple, deque, array)
#: Sizes below this are not worth a look: a few kilobytes.
SHORT = 4096


_EXACT = frozenset(SEQUENCES)


def length(value: Any) -> int:
    """How many items one of SEQUENCES has, whatever a ``__len__`` of the program's says."""
    if type(value) not in _EXACT:
        for base in SEQUENCES:
            if issubclass(type(value), base):
                return base.__len__(value)
    return len(value)


def number(value: Any) -> int:
    """What an integer is to code of C, whatever an ``__int__`` of the program's says."""
    return int.__index__(value) if issubclass(type(value), int) else int(value)


class SizeChecks:
    """The checks all size guards come down to.

    Args:
        meter: stops a run; holds the limits.
    """

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._formats: dict[str, bool] = {}

    def check_items(self, count: int, what: str, text: bool = False) -> None:
        """Let an operation make ``count`` items or characters, or stop the run."""
        limits = self.meter.limits
        most = limits.max_text_length if text else limits.max_items
        if count > most:
            kind = "characters or bytes" if text else "items"
            self.meter.too_large(
                f"{what} would make {count} {kind}; a single operation may make {most}. "
                "Work in smaller pieces"
            )
        if count > SHORT:
            self.meter.charge(count >> (10 if count < 1 << 20 else 6))

    def check_bits(self, bits: int, what: str) -> None:
        """Let an operation make an integer of ``bits`` bits, or stop the run."""
        most = self.meter.limits.max_integer_bits
        if bits > most:
            self.meter.too_large(
                f"{what} would make an integer of {bits} bits; a single operation may make one of "
                f"{most}. Use floats, modular arithmetic (pow with three arguments) or logarithms"
            )
        if bits > 4096:
            self.meter.charge(bits >> 10)

    def _measure_extension(self, value: Any, rest: Any) -> Any:
        """Items to be added to ``value``, metered; see SizedMethods."""
        raise NotImplementedError

    def grown(self, value: Any, *_: Any) -> Any:
        """A sum, after the fact: each operand was within the limits."""
        if isinstance(value, SEQUENCES):
            size = length(value)
            if size > SHORT:
                self.check_items(size, "An addition", isinstance(value, (str, bytes, bytearray)))
        return value

    def appended(self, value: Any) -> None:
        """A sum in place: what was there costs nothing again."""
        if isinstance(value, SEQUENCES):
            size, text = length(value), not isinstance(value, (list, tuple))
            limits = self.meter.limits
            if size > (limits.max_text_length if text else limits.max_items):
                self.check_items(size, "An addition", text)

    def addend(self, value: Any) -> Any:
        """What is added in place to an attribute or an item."""
        kind = type(value)
        if kind is int or kind is float:
            return value
        return self.grown(self.meter.fed(value))

    def large(self, value: Any) -> Any:
        """A product or a small power of numbers, after the fact."""
        if type(value) is not int:
            return value
        self.check_bits(value.bit_length(), "A multiplication")
        return value

    def specification(self, text: str) -> str:
        """A format specification, if its widths and precisions together are within the limits."""
        if len(text) > 4:
            total = sum(map(int, DIGITS.findall(text)))
            if total:
                self.check_items(total, "A format", text=True)
        return text
