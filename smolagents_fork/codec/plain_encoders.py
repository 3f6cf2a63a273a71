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
    # An OrderedDict has an order of its own, which dict.items() does not know.
    for key, item in value.items():
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
    # Every path is of a subclass, and a program's may have a __str__ of its own.
    if isinstance(value, pathlib.Path):
        name = "Path"
    else:
        windows = isinstance(value, pathlib.PureWindowsPath)
        name = "PureWindowsPath" if windows else "PurePosixPath"
    return {"$": name, "v": encoder.text(pathlib.PurePath.__str__(value))}


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


def encode_attrs(encoder: Any, value: Any) -> Any:
    """Encode an instance of a class of attrs: class by name, fields."""
    names = [field.name for field in type(value).__attrs_attrs__]
    return _named(encoder, "attrs", value, {name: getattr(value, name) for name in names})


def encode_model(encoder: Any, value: Any) -> Any:
    """Encode a model of pydantic: class by name, fields that are set, extra ones too."""
    stored = vars(value)
    fields = {name: stored[name] for name in type(value).model_fields if name in stored}
    return _named(encoder, "model", value, {**fields, **(value.model_extra or {})})


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


def _view(encoder: Any, value: Any) -> Any:
    return encoder.items(value, len(value))


_DICTS: tuple[dict[Any, Any], ...] = ({}, collections.OrderedDict())
EXACT_ENCODERS: dict[type, Handler] = {
    # Views of a dict become lists, since the dict behind them stays here.
    **{type(view): _view for one in _DICTS for view in (one.keys(), one.values(), one.items())},
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


def _stored(kind: type, value: Any, *names: str) -> list[Any]:
    """Read attributes as ``kind`` stores them, whatever a subclass makes of them."""
    return [getattr(kind, name).__get__(value) for name in names]


_CLOCK = ("hour", "minute", "second", "microsecond", "tzinfo")


def _exact_datetime(value: Any) -> dt.datetime:
    *fields, fold = _stored(dt.datetime, value, "year", "month", "day", *_CLOCK, "fold")
    return dt.datetime(*fields, fold=fold)


def _exact_time(value: Any) -> dt.time:
    *fields, fold = _stored(dt.time, value, *_CLOCK, "fold")
    return dt.time(*fields, fold=fold)


def _exact_deque(value: Any) -> Any:
    (longest,) = _stored(collections.deque, value, "maxlen")
    return collections.deque(collections.deque.__iter__(value), longest)


def _exact_default_dict(value: Any) -> Any:
    (factory,) = _stored(collections.defaultdict, value, "default_factory")
    return collections.defaultdict(factory, dict.items(value))


# An instance of a subclass without its own rule is sent as the type it is based on: a copy of that
# type's own, made by its own methods, so that an overridden __str__ or __iter__ is not called. A
# type stands before those that it is based on.
_EXACT_COPIES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (complex, complex.__pos__),
    (bytes, lambda v: bytes.__getitem__(v, slice(None))),
    (bytearray, lambda v: bytearray.__getitem__(v, slice(None))),
    (list, lambda v: list.__getitem__(v, slice(None))),
    (tuple, lambda v: tuple.__getitem__(v, slice(None))),
    (collections.deque, _exact_deque),
    (
        collections.OrderedDict,
        lambda v: collections.OrderedDict(collections.OrderedDict.items(v)),
    ),
    (collections.Counter, lambda v: collections.Counter(dict(dict.items(v)))),
    (collections.defaultdict, _exact_default_dict),
    (dict, lambda v: dict(dict.items(v))),
    (frozenset, lambda v: frozenset(frozenset.__iter__(v))),
    (set, lambda v: set(set.__iter__(v))),
    (dt.datetime, _exact_datetime),
    (dt.date, lambda v: dt.date(*_stored(dt.date, v, "year", "month", "day"))),
    (dt.time, _exact_time),
    (
        dt.timedelta,
        lambda v: dt.timedelta(*_stored(dt.timedelta, v, "days", "seconds", "microseconds")),
    ),
    (decimal.Decimal, lambda v: decimal.Decimal(decimal.Decimal.__str__(v))),
    (
        fractions.Fraction,
        lambda v: fractions.Fraction(*_stored(fractions.Fraction, v, "numerator", "denominator")),
    ),
    (uuid.UUID, lambda v: uuid.UUID(int=_stored(uuid.UUID, v, "int")[0])),
)


def _as_base(base: type, copy: Callable[[Any], Any]) -> Handler:
    handler = EXACT_ENCODERS.get(base)
    if handler is None:
        return lambda encoder, value: encoder.value(copy(value))
    return lambda encoder, value: handler(encoder, copy(value))


BASE_ENCODERS: tuple[tuple[type, Handler], ...] = (
    *((base, _as_base(base, copy)) for base, copy in _EXACT_COPIES),
    (pathlib.PurePath, _path),
)
