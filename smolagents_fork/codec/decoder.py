"""JSON to values, for text that may be hostile.

Nothing is executed, nothing is imported by a name from the data, and time and memory stay within a
constant factor of the limits: every tag has one function that checks the shape of what it is given.
"""

from __future__ import annotations

import array
import collections
import decimal
import fractions
import json
import pathlib
import re
import sys
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from smolagents_fork.codec.arrays import decode_array, decode_masked, decode_numpy_scalar
from smolagents_fork.codec.images import decode_image
from smolagents_fork.codec.limits import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_DEPTH,
    DEFAULT_MAX_ITEMS,
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    MAX_PIXELS,
    MAX_SAME_HASH,
    Fault,
    check_items,
    from_base64,
    key_segment,
)
from smolagents_fork.codec.moments import (
    decode_date,
    decode_datetime,
    decode_time,
    decode_timedelta,
)
from smolagents_fork.codec.records import Member, Record
from smolagents_fork.codec.tables import (
    decode_bare_column,
    decode_bare_index,
    decode_frame,
    decode_interval,
    decode_pandas_timedelta,
    decode_period,
    decode_series,
    decode_timestamp,
    need_pandas,
)
from smolagents_fork.errors import DecodeError

_HEX = re.compile(r"-?0x[0-9a-f]+")
_NAME = re.compile(r"[^\W\d]\w{0,199}")
_DEFAULTS = {
    kind.__name__: kind for kind in (int, float, str, bool, list, dict, set, tuple)
}  # what a defaultdict may make


def decode(
    data: bytes | bytearray | memoryview | str,
    *,
    path: str = "value",
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_items: int = DEFAULT_MAX_ITEMS,
    classes: Iterable[type] = (),
) -> Any:
    """The value that ``data`` encodes.

    Args:
        data: what :func:`encode` made, or anything at all.
        path: what the value is called in messages.
        max_bytes: largest ``data``, in bytes.
        max_depth: deepest nesting of containers.
        max_items: largest number of JSON items.
        classes: dataclasses, named tuples and enums that may be made. Instances of others become a
            :class:`Record` or a :class:`Member`, which show name and fields. A registered dataclass
            is called with its fields, so its ``__init__`` and ``__post_init__`` see the data.

    Raises:
        DecodeError: not an encoding, or over a limit. No other error leaves this function.
    """
    try:
        raw = data.encode("ascii") if isinstance(data, str) else bytes(data)
        if len(raw) > max_bytes:
            raise Fault(f"{len(raw)} bytes are over max_bytes={max_bytes}")
        check_items(raw, max_items)
        tree = _JSON.decode(raw.decode("ascii"))
        return Decoder(max_depth, max_items, classes).value(tree)
    except Fault as fault:
        raise DecodeError(fault.at(path)) from fault.__cause__
    except RecursionError:
        raise DecodeError(f"{path}: nested deeper than max_depth={max_depth}") from None
    except Exception as error:
        raise DecodeError(f"{path}: not an encoding: {_brief(error)}") from error


class Decoder:
    """One decoding: the depth it has reached, what is left, and the classes it may make."""

    def __init__(self, max_depth: int, max_items: int, classes: Iterable[type]) -> None:
        self._items_left = max_items
        self._max_depth = max_depth
        self._depth = 0
        self._pixels_left = MAX_PIXELS
        self._classes = {(kind.__module__, kind.__qualname__): kind for kind in classes}

    def value(self, tree: Any) -> Any:
        """The value of one JSON tree."""
        kind = type(tree)
        if kind is not dict and kind is not list:
            return tree
        if self._depth >= self._max_depth:
            raise Fault(f"nested deeper than max_depth={self._max_depth}")
        self._depth += 1
        try:
            if kind is list:
                return self.items(tree)
            tag = tree.get("$", tree)
            if tag is tree:
                return self._plain_dict(tree)
            if type(tag) is not str or tag not in _TAGS:
                raise Fault(f"unknown tag {str(tag)[:40]!r}")
            keys, handler = _TAGS[tag]
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
        """The values of a list."""
        if type(trees) is not list:
            raise Fault("a list expected")
        # Long lists of numbers or text are complete as they are.
        if len(trees) > 8 and set(map(type, trees)).isdisjoint(_CONTAINERS):
            return trees
        out: list[Any] = []
        add, value = out.append, self.value
        try:
            for tree in trees:
                add(value(tree))
        except Fault as fault:
            raise fault.under(f"[{len(out)}]")  # noqa: B904 - the same fault, with its path
        return out

    def _plain_dict(self, tree: dict[str, Any]) -> dict[str, Any]:
        name = ""
        try:
            for name, item in tree.items():
                tree[name] = self.value(item)
        except Fault as fault:
            raise fault.under(key_segment(name))  # noqa: B904 - the same fault, with its path
        return tree

    def pairs(self, trees: Any) -> list[tuple[Any, Any]]:
        """Key and value pairs with distinct keys."""
        if type(trees) is not list or not all(type(p) is list and len(p) == 2 for p in trees):
            raise Fault("a list of pairs expected")
        keys = self.items([pair[0] for pair in trees])
        check_distinct(keys)
        values = self.items([pair[1] for pair in trees])
        return list(zip(keys, values, strict=True))

    def numbers(self, text: Any, code: str) -> list[Any]:
        """The floats (``d``) or ints (``q``) of a packed list."""
        packed = array.array(code, from_base64(text))
        # Packed items have no commas to be counted by.
        self._items_left -= len(packed)
        if self._items_left < 0:
            raise Fault("more than max_items items")
        if sys.byteorder == "big":
            packed.byteswap()
        return packed.tolist()

    def charge_pixels(self, count: int) -> None:
        """Count an image's pixels before they are made."""
        self._pixels_left -= count
        if self._pixels_left < 0:
            raise Fault(f"images of more than {MAX_PIXELS} pixels")

    def registered(self, tree: dict[str, Any]) -> tuple[str, str, type | None]:
        """Module and name of a class in the data, and the class if the caller registered it."""
        module, name = tree["m"], tree["c"]
        if type(module) is not str or type(name) is not str or len(module) + len(name) > 1000:
            raise Fault("a class has a module and a name")
        return module, name, self._classes.get((module, name))


