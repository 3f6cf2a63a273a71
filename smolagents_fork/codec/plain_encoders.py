"""Encoders of the standard library's types: one function per type, and the table of them."""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import enum
import fractions
import pathlib
import sys
import uuid
from collections.abc import Callable
from typing import Any

from smolagents_fork.codec.dataclass_values import Member, Record, member_parts, record_parts
from smolagents_fork.codec.datetimes import (
    encode_date,
    encode_datetime,
    encode_time,
    encode_timedelta,
)
from smolagents_fork.codec.limits import (
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    PACKED_FROM,
    SMALL_INT,
    Fault,
    key_segment,
)

# The first argument of every handler is the Encoder, which imports this module.
Handler = Callable[[Any, Any], Any]
_DEFAULT_FACTORIES = (int, float, str, bool, list, dict, set, tuple)


def well_formed(text: str) -> bool:
    """Tell whether a string has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_big_int(encoder: Any, value: int) -> dict[str, Any]:
    """Encode an int of more than 64 bits."""
    bits = value.bit_length()
    if bits > MAX_INT_BITS:
        raise Fault(f"an int of {bits} bits; at most {MAX_INT_BITS} can be encoded")
    encoder.charge(bits // 4)
    return {"$": "int", "v": hex(value)}


def _list(encoder: Any, value: list[Any]) -> Any:
    # Digits are slow: a long list of floats or ints is sent as raw numbers, ten times faster.
    if len(value) >= PACKED_FROM:
        types = set(map(type, value))
        whole = types == {int} and min(value) >= -SMALL_INT and max(value) < SMALL_INT
        if whole or types == {float}:
            encoder.count(len(value))
            packed = array.array("q" if whole else "d", value)
            if sys.byteorder == "big":
                packed.byteswap()
            return {"$": "ints" if whole else "floats", "v": encoder.raw(packed)}
    return encoder.items(value, len(value))


def _sequence(tag: str) -> Handler:
    def handler(encoder: Any, value: Any) -> Any:
        return {"$": tag, "v": encoder.items(value, len(value))}

    return handler


def _dict(encoder: Any, value: dict[Any, Any]) -> Any:
    if all(type(key) is str for key in value) and "$" not in value:
        names = "".join(value)
        encoder.charge(len(names) + 4 * len(value))
        if names.isascii() or all(map(well_formed, value)):
            out: dict[str, Any] = {}
            name = ""
            try:
                for name, item in dict.items(value):
                    out[name] = encoder.value(item)
            except Fault as fault:
                raise fault.under(key_segment(name))  # noqa: B904 - the same fault, with its path
            return out
    return {"$": "dict", "v": _pairs(encoder, value)}


def _pairs(encoder: Any, value: dict[Any, Any]) -> list[Any]:
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
    def handler(encoder: Any, value: Any) -> Any:
        return {"$": tag, "v": _pairs(encoder, value)}

    return handler


def _default_dict(encoder: Any, value: collections.defaultdict[Any, Any]) -> Any:
    factory = value.default_factory
    name = factory.__name__ if isinstance(factory, type) and factory in _DEFAULT_FACTORIES else None
    return {"$": "defaultdict", "f": name, "v": _pairs(encoder, value)}


def _bytes(encoder: Any, value: bytes | bytearray) -> Any:
    if isinstance(value, bytes):
        return {"$": "bytes", "v": encoder.raw(value)}
    # A copy, because a bytearray that is read in place cannot change its length.
    return {"$": "bytearray", "v": encoder.raw(bytes(value))}


def _fraction(encoder: Any, value: fractions.Fraction) -> Any:
    parts = [value.numerator, value.denominator]
    if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault(f"a Fraction with more than {MAX_FRACTION_BITS} bits cannot be encoded")
    return {"$": "Fraction", "v": encoder.items(parts, 2)}


def _path(encoder: Any, value: pathlib.PurePath) -> Any:
    if isinstance(value, pathlib.Path):
        name = "Path"
    else:
        windows = isinstance(value, pathlib.PureWindowsPath)
        name = "PureWindowsPath" if windows else "PurePosixPath"
    return {"$": name, "v": encoder.text(str(value))}


def encode_dataclass(encoder: Any, value: Any) -> Any:
    """Encode a dataclass instance: class by name, stored fields."""
    names = [
        name for name, field in type(value).__dataclass_fields__.items() if _is_stored_field(field)
    ]
    return _named(encoder, "dataclass", value, {name: getattr(value, name) for name in names})


def _is_stored_field(field: Any) -> bool:
    # dataclasses.fields() does the same test, but importing the module is expensive.
    return repr(getattr(field, "_field_type", None)) == "_FIELD"


def encode_named_tuple(encoder: Any, value: Any) -> Any:
    """Encode a named tuple: class by name, fields in order."""
    return _named(encoder, "namedtuple", value, dict(zip(value._fields, value, strict=True)))


def _named(encoder: Any, tag: str, value: Any, fields: dict[str, Any]) -> Any:
    kind = type(value)
    return _record_tree(encoder, tag, kind.__module__, kind.__qualname__, fields)


def _record_tree(
    encoder: Any, tag: str, module: str, class_name: str, fields: dict[str, Any]
) -> Any:
    encoder.charge(len(module) + len(class_name) + sum(map(len, fields)))
    return {"$": tag, "m": module, "c": class_name, "v": encoder.fields(fields)}


def _record(encoder: Any, value: Record) -> Any:
    return _record_tree(encoder, *record_parts(value))


def encode_enum(encoder: Any, value: enum.Enum) -> Any:
    """Encode an enum member: class by name, its name and value."""
    kind = type(value)
    return _member_tree(encoder, kind.__module__, kind.__qualname__, value.name, value.value)


def _member(encoder: Any, value: Member) -> Any:
    return _member_tree(encoder, *member_parts(value))


def _member_tree(encoder: Any, module: str, class_name: str, name: str | None, value: Any) -> Any:
    tree = encoder.fields({"value": value})["value"]
    return {"$": "enum", "m": module, "c": class_name, "n": name, "v": tree}


def _range(encoder: Any, value: range) -> Any:
    return {"$": "range", "v": encoder.items([value.start, value.stop, value.step], 3)}


def _slice(encoder: Any, value: slice) -> Any:
    return {"$": "slice", "v": encoder.items([value.start, value.stop, value.step], 3)}


def _deque(encoder: Any, value: collections.deque[Any]) -> Any:
    return {"$": "deque", "n": value.maxlen, "v": encoder.items(value, len(value))}


EXACT_ENCODERS: dict[type, Handler] = {
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

# A subclass without its own rule is sent as its builtin. The builtin's methods create the copy, so
# an overridden __str__ or __iter__ is not called.
BASE_ENCODERS: tuple[tuple[type, Handler], ...] = (
    (str, lambda e, v: e.value(str.__str__(v))),
    (int, lambda e, v: e.value(int.__int__(v))),
    (float, lambda e, v: e.value(float.__float__(v))),
    (bytes, lambda e, v: _bytes(e, bytes.__getitem__(v, slice(None)))),
    (bytearray, lambda e, v: _bytes(e, bytearray.__getitem__(v, slice(None)))),
    (list, lambda e, v: _list(e, list.__getitem__(v, slice(None)))),
    (tuple, lambda e, v: EXACT_ENCODERS[tuple](e, tuple.__getitem__(v, slice(None)))),
    (collections.OrderedDict, _mapping("OrderedDict")),
    (collections.Counter, _mapping("Counter")),
    (collections.defaultdict, _default_dict),
    (dict, _dict),
    (frozenset, lambda e, v: EXACT_ENCODERS[frozenset](e, frozenset.copy(v))),
    (set, lambda e, v: EXACT_ENCODERS[set](e, set.copy(v))),
    (dt.datetime, lambda _, v: encode_datetime(v)),
    (dt.date, lambda _, v: encode_date(v)),
    (dt.timedelta, lambda _, v: encode_timedelta(v)),
    (decimal.Decimal, lambda e, v: {"$": "Decimal", "v": e.text(str(v))}),
    (pathlib.PurePath, _path),
)
