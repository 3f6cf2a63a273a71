"""JSON to values, for text that may be hostile.

Nothing is executed, and nothing is imported by a name from the data. Time and memory stay within
the :class:`Budget` of a message of its length. Every tag has a cost, which is charged before its
function is called, and one function, which checks the shape of its input. The modules of ``types``
add their tags to :data:`TAGS`.
"""

from __future__ import annotations

import array
import datetime as dt
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal

from smolagents_fork.codec.attachments import has_attachments, split_message
from smolagents_fork.codec.limits import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_DEPTH,
    DEFAULT_MAX_ITEMS,
    MAX_PIXELS,
    Budget,
    Fault,
    check_items,
    from_base64,
    key_segment,
    too_many_items,
)
from smolagents_fork.errors import DecodeError

_CONTAINERS = frozenset({list, dict})
# Numbers and tuples have hashes that whoever made the data can choose: each key may then have to be
# compared with all others. So the work for this many of them at a time is measured.
_KEYS_AT_ONCE = 32
_FEW_KEYS = 8
# Processor time of this thread, or of the process where threads have none of their own.
_clock = getattr(time, "thread_time_ns", time.process_time_ns)

#: Makes a value from the tree of JSON that stands for it.
Decode = Callable[["Decoder", dict[str, Any]], Any]
#: Keys of the tree, function, and nanoseconds and bytes that an empty value takes.
Row = tuple[frozenset[str], Decode, int, int]
#: Rows by tag, the value of the key ``$``.
TAGS: dict[str, Row] = {}


def decode(
    data: bytes | bytearray | memoryview | str,
    *,
    path: str = "value",
    max_bytes: int = DEFAULT_MAX_BYTES,
    classes: Iterable[type] = (),
) -> Any:
    """Return the value that ``data`` encodes.

    Args:
        data: the output of :func:`encode` or :func:`encode_message`, or any other bytes.
        path: the name of the value in messages.
        max_bytes: largest ``data``, in bytes.
        classes: classes with fields, and enums, that may be created. Instances of others become a
            :class:`Record` or a :class:`Member`, which show name and fields. A class is called
            with its fields, so its ``__init__`` and ``__post_init__`` see the data.

    Raises:
        DecodeError: not an encoding, or over a limit. The function raises no other error.
    """
    try:
        raw = data.encode("ascii") if isinstance(data, str) else data
        if len(raw) > max_bytes:
            raise Fault(f"{len(raw)} bytes are over the limit of {max_bytes}")
        text, attached = split_message(raw) if has_attachments(raw) else (bytes(raw), [])
        counts = check_items(text, DEFAULT_MAX_ITEMS)
        if not (counts[0] or counts[1]):
            return _JSON.decode(text.decode("ascii"))  # neither a list nor a dict
        decoder = Decoder(len(raw), classes, attached)
        decoder.charge_text(text, counts)
        return decoder.value(_JSON.decode(text.decode("ascii")))
    except Fault as fault:
        raise DecodeError(fault.at(path)) from fault.__cause__
    except RecursionError:
        raise DecodeError(f"{path}: nested deeper than {DEFAULT_MAX_DEPTH} levels") from None
    except Exception as error:
        raise DecodeError(f"{path}: not an encoding: {_brief(error)}") from error