Maker = Callable[[Decoder, dict[str, Any]], Any]


def check_distinct(values: list[Any]) -> None:
    """Refuse what would not fit a set: duplicates, the unhashable, and floods of one hash."""
    loose = [value for value in values if type(value) is not str]
    if len(loose) > MAX_SAME_HASH:
        commonest = collections.Counter(map(hash, loose)).most_common(1)
        if commonest[0][1] > MAX_SAME_HASH:
            raise Fault("too many keys or elements with one hash")
    if len(set(values)) != len(values):
        raise Fault("duplicate keys or elements")


def _set(kind: Callable[[list[Any]], Any]) -> Maker:
    def make(decoder: Decoder, tree: dict[str, Any]) -> Any:
        items = decoder.items(tree["v"])
        check_distinct(items)
        return kind(items)

    return make


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Fault("text expected")
    return value


def _float(_: Decoder, tree: dict[str, Any]) -> float:
    if tree["v"] not in ("nan", "inf", "-inf"):
        raise Fault("not a float")
    return float(tree["v"])


def _int(_: Decoder, tree: dict[str, Any]) -> int:
    text = _text(tree["v"])
    if len(text) > MAX_INT_BITS // 4 + 4 or not _HEX.fullmatch(text):
        raise Fault("not an int")
    return int(text, 16)


def _complex(decoder: Decoder, tree: dict[str, Any]) -> complex:
    parts = decoder.items(tree["v"])
    if len(parts) != 2 or not all(type(part) is float for part in parts):
        raise Fault("a complex has two floats")
    return complex(*parts)


def _ints(decoder: Decoder, tree: dict[str, Any], count: int) -> list[int]:
    parts = decoder.items(tree["v"])
    if len(parts) != count or not all(type(part) is int for part in parts):
        raise Fault(f"{count} ints expected")
    return parts


def _fraction_of(decoder: Decoder, tree: dict[str, Any]) -> fractions.Fraction:
    parts = _ints(decoder, tree, 2)
    if parts[1] <= 0 or max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault("not a Fraction, or one that is too long")
    return fractions.Fraction(*parts)


def _slice_of(decoder: Decoder, tree: dict[str, Any]) -> slice:
    start, stop, step = decoder.items(tree["v"])
    return slice(start, stop, step)


def _deque_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    longest, items = tree["n"], decoder.items(tree["v"])
    if longest is not None and (type(longest) is not int or longest < len(items)):
        raise Fault("a deque is not longer than its maxlen")
    return collections.deque(items, longest)


def _default_dict_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    name = tree["f"]
    factory = None if name is None else _DEFAULTS[_text(name)]
    return collections.defaultdict(factory, decoder.pairs(tree["v"]))


def _fields(decoder: Decoder, tree: Any) -> dict[str, Any]:
    if type(tree) is not dict:
        raise Fault("fields expected")
    for name in tree:
        if not _NAME.fullmatch(name) or (name.startswith("__") and name.endswith("__")):
            raise Fault(f"{name[:40]!r} is not the name of a field")
    out: dict[str, Any] = {}
    for name, item in tree.items():
        try:
            out[name] = decoder.value(item)
        except Fault as fault:
            raise fault.under(f".{name}")  # noqa: B904 - the same fault, with its path
    return out


def _dataclass_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    module, name, kind = decoder.registered(tree)
    fields = _fields(decoder, tree["v"])
    if kind is None:
        return Record("dataclass", module, name, fields)
    known: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
    if not known or not fields.keys() <= known.keys():
        raise Fault(f"the fields of {name} differ from those of the registered class")
    value = kind(**{key: item for key, item in fields.items() if known[key].init})
    for key, item in fields.items():
        if not known[key].init:
            object.__setattr__(value, key, item)  # a frozen dataclass would refuse its own
    return value


