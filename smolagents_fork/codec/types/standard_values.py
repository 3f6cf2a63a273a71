"""Types of the standard library: numbers, texts, containers, dates and times."""

from __future__ import annotations

import array
import collections
import collections.abc
import datetime as dt
import decimal
import fractions
import numbers
import pathlib
import re
import sys
import uuid
from typing import Any

from smolagents_fork.codec.decoder import (
    TAGS,
    Decode,
    Decoder,
    fill,
    ints_of,
    list_of,
    plain_text,
    row,
)
from smolagents_fork.codec.encoder import ENCODERS, Encode, Encoder, well_formed
from smolagents_fork.codec.limits import (
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    PACKED_FROM,
    SMALL_INT,
    Fault,
    key_segment,
)

# -- numbers: ints of any size, floats, packed lists of both, complex, decimals, fractions --

_HEX = re.compile(r"-?0x[0-9a-f]+")


def _int_of(_: Decoder, tree: dict[str, Any]) -> int:
    text = plain_text(tree["v"])
    if len(text) > MAX_INT_BITS // 4 + 4 or not _HEX.fullmatch(text):
        raise Fault("not an int")
    return int(text, 16)


def _float_of(_: Decoder, tree: dict[str, Any]) -> float:
    if tree["v"] not in ("nan", "inf", "-inf"):
        raise Fault("not a float")
    return float(tree["v"])


def _complex(encoder: Encoder, value: complex) -> Any:
    return {"$": "complex", "v": encoder.items([value.real, value.imag], 2)}


def _complex_of(decoder: Decoder, tree: dict[str, Any]) -> complex:
    parts = decoder.items(tree["v"])
    if len(parts) != 2 or not all(type(part) is float for part in parts):
        raise Fault("a complex has two floats")
    return complex(*parts)


def _decimal(encoder: Encoder, value: decimal.Decimal) -> Any:
    return {"$": "Decimal", "v": encoder.text(decimal.Decimal.__str__(value))}


def _fraction(encoder: Encoder, value: numbers.Rational) -> Any:
    parts = [int(value.numerator), int(value.denominator)]
    if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault(f"a Fraction with more than {MAX_FRACTION_BITS} bits cannot be encoded")
    return {"$": "Fraction", "v": encoder.items(parts, 2)}


def _fraction_of(decoder: Decoder, tree: dict[str, Any]) -> fractions.Fraction:
    parts = ints_of(decoder, tree["v"], 2)
    if parts[1] <= 0 or max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault("not a Fraction, or one that is too long")
    return fractions.Fraction(*parts)


# -- text, bytes, paths and identifiers --


def _bytes(encoder: Encoder, value: bytes) -> Any:
    return {"$": "bytes", "v": encoder.raw(value)}


def _bytearray(encoder: Encoder, value: bytearray) -> Any:
    # A copy, because a bytearray that is read in place cannot change its length.
    return {"$": "bytearray", "v": encoder.raw(bytes(value))}


def _path(encoder: Encoder, value: pathlib.PurePath) -> Any:
    # Of this system, or a pure one of its kind. A program's may have a __str__ of its own.
    if isinstance(value, pathlib.Path):
        name = "Path"
    else:
        windows = isinstance(value, pathlib.PureWindowsPath)
        name = "PureWindowsPath" if windows else "PurePosixPath"
    return {"$": name, "v": encoder.text(pathlib.PurePath.__str__(value))}


def _path_of(cls: type[pathlib.PurePath]) -> Decode:
    def make(decoder: Decoder, tree: dict[str, Any]) -> pathlib.PurePath:
        text = plain_text(decoder.value(tree["v"]))
        decoder.charge(20 * len(text), 40 * len(text))  # a path keeps its parts, in two forms
        return cls(text)

    return make


# -- constants --

_CONSTANTS = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}


def _constant(_: Encoder, value: Any) -> Any:
    return {"$": "constant", "v": repr(value)}


def _constant_of(_: Decoder, tree: dict[str, Any]) -> Any:
    return _CONSTANTS[plain_text(tree["v"])]


# -- containers: lists, tuples, sets, deques, dicts and their kinds, ranges and slices --

# Default factories that a defaultdict may have.
_FACTORIES = {cls.__name__: cls for cls in (int, float, str, bool, list, dict, set, tuple)}


def _pack_numbers(encoder: Encoder, value: list[Any]) -> Any:
    """Encode a long list of floats or ints as raw numbers; ``None`` for other lists.

    Digits are slow: raw numbers are ten times faster.
    """
    if len(value) < PACKED_FROM:
        return None
    types = set(map(type, value))
    whole = types == {int} and min(value) >= -SMALL_INT and max(value) < SMALL_INT
    if not (whole or types == {float}):
        return None
    encoder.count(len(value))
    packed = array.array("q" if whole else "d", value)
    if sys.byteorder == "big":
        packed.byteswap()
    return {"$": "ints" if whole else "floats", "v": encoder.raw(packed)}