class Decoder(Budget):
    """State of one decoding: current depth, remaining limits, and registered classes."""

    def __init__(self, size: int, classes: Iterable[type], attached: list[memoryview]) -> None:
        super().__init__(size)
        self._zones: dict[str, dt.tzinfo | None] = {}
        self._attached: list[memoryview | None] = [*attached]
        self._items_left = DEFAULT_MAX_ITEMS
        self._depth = 0
        self._pixels_left = MAX_PIXELS
        self._classes = {(cls.__module__, cls.__qualname__): cls for cls in classes}

    def value(self, tree: Any) -> Any:
        """Decode one JSON tree."""
        cls = type(tree)
        if cls is not dict and cls is not list:
            return tree
        if self._depth >= DEFAULT_MAX_DEPTH:
            raise Fault(f"nested deeper than {DEFAULT_MAX_DEPTH} levels")
        self._depth += 1
        try:
            if cls is list:
                return self.items(tree)
            tag = tree.get("$", tree)
            if tag is tree:
                return self._plain_dict(tree)
            if type(tag) is not str or tag not in TAGS:
                raise Fault(f"unknown tag {str(tag)[:40]!r}")
            keys, handler, work, memory = TAGS[tag]
            # As charge() does, which every value would have to call.
            self.work_left -= work
            self.memory_left -= memory
            if self.work_left < 0 or self.memory_left < 0:
                self.charge(0)
            if tree.keys() != keys:
                raise Fault(f"a {tag} has the keys {', '.join(sorted(keys))}")
            return handler(self, tree)
        except (Fault, RecursionError):
            raise
        except Exception as error:
            raise Fault(_brief(error)) from error
        finally:
            self._depth -= 1

    def items(self, trees: Any) -> list[Any]:
        """Decode the items of a list."""
        if type(trees) is not list:
            raise Fault("expected a list")
        # Long lists of numbers or text need no decoding.
        if len(trees) > 8 and set(map(type, trees)).isdisjoint(_CONTAINERS):
            return trees
        value, position = self.value, 0
        try:
            # In place, which frees each tree as soon as its value is made.
            for position, tree in enumerate(trees):
                trees[position] = value(tree)
        except Fault as fault:
            raise fault.under(f"[{position}]")  # noqa: B904 - the same fault, with its path
        return trees

    def _plain_dict(self, tree: dict[str, Any]) -> dict[str, Any]:
        name = ""
        try:
            for name, item in tree.items():
                tree[name] = self.value(item)
        except Fault as fault:
            raise fault.under(key_segment(name))  # noqa: B904 - the same fault, with its path
        return tree

    def pairs(self, trees: Any, mapping: Any) -> Any:
        """Decode key and value pairs with distinct keys into an empty mapping; return it."""
        if type(trees) is not list or not all(type(p) is list and len(p) == 2 for p in trees):
            raise Fault("expected a list of pairs")
        keys = self.items([pair[0] for pair in trees])
        return fill(self, mapping, keys, self.items([pair[1] for pair in trees]))

    def numbers(self, text: Any, code: Literal["d", "q"]) -> list[Any]:
        """Decode the floats (``d``) or ints (``q``) of a packed list."""
        packed: Any = memoryview(self.raw(text)).cast(code)
        self.charge_items(len(packed))  # check_items() counts commas, and these have none
        self.charge(20 * len(packed), 40 * len(packed))
        if sys.byteorder == "big":
            packed = array.array(code, packed)
            packed.byteswap()
        numbers: list[Any] = packed.tolist()
        return numbers

    def raw(self, data: Any) -> bytes | memoryview:
        """Decode bytes: an attachment by its number, or base64 text."""
        if type(data) is not int:
            return from_base64(data)
        view = self._attached[data] if 0 <= data < len(self._attached) else None
        if view is None:
            raise Fault(f"no attachment {data}, or it is used twice")
        self._attached[data] = None
        return view

    def charge_items(self, count: int) -> None:
        """Count items that are not separated by commas in the text."""
        self._items_left -= count
        if self._items_left < 0:
            raise too_many_items(DEFAULT_MAX_ITEMS)

    def charge_pixels(self, count: int) -> None:
        """Count an image's pixels before they are unpacked."""
        self._pixels_left -= count
        if self._pixels_left < 0:
            raise Fault(f"images of more than {MAX_PIXELS} pixels")

    def zone(self, key: str) -> dt.tzinfo | None:
        """Return the time zone of that name; ``None`` if it is not known here."""
        if key not in self._zones:
            self.charge(300_000, 10_000)  # it is looked for in several folders, and read
            self._zones[key] = _find_zone(key)
        return self._zones[key]

    def registered(self, tree: dict[str, Any]) -> tuple[str, str, type | None]:
        """Return a class's module and name, and the class itself if the caller registered it."""
        module, name = tree["m"], tree["c"]
        if type(module) is not str or type(name) is not str or len(module) + len(name) > 1000:
            raise Fault("a class has a module and a name")
        return module, name, self._classes.get((module, name))


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
        raise library_fault(name.partition(".")[0]) from None


def library_fault(name: str) -> Fault:
    """Return the fault of a value whose library is not installed, in Python's words for that."""
    return Fault(f"{name} is needed to decode this: No module named {name!r}")


def list_of(data: Any, count: int) -> list[Any]:
    """Return a list of so many trees; a fault for any other."""
    if type(data) is not list or len(data) != count:
        raise Fault(f"expected a list of {count}")
    return data


def plain_text(value: Any) -> str:
    """Return text; a fault for any other tree."""
    if type(value) is not str:
        raise Fault("expected text")
    return value


def ints_of(decoder: Decoder, trees: Any, count: int) -> list[int]:
    """Return a list of ints; a fault for another count or other trees."""
    parts = decoder.items(trees)
    if len(parts) != count or not all(type(part) is int for part in parts):
        raise Fault(f"expected {count} ints")
    return parts


def fill(decoder: Decoder, container: Any, keys: list[Any], values: list[Any] | None = None) -> Any:
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


def _find_zone(key: str) -> dt.tzinfo | None:
    try:
        import zoneinfo

        return zoneinfo.ZoneInfo(key)
    except Exception:
        return None


def _brief(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 300 else text[:300] + "..."


def _distinct_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise Fault("duplicate keys in an object")
    return out


def _plain_int(text: str) -> int:
    # Longer ints are sent in hexadecimal, since decimal parsing is quadratic.
    if len(text) > 20:
        raise Fault("an int of more than 64 bits in decimal")
    return int(text)


def _no_constant(text: str) -> Any:
    raise Fault(f"{text} is not JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_distinct_object, parse_int=_plain_int, parse_constant=_no_constant
)
