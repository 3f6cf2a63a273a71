"""Values to JSON.

Plain JSON stands for itself: null, true, false, finite floats, integers of 64 bits, well-formed
strings, lists, and dicts with string keys. All else is an object with the key ``$`` that names the
type; a dict which has a key ``$`` of its own is written as a list of pairs.

A subclass of a builtin that has no rule of its own travels as that builtin. One object that is met
twice is written twice; one that holds itself is an error.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import enum
import fractions
import json
import math
import pathlib
import sys
import uuid
from collections.abc import Callable, Iterable
from typing import Any

from smolagents_fork.codec.arrays import encode_array, encode_numpy_scalar
from smolagents_fork.codec.images import encode_image
from smolagents_fork.codec.limits import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_DEPTH,
    DEFAULT_MAX_ITEMS,
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    PACKED_FROM,
    Fault,
    check_items,
    key_segment,
    to_base64,
)
from smolagents_fork.codec.moments import (
    encode_date,
    encode_datetime,
    encode_time,
    encode_timedelta,
)
from smolagents_fork.codec.records import Member, Record, member_parts, record_parts
from smolagents_fork.codec.tables import pandas_encoder
from smolagents_fork.errors import EncodeError

_SMALL = 1 << 63
_DEFAULT_FACTORIES = (int, float, str, bool, list, dict, set, tuple)


def encode(
    value: Any,
    *,
    path: str = "value",
    max_bytes: int = DEFAULT_MAX_BYTES,
    max_depth: int = DEFAULT_MAX_DEPTH,
    max_items: int = DEFAULT_MAX_ITEMS,
) -> bytes:
    """``value`` as JSON text in ASCII.

    Args:
        value: anything of the types the codec's documentation lists, nested as you like.
        path: what the value is called in messages, such as ``vars`` or ``argument 'query'``.
        max_bytes: largest encoding, in bytes.
        max_depth: deepest nesting of containers.
        max_items: largest number of JSON items (list entries, dict entries).

    Raises:
        EncodeError: something inside cannot travel, or a limit is passed; names the path to it.
    """
    encoder = Encoder(max_bytes, max_depth, max_items)
    try:
        tree = encoder.value(value)
        data = json.dumps(tree, allow_nan=False, separators=(",", ":")).encode("ascii")
        if len(data) > max_bytes:
            raise Fault(f"its encoding of {len(data)} bytes is over max_bytes={max_bytes}")
        check_items(data, max_items)
    except Fault as fault:
        raise EncodeError(fault.at(path)) from fault.__cause__
    except (RecursionError, ValueError, TypeError) as error:
        # A container that another thread changes while it is read ends here.
        raise EncodeError(f"{path}: cannot be encoded: {error}") from error
    return data


class Encoder:
    """One encoding: what is left of its limits, and the containers it is inside of."""

    def __init__(self, max_bytes: int, max_depth: int, max_items: int) -> None:
        self._max_bytes = self._bytes_left = max_bytes
        self._max_items = self._items_left = max_items
        self._max_depth = max_depth
        self._open: set[int] = set()

    def charge(self, size: int) -> None:
        """Count ``size`` bytes of output before they are made."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise Fault(f"the encoding is over max_bytes={self._max_bytes}")

    def count(self, items: int) -> None:
        """Count items before they are read."""
        self._items_left -= items
        if self._items_left < 0:
            raise Fault(f"more than max_items={self._max_items} items")

    def value(self, value: Any) -> Any:
        """The JSON tree of one value."""
        kind = type(value)
        if kind is str:
            return self.text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -_SMALL <= value < _SMALL else _big_int(self, value)
        if kind is float:
            return value if math.isfinite(value) else {"$": "float", "v": repr(value)}
        handler = _EXACT.get(kind) or _find_handler(kind)
        if handler is None:
            raise Fault(_refusal(value))
        identity = id(value)
        if identity in self._open:
            raise Fault(f"this {kind.__name__} contains itself; a cycle cannot travel")
        if len(self._open) >= self._max_depth:
            raise Fault(f"nested deeper than max_depth={self._max_depth}")
        self._open.add(identity)
        try:
            return handler(self, value)
        except Fault:
            raise
        except Exception as error:
            name = f"{type(error).__name__}: {error}"
            raise Fault(f"reading this {kind.__name__} raised {name}") from error
        finally:
            self._open.discard(identity)

    def text(self, value: str) -> Any:
        """A string. Two lone surrogates side by side would come out of JSON as one character."""
        self.charge(len(value))
        if value.isascii() or _well_formed(value):
            return value
        return {"$": "str", "v": to_base64(value.encode("utf-8", "surrogatepass"))}

    def items(self, values: Iterable[Any], count: int) -> list[Any]:
        """The trees of a sequence's items."""
        self.count(count)
        out: list[Any] = []
        add, value = out.append, self.value
        try:
            for item in values:
                add(value(item))
        except Fault as fault:
            raise fault.under(f"[{len(out)}]")  # noqa: B904 - the same fault, with its path
        return out

    def fields(self, values: dict[str, Any]) -> dict[str, Any]:
        """The trees of named fields."""
        out: dict[str, Any] = {}
        for name, item in values.items():
            try:
                out[name] = self.value(item)
            except Fault as fault:
                raise fault.under(f".{name}")  # noqa: B904 - the same fault, with its path
        return out


