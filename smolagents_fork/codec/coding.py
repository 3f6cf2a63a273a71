"""State of an encoder and a decoder, as functions of single types see it; rows of their table."""

from __future__ import annotations

import datetime as dt
import importlib
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol

from smolagents_fork.codec.limits import Fault

# Numbers and tuples have hashes that whoever made the data can choose: each key may then have to be
# compared with all others. So the work for this many of them at a time is measured.
_KEYS_AT_ONCE = 32
_FEW_KEYS = 8
# Processor time of this thread, or of the process where threads have none of their own.
_clock = getattr(time, "thread_time_ns", time.process_time_ns)

# The tree of JSON that stands for a value: null, bool, int, float, text, lists, and dicts.
Tree = Any


class Encoding(Protocol):
    """State of one encoding."""

    def value(self, value: Any) -> Tree:
        """Encode a value."""

    def items(self, values: Iterable[Any], count: int) -> list[Tree]:
        """Encode the items of a sequence."""

    def fields(self, values: dict[str, Any]) -> dict[str, Tree]:
        """Encode named fields."""

    def text(self, value: str) -> Tree:
        """Encode text."""

    def raw(self, data: Any) -> str | int:
        """Encode contiguous bytes."""

    def charge(self, size: int) -> None:
        """Count bytes of output before they are made."""

    def count(self, items: int) -> None:
        """Count items before they are read."""

    def expect(self, work: int, memory: int) -> None:
        """Add what the decoder takes for a part of a table, in nanoseconds and bytes."""


class Decoding(Protocol):
    """State of one decoding."""

    def value(self, tree: Tree) -> Any:
        """Decode a tree."""

    def items(self, trees: Tree) -> list[Any]:
        """Decode the items of a list, in place."""

    def pairs(self, trees: Tree, mapping: Any) -> Any:
        """Decode key and value pairs with distinct keys into an empty mapping; return it."""

    def numbers(self, text: Tree, code: Literal["d", "q"]) -> list[Any]:
        """Decode packed floats (``d``) or ints (``q``)."""

    def raw(self, data: Tree) -> bytes | memoryview:
        """Decode bytes."""

    def charge(self, work: int, memory: int = 0) -> None:
        """Take nanoseconds and bytes from the budget before they are used."""

    def charge_items(self, count: int) -> None:
        """Count items that are not separated by commas in the text."""

    def charge_pixels(self, count: int) -> None:
        """Count pixels before they are unpacked."""

    def zone(self, key: str) -> dt.tzinfo | None:
        """Return the time zone of a name; ``None`` if it is not known here."""

    def registered(self, tree: dict[str, Tree]) -> tuple[str, str, type | None]:
        """Return a class's module and name, and the class itself if the caller registered it."""


Encode = Callable[[Any, Any], Tree]
Decode = Callable[[Any, dict[str, Tree]], Any]
#: Keys of the tree, function, and nanoseconds and bytes that an empty value takes.
Row = tuple[frozenset[str], Decode, int, int]


def row(decode_it: Decode, keys: str = "v", work: int = 1_500, memory: int = 100) -> Row:
    """Return the row of a tag in the table of decoders.

    Args:
        decode_it: takes the state and the tree, whose keys are checked before; it checks the rest.
        keys: Keys of the tree besides ``$``, a letter each.
        work: nanoseconds that an empty value takes.
        memory: bytes that an empty value takes.
    """
    return frozenset({"$", *keys}), decode_it, work, memory


def need_library(name: str) -> Any:
    """Import a library by which a value is made here; a fault if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Fault(f"{name} is needed to decode this and is not installed on this side") from None


def list_of(data: Tree, count: int) -> list[Any]:
    """Return a list of so many trees; a fault for any other."""
    if type(data) is not list or len(data) != count:
        raise Fault(f"a list of {count} expected")
    return data


def plain_text(value: Tree) -> str:
    """Return text; a fault for any other tree."""
    if type(value) is not str:
        raise Fault("text expected")
    return value


def ints_of(decoder: Decoding, trees: Tree, count: int) -> list[int]:
    """Return a list of ints; a fault for another count or other trees."""
    parts = decoder.items(trees)
    if len(parts) != count or not all(type(part) is int for part in parts):
        raise Fault(f"{count} ints expected")
    return parts


def stored(kind: type, value: Any, *names: str) -> list[Any]:
    """Read attributes as ``kind`` stores them, whatever a subclass makes of them."""
    return [getattr(kind, name).__get__(value) for name in names]


def fill(
    decoder: Decoding, container: Any, keys: list[Any], values: list[Any] | None = None
) -> Any:
    """Add distinct keys to an empty set, or to an empty dict with their values; return it.

    Args:
        decoder: takes the work that was measured, since hashes do not tell it before.
        container: a set or a dict.
        keys: decoded.
        values: Values of a dict.
    """
    is_cheap = len(keys) <= _FEW_KEYS or set(map(type, keys)) == {str}
    step = max(1, len(keys)) if is_cheap else _KEYS_AT_ONCE
    for start in range(0, len(keys), step):
        begun = 0 if is_cheap else _clock()
        some = keys[start : start + step]
        container.update(
            some if values is None else zip(some, values[start : start + step], strict=True)
        )
        if not is_cheap:
            decoder.charge(_clock() - begun)
    if len(container) != len(keys):
        raise Fault("duplicate keys or elements")
    return container