def _list(encoder: Encoder, value: list[Any]) -> Any:
    packed = _pack_numbers(encoder, value)
    return encoder.items(value, len(value)) if packed is None else packed


def _sequence(tag: str) -> Encode:
    def encode_it(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": encoder.items(value, len(value))}

    return encode_it


def _set_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    return fill(decoder, set(), decoder.items(tree["v"]))


def _deque(encoder: Encoder, value: collections.deque[Any]) -> Any:
    return {"$": "deque", "n": value.maxlen, "v": encoder.items(value, len(value))}


def _deque_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    longest, items = tree["n"], decoder.items(tree["v"])
    if longest is not None and (type(longest) is not int or longest < len(items)):
        raise Fault("a deque longer than its maxlen")
    return collections.deque(items, longest)


def _dict(encoder: Encoder, value: dict[Any, Any]) -> Any:
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


def _pairs(encoder: Encoder, value: dict[Any, Any]) -> list[Any]:
    out: list[Any] = []
    encoder.charge(8 * len(value))
    # An OrderedDict has an order of its own, which dict.items() does not know.
    for key, item in value.items():
        try:
            key_tree = encoder.value(key)
        except Fault as fault:
            raise fault.under(f".keys()[{len(out)}]")  # noqa: B904 - the same fault, with its path
        try:
            out.append([key_tree, encoder.value(item)])
        except Fault as fault:
            raise fault.under(key_segment(key))  # noqa: B904 - the same fault, with its path
    return out


def _mapping(tag: str) -> Encode:
    def encode_it(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": _pairs(encoder, value)}

    return encode_it


def _default_dict(encoder: Encoder, value: collections.defaultdict[Any, Any]) -> Any:
    factory = value.default_factory
    name = next((name for name, cls in _FACTORIES.items() if cls is factory), None)
    return {"$": "defaultdict", "f": name, "v": _pairs(encoder, value)}


def _default_dict_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    name = tree["f"]
    factory = None if name is None else _FACTORIES[plain_text(name)]
    return decoder.pairs(tree["v"], collections.defaultdict(factory))


def _view(encoder: Encoder, value: Any) -> Any:
    # Views of a mapping become lists, since the mapping behind them stays here.
    return encoder.items(value, len(value))


def _bounds(tag: str) -> Encode:
    def encode_it(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": encoder.items([value.start, value.stop, value.step], 3)}

    return encode_it


def _slice_of(decoder: Decoder, tree: dict[str, Any]) -> slice:
    start, stop, step = decoder.items(tree["v"])
    return slice(start, stop, step)


# -- dates, times and time zones --
#
# A zone is encoded as its offset at that time in microseconds and its IANA key, if it has one. The
# key is looked up only through zoneinfo, which refuses absolute paths and "..". If the zone is not
# available here, only the offset is kept. A zone of another library (pytz, dateutil) is decoded as
# a ZoneInfo with the same key.

_ZONE_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+){0,3}")
_MICROSECOND = dt.timedelta(microseconds=1)


def encode_zone(zone: dt.tzinfo | None, offset: dt.timedelta | None) -> list[Any] | None:
    """Return ``[offset in microseconds or None, key or None]``; ``None`` without a zone."""
    if zone is None:
        return None
    # zoneinfo has .key and pytz has .zone; other zones are kept as their offset.
    key = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if not (isinstance(key, str) and _ZONE_KEY.fullmatch(key)):
        key = None
    if key is None and offset is None:
        raise Fault(f"time zone {type(zone).__name__} has neither a name nor a fixed offset")
    return [None if offset is None else offset // _MICROSECOND, key]


def decode_zone(decoder: Decoder, data: Any) -> dt.tzinfo | None:
    """Decode the output of :func:`encode_zone`."""
    if data is None:
        return None
    offset, key = list_of(data, 2)
    if key is not None:
        if type(key) is not str or len(key) > 64 or not _ZONE_KEY.fullmatch(key):
            raise Fault("not the name of a time zone")
        zone: dt.tzinfo | None = decoder.zone(key)
        if zone is not None:
            return zone
        if offset is None:
            raise Fault(f"time zone {key!r} is not known here")
    if type(offset) is not int or abs(offset) >= 86_400_000_000:
        raise Fault("a zone's offset is under 24 hours")
    if offset == 0:
        return dt.timezone.utc
    return dt.timezone(dt.timedelta(microseconds=offset))


def _datetime(_: Encoder, value: dt.datetime) -> Any:
    naive = [value.year, value.month, value.day, value.hour, value.minute, value.second]
    zone = encode_zone(value.tzinfo, value.utcoffset())
    return {"$": "datetime", "v": [*naive, value.microsecond, value.fold, zone]}


def _datetime_of(decoder: Decoder, tree: dict[str, Any]) -> dt.datetime:
    *fields, fold, zone = list_of(tree["v"], 9)
    return dt.datetime(*fields).replace(tzinfo=decode_zone(decoder, zone), fold=fold)


def _date(_: Encoder, value: dt.date) -> Any:
    return {"$": "date", "v": [value.year, value.month, value.day]}


def _time(_: Encoder, value: dt.time) -> Any:
    zone = encode_zone(value.tzinfo, value.utcoffset())
    fields = [value.hour, value.minute, value.second, value.microsecond]
    return {"$": "time", "v": [*fields, value.fold, zone]}


def _time_of(decoder: Decoder, tree: dict[str, Any]) -> dt.time:
    *fields, fold, zone = list_of(tree["v"], 6)
    return dt.time(*fields).replace(tzinfo=decode_zone(decoder, zone), fold=fold)


def _timedelta(_: Encoder, value: dt.timedelta) -> Any:
    # Exact: upstream's float of seconds loses microseconds.
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


# -- tables --

ENCODERS.update(
    {
        int: lambda encoder, value: encoder.value(int.__int__(value)),
        float: lambda encoder, value: encoder.value(float.__float__(value)),
        complex: _complex,
        decimal.Decimal: _decimal,
        fractions.Fraction: _fraction,
        str: lambda encoder, value: encoder.value(str.__str__(value)),
        bytes: _bytes,
        bytearray: _bytearray,
        **dict.fromkeys(map(type, _CONSTANTS.values()), _constant),
        uuid.UUID: lambda _, value: {"$": "UUID", "v": value.hex},
        pathlib.PurePath: _path,
        list: _list,
        tuple: _sequence("tuple"),
        set: _sequence("set"),
        frozenset: _sequence("frozenset"),
        collections.deque: _deque,
        collections.OrderedDict: _mapping("OrderedDict"),
        collections.Counter: _mapping("Counter"),
        collections.defaultdict: _default_dict,
        dict: _dict,
        collections.abc.MappingView: _view,
        range: _bounds("range"),
        slice: _bounds("slice"),
        dt.datetime: _datetime,
        dt.date: _date,
        dt.time: _time,
        dt.timedelta: _timedelta,
        # Exact numbers of libraries that say so, such as those of sympy and gmpy2.
        numbers.Integral: lambda encoder, value: encoder.value(int(value)),
        numbers.Rational: _fraction,
        # Mappings of libraries, such as the headers of a response.
        collections.abc.Mapping: lambda encoder, value: encoder.value(dict(value)),
    }
)
TAGS.update(
    {
        "int": row(_int_of),
        "float": row(_float_of),
        "ints": row(lambda d, t: d.numbers(t["v"], "q")),
        "floats": row(lambda d, t: d.numbers(t["v"], "d")),
        "complex": row(_complex_of),
        "Decimal": row(lambda _, t: decimal.Decimal(plain_text(t["v"]))),
        "Fraction": row(_fraction_of, work=10_000),
        "str": row(lambda d, t: str(d.raw(t["v"]), "utf-8", "surrogatepass")),
        "bytes": row(lambda d, t: bytes(d.raw(t["v"]))),
        "bytearray": row(lambda d, t: bytearray(d.raw(t["v"]))),
        "constant": row(_constant_of),
        "UUID": row(lambda _, t: uuid.UUID(hex=plain_text(t["v"]))),
        "Path": row(_path_of(pathlib.Path), work=5_000, memory=400),
        "PurePosixPath": row(_path_of(pathlib.PurePosixPath), work=5_000, memory=400),
        "PureWindowsPath": row(_path_of(pathlib.PureWindowsPath), work=5_000, memory=400),
        "tuple": row(lambda d, t: tuple(d.items(t["v"]))),
        "set": row(_set_of),
        "frozenset": row(lambda d, t: frozenset(_set_of(d, t))),
        "deque": row(_deque_of, "nv", memory=700),
        "dict": row(lambda d, t: d.pairs(t["v"], {})),
        "OrderedDict": row(lambda d, t: d.pairs(t["v"], collections.OrderedDict()), memory=300),
        "Counter": row(lambda d, t: collections.Counter(d.pairs(t["v"], {})), work=5_000),
        "defaultdict": row(_default_dict_of, "fv"),
        "range": row(lambda d, t: range(*ints_of(d, t["v"], 3))),
        "slice": row(_slice_of),
        "datetime": row(_datetime_of),
        "date": row(lambda _, t: dt.date(*list_of(t["v"], 3))),
        "time": row(_time_of),
        "timedelta": row(lambda _, t: dt.timedelta(*list_of(t["v"], 3))),
    }
)