Handler = Callable[[Encoder, Any], Any]


def _well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _big_int(encoder: Encoder, value: int) -> dict[str, Any]:
    bits = value.bit_length()
    if bits > MAX_INT_BITS:
        raise Fault(f"an int of {bits} bits; at most {MAX_INT_BITS} can travel")
    encoder.charge(bits // 4)
    return {"$": "int", "v": hex(value)}


def _list(encoder: Encoder, value: list[Any]) -> Any:
    # Digits are slow: a long list of floats or ints goes as raw numbers, ten times faster.
    if len(value) >= PACKED_FROM:
        kinds = set(map(type, value))
        whole = kinds == {int} and min(value) >= -_SMALL and max(value) < _SMALL
        if whole or kinds == {float}:
            encoder.charge(len(value) * 11)
            encoder.count(len(value))
            packed = array.array("q" if whole else "d", value)
            if sys.byteorder == "big":
                packed.byteswap()
            return {"$": "ints" if whole else "floats", "v": to_base64(packed)}
    return encoder.items(value, len(value))


def _sequence(tag: str) -> Handler:
    def handler(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": encoder.items(value, len(value))}

    return handler


def _dict(encoder: Encoder, value: dict[Any, Any]) -> Any:
    if all(type(key) is str for key in value) and "$" not in value:
        names = "".join(value)
        encoder.charge(len(names) + 4 * len(value))
        if names.isascii() or all(map(_well_formed, value)):
            out: dict[str, Any] = {}
            name = ""
            try:
                for name, item in dict.items(value):
                    out[name] = encoder.value(item)
            except Fault as fault:
                raise fault.under(key_segment(name))  # noqa: B904 - the same fault, with its path
            return out
    return {"$": "dict", "v": _pairs(encoder, value)}


def _pairs(encoder: Encoder, value: dict[Any, Any]) -> list[Any]:
    out: list[Any] = []
    encoder.charge(8 * len(value))
    for key, item in dict.items(value):
        try:
            left = encoder.value(key)
        except Fault as fault:
            raise fault.under(f".keys()[{len(out)}]")  # noqa: B904 - the same fault, with its path
        try:
            out.append([left, encoder.value(item)])
        except Fault as fault:
            raise fault.under(key_segment(key))  # noqa: B904 - the same fault, with its path
    return out


def _mapping(tag: str) -> Handler:
    def handler(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": _pairs(encoder, value)}

    return handler


def _default_dict(encoder: Encoder, value: collections.defaultdict[Any, Any]) -> Any:
    factory = value.default_factory
    name = factory.__name__ if isinstance(factory, type) and factory in _DEFAULT_FACTORIES else None
    return {"$": "defaultdict", "f": name, "v": _pairs(encoder, value)}


def _bytes(encoder: Encoder, value: bytes | bytearray) -> Any:
    encoder.charge(len(value) * 4 // 3)
    return {"$": "bytes" if isinstance(value, bytes) else "bytearray", "v": to_base64(value)}


def _fraction(encoder: Encoder, value: fractions.Fraction) -> Any:
    parts = [value.numerator, value.denominator]
    if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault(f"a Fraction with more than {MAX_FRACTION_BITS} bits cannot travel")
    return {"$": "Fraction", "v": encoder.items(parts, 2)}


def _path(encoder: Encoder, value: pathlib.PurePath) -> Any:
    if isinstance(value, pathlib.Path):
        name = "Path"
    else:
        windows = isinstance(value, pathlib.PureWindowsPath)
        name = "PureWindowsPath" if windows else "PurePosixPath"
    return {"$": name, "v": encoder.text(str(value))}


def _dataclass(encoder: Encoder, value: Any) -> Any:
    names = [
        name for name, field in type(value).__dataclass_fields__.items() if _is_stored_field(field)
    ]
    return _named(encoder, "dataclass", value, {name: getattr(value, name) for name in names})


def _is_stored_field(field: Any) -> bool:
    # dataclasses.fields() does the same test; the module is heavy and need not be imported for it.
    return repr(getattr(field, "_field_type", None)) == "_FIELD"


def _named_tuple(encoder: Encoder, value: Any) -> Any:
    return _named(encoder, "namedtuple", value, dict(zip(value._fields, value, strict=True)))


def _named(encoder: Encoder, tag: str, value: Any, fields: dict[str, Any]) -> Any:
    kind = type(value)
    return _record_tree(encoder, tag, kind.__module__, kind.__qualname__, fields)


def _record_tree(
    encoder: Encoder, tag: str, module: str, class_name: str, fields: dict[str, Any]
) -> Any:
    encoder.charge(len(module) + len(class_name) + sum(map(len, fields)))
    return {"$": tag, "m": module, "c": class_name, "v": encoder.fields(fields)}


def _record(encoder: Encoder, value: Record) -> Any:
    return _record_tree(encoder, *record_parts(value))


def _enum(encoder: Encoder, value: enum.Enum) -> Any:
    kind = type(value)
    return _member_tree(encoder, kind.__module__, kind.__qualname__, value.name, value.value)


def _member(encoder: Encoder, value: Member) -> Any:
    return _member_tree(encoder, *member_parts(value))


def _member_tree(
    encoder: Encoder, module: str, class_name: str, name: str | None, value: Any
) -> Any:
    tree = encoder.fields({"value": value})["value"]
    return {"$": "enum", "m": module, "c": class_name, "n": name, "v": tree}


def _range(encoder: Encoder, value: range) -> Any:
    return {"$": "range", "v": encoder.items([value.start, value.stop, value.step], 3)}


def _slice(encoder: Encoder, value: slice) -> Any:
    return {"$": "slice", "v": encoder.items([value.start, value.stop, value.step], 3)}


def _deque(encoder: Encoder, value: collections.deque[Any]) -> Any:
    return {"$": "deque", "n": value.maxlen, "v": encoder.items(value, len(value))}


_EXACT: dict[type, Handler] = {
    list: _list,
    dict: _dict,
    tuple: _sequence("tuple"),
    set: _sequence("set"),
    frozenset: _sequence("frozenset"),
    collections.deque: _deque,
    collections.OrderedDict: _mapping("OrderedDict"),
    collections.Counter: _mapping("Counter"),
    collections.defaultdict: _default_dict,
    bytes: _bytes,
    bytearray: _bytes,
    complex: lambda e, v: {"$": "complex", "v": e.items([v.real, v.imag], 2)},
    dt.datetime: lambda _, v: encode_datetime(v),
    dt.date: lambda _, v: encode_date(v),
    dt.time: lambda _, v: encode_time(v),
    dt.timedelta: lambda _, v: encode_timedelta(v),
    decimal.Decimal: lambda e, v: {"$": "Decimal", "v": e.text(str(v))},
    fractions.Fraction: _fraction,
    uuid.UUID: lambda _, v: {"$": "UUID", "v": v.hex},
    range: _range,
    slice: _slice,
    Record: _record,
    Member: _member,
}

# A subclass without a rule of its own travels as its builtin; the builtin's own methods make the
# copy, so an overridden __str__ or __iter__ has no say.
_BASES: tuple[tuple[type, Handler], ...] = (
    (str, lambda e, v: e.value(str.__str__(v))),
    (int, lambda e, v: e.value(int.__int__(v))),
    (float, lambda e, v: e.value(float.__float__(v))),
    (bytes, lambda e, v: _bytes(e, bytes.__getitem__(v, slice(None)))),
    (bytearray, lambda e, v: _bytes(e, bytearray.__getitem__(v, slice(None)))),
    (list, lambda e, v: _list(e, list.__getitem__(v, slice(None)))),
    (tuple, lambda e, v: _EXACT[tuple](e, tuple.__getitem__(v, slice(None)))),
    (collections.OrderedDict, _mapping("OrderedDict")),
    (collections.Counter, _mapping("Counter")),
    (collections.defaultdict, _default_dict),
    (dict, _dict),
    (frozenset, lambda e, v: _EXACT[frozenset](e, frozenset.copy(v))),
    (set, lambda e, v: _EXACT[set](e, set.copy(v))),
    (dt.datetime, lambda _, v: encode_datetime(v)),
    (dt.date, lambda _, v: encode_date(v)),
    (dt.timedelta, lambda _, v: encode_timedelta(v)),
    (decimal.Decimal, lambda e, v: {"$": "Decimal", "v": e.text(str(v))}),
    (pathlib.PurePath, _path),
)


def _find_handler(kind: type) -> Handler | None:
    if issubclass(kind, enum.Enum):
        return _enum
    if "__dataclass_fields__" in kind.__dict__ or hasattr(kind, "__dataclass_fields__"):
        return _dataclass
    if issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple):
        return _named_tuple
    # A value of these libraries can only exist where they are loaded already.
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if issubclass(kind, getattr(numpy, "ndarray", ())):
            return encode_array
        if issubclass(kind, getattr(numpy, "generic", ())):
            return encode_numpy_scalar
    found: Handler | None = pandas_encoder(kind)
    if found is not None:
        return found
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    if image is not None and issubclass(kind, image):
        return encode_image
    return next((handler for base, handler in _BASES if issubclass(kind, base)), None)


def _refusal(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__} cannot travel; send an instance or its name"
    kind = type(value)
    return (
        f"a value of type {kind.__module__}.{kind.__qualname__} cannot travel; "
        "send plain data instead (numbers, text, lists, dicts, arrays, tables, images)"
    )