def _named_tuple_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    module, name, kind = decoder.registered(tree)
    fields = _fields(decoder, tree["v"])
    if kind is None:
        return Record("namedtuple", module, name, fields)
    if not issubclass(kind, tuple) or tuple(fields) != getattr(kind, "_fields", None):
        raise Fault(f"the fields of {name} differ from those of the registered class")
    return kind(*fields.values())


def _member_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    module, name, kind = decoder.registered(tree)
    label, value = tree["n"], decoder.value(tree["v"])
    if label is not None and (type(label) is not str or len(label) > 1000):
        raise Fault("the name of an enum member is text")
    if kind is None:
        return Member(module, name, label, value)
    members: Any = getattr(kind, "__members__", {})
    if label in members:
        return members[label]
    # A combination of flags has no name of its own, or one joined by |.
    return kind(value)


_CONTAINERS = frozenset({list, dict})


def _tag(handler: Maker, keys: str = "v") -> tuple[frozenset[str], Maker]:
    return frozenset({"$", *keys}), handler


_TAGS: dict[str, tuple[frozenset[str], Maker]] = {
    "str": _tag(lambda _, t: from_base64(t["v"]).decode("utf-8", "surrogatepass")),
    "float": _tag(_float),
    "int": _tag(_int),
    "floats": _tag(lambda d, t: d.numbers(t["v"], "d")),
    "ints": _tag(lambda d, t: d.numbers(t["v"], "q")),
    "complex": _tag(_complex),
    "bytes": _tag(lambda _, t: from_base64(t["v"])),
    "bytearray": _tag(lambda _, t: bytearray(from_base64(t["v"]))),
    "tuple": _tag(lambda d, t: tuple(d.items(t["v"]))),
    "set": _tag(_set(set)),
    "frozenset": _tag(_set(frozenset)),
    "deque": _tag(_deque_of, "nv"),
    "dict": _tag(lambda d, t: dict(d.pairs(t["v"]))),
    "OrderedDict": _tag(lambda d, t: collections.OrderedDict(d.pairs(t["v"]))),
    "Counter": _tag(lambda d, t: collections.Counter(dict(d.pairs(t["v"])))),
    "defaultdict": _tag(_default_dict_of, "fv"),
    "range": _tag(lambda d, t: range(*_ints(d, t, 3))),
    "slice": _tag(_slice_of),
    "datetime": _tag(lambda _, t: decode_datetime(t["v"])),
    "date": _tag(lambda _, t: decode_date(t["v"])),
    "time": _tag(lambda _, t: decode_time(t["v"])),
    "timedelta": _tag(lambda _, t: decode_timedelta(t["v"])),
    "Decimal": _tag(lambda _, t: decimal.Decimal(_text(t["v"]))),
    "Fraction": _tag(_fraction_of),
    "UUID": _tag(lambda _, t: uuid.UUID(hex=_text(t["v"]))),
    "Path": _tag(lambda d, t: pathlib.Path(_text(d.value(t["v"])))),
    "PurePosixPath": _tag(lambda d, t: pathlib.PurePosixPath(_text(d.value(t["v"])))),
    "PureWindowsPath": _tag(lambda d, t: pathlib.PureWindowsPath(_text(d.value(t["v"])))),
    "dataclass": _tag(_dataclass_of, "mcv"),
    "namedtuple": _tag(_named_tuple_of, "mcv"),
    "enum": _tag(_member_of, "mcnv"),
    "ndarray": _tag(decode_array, "dsv"),
    "np": _tag(decode_numpy_scalar, "dsv"),
    "masked": _tag(decode_masked),
    "image": _tag(decode_image, "msv"),
    "NaT": _tag(lambda _, __: need_pandas().NaT, ""),
    "NA": _tag(lambda _, __: need_pandas().NA, ""),
    "Timestamp": _tag(decode_timestamp, "vz"),
    "Timedelta": _tag(decode_pandas_timedelta),
    "Period": _tag(decode_period, "vf"),
    "Interval": _tag(decode_interval, "vc"),
    "DataFrame": _tag(decode_frame, "vic"),
    "Series": _tag(decode_series, "vin"),
    "Index": _tag(decode_bare_index),
    "column": _tag(decode_bare_column),
}


def _brief(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= 300 else text[:300] + "..."


def _distinct_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise Fault("duplicate keys in an object")
    return out


def _plain_int(text: str) -> int:
    # Longer ones come as hexadecimal; decimal parsing is quadratic.
    if len(text) > 20:
        raise Fault("an int of more than 64 bits in decimal")
    return int(text)


def _no_constant(text: str) -> Any:
    raise Fault(f"{text} is not JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_distinct_object, parse_int=_plain_int, parse_constant=_no_constant
)
