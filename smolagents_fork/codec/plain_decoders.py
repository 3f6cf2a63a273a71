"""Decoders of the standard library's types, and the table of every tag.

Each decoder checks the shape of its input. The keys of the object are checked before the call.
"""

from __future__ import annotations

import collections
import decimal
import fractions
import pathlib
import re
import uuid
from collections.abc import Callable
from typing import Any

from smolagents_fork.codec.arrays import decode_array, decode_masked, decode_numpy_scalar
from smolagents_fork.codec.dataclass_values import Member, Record
from smolagents_fork.codec.datetimes import (
    decode_date,
    decode_datetime,
    decode_time,
    decode_timedelta,
)
from smolagents_fork.codec.image_values import decode_image
from smolagents_fork.codec.limits import (
    MAX_FRACTION_BITS,
    MAX_INT_BITS,
    Fault,
    fill,
)
from smolagents_fork.codec.pandas_values import (
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

# The first argument of every maker is the Decoder, which imports this module. Its items() decodes a
# list in place.
Maker = Callable[[Any, dict[str, Any]], Any]
_HEX = re.compile(r"-?0x[0-9a-f]+")
_NAME = re.compile(r"[^\W\d]\w{0,199}")
# Permitted default factories of a defaultdict.
_DEFAULTS = {kind.__name__: kind for kind in (int, float, str, bool, list, dict, set, tuple)}


def _frozen_set_of(decoder: Any, tree: dict[str, Any]) -> frozenset[Any]:
    return frozenset(fill(decoder, set(), decoder.items(tree["v"])))


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Fault("text expected")
    return value


def _float(_: Any, tree: dict[str, Any]) -> float:
    if tree["v"] not in ("nan", "inf", "-inf"):
        raise Fault("not a float")
    return float(tree["v"])


def _int(_: Any, tree: dict[str, Any]) -> int:
    text = _text(tree["v"])
    if len(text) > MAX_INT_BITS // 4 + 4 or not _HEX.fullmatch(text):
        raise Fault("not an int")
    return int(text, 16)


def _complex(decoder: Any, tree: dict[str, Any]) -> complex:
    parts = decoder.items(tree["v"])
    if len(parts) != 2 or not all(type(part) is float for part in parts):
        raise Fault("a complex has two floats")
    return complex(*parts)


def _ints(decoder: Any, tree: dict[str, Any], count: int) -> list[int]:
    parts: list[Any] = decoder.items(tree["v"])
    if len(parts) != count or not all(type(part) is int for part in parts):
        raise Fault(f"{count} ints expected")
    return parts


def _fraction_of(decoder: Any, tree: dict[str, Any]) -> fractions.Fraction:
    parts = _ints(decoder, tree, 2)
    if parts[1] <= 0 or max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
        raise Fault("not a Fraction, or one that is too long")
    return fractions.Fraction(*parts)


def _slice_of(decoder: Any, tree: dict[str, Any]) -> slice:
    start, stop, step = decoder.items(tree["v"])
    return slice(start, stop, step)


def _deque_of(decoder: Any, tree: dict[str, Any]) -> Any:
    longest, items = tree["n"], decoder.items(tree["v"])
    if longest is not None and (type(longest) is not int or longest < len(items)):
        raise Fault("a deque is not longer than its maxlen")
    return collections.deque(items, longest)


def _default_dict_of(decoder: Any, tree: dict[str, Any]) -> Any:
    name = tree["f"]
    factory = None if name is None else _DEFAULTS[_text(name)]
    return decoder.pairs(tree["v"], collections.defaultdict(factory))


def _fields(decoder: Any, tree: Any) -> dict[str, Any]:
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


def _made_of_fields(tag: str, make: Callable[[Any, dict[str, Any]], Any]) -> Maker:
    """Return the maker of an object that names its class and its fields.

    Args:
        tag: of the encoding.
        make: makes the object of a registered class and fields; of others it raises a fault.
    """

    def made(decoder: Any, tree: dict[str, Any]) -> Any:
        module, name, kind = decoder.registered(tree)
        fields = _fields(decoder, tree["v"])
        return Record(tag, module, name, fields) if kind is None else make(kind, fields)

    return made


def _check_fields(kind: Any, are_known: bool) -> None:
    if not are_known:
        raise Fault(f"the fields of {kind.__qualname__} differ from those of the registered class")


def _dataclass_of(kind: Any, fields: dict[str, Any]) -> Any:
    known: dict[str, Any] = getattr(kind, "__dataclass_fields__", {})
    _check_fields(kind, bool(known) and fields.keys() <= known.keys())
    value = kind(**{key: item for key, item in fields.items() if known[key].init})
    for key, item in fields.items():
        if not known[key].init:
            object.__setattr__(value, key, item)  # also works for frozen dataclasses
    return value


def _attrs_of(kind: Any, fields: dict[str, Any]) -> Any:
    known = {field.name for field in getattr(kind, "__attrs_attrs__", ())}
    _check_fields(kind, bool(known) and fields.keys() <= known)
    value = object.__new__(kind)
    for key, item in fields.items():
        object.__setattr__(value, key, item)  # also works for frozen classes
    return value


def _model_of(kind: Any, fields: dict[str, Any]) -> Any:
    known: dict[str, Any] = getattr(kind, "model_fields", {})
    takes_more = getattr(kind, "model_config", {}).get("extra") == "allow"
    public = all(key in known or (takes_more and key[:1] != "_") for key in fields)
    _check_fields(kind, bool(known) and public)
    return kind.model_construct(**fields)


def _named_tuple_of(kind: Any, fields: dict[str, Any]) -> Any:
    _check_fields(kind, issubclass(kind, tuple) and tuple(fields) == getattr(kind, "_fields", None))
    return kind(*fields.values())


def _member_of(decoder: Any, tree: dict[str, Any]) -> Any:
    module, name, kind = decoder.registered(tree)
    label, value = tree["n"], decoder.value(tree["v"])
    if label is not None and (type(label) is not str or len(label) > 1000):
        raise Fault("the name of an enum member is text")
    if kind is None:
        return Member(module, name, label, value)
    members: Any = getattr(kind, "__members__", {})
    if label in members:
        return members[label]
    # A combination of flags does not have a name, or has names joined by |.
    return kind(value)


def _path_of(kind: type[pathlib.PurePath]) -> Maker:
    def make(decoder: Any, tree: dict[str, Any]) -> pathlib.PurePath:
        text = _text(decoder.value(tree["v"]))
        decoder.charge(20 * len(text), 40 * len(text))  # a path keeps its parts, in two forms
        return kind(text)

    return make


def _tag(
    handler: Maker, keys: str = "v", work: int = 1_500, memory: int = 100
) -> tuple[frozenset[str], Maker, int, int]:
    """Return a row of the table: keys, function, nanoseconds and bytes of an empty value."""
    return frozenset({"$", *keys}), handler, work, memory


TAGS: dict[str, tuple[frozenset[str], Maker, int, int]] = {
    "str": _tag(lambda d, t: str(d.raw(t["v"]), "utf-8", "surrogatepass")),
    "float": _tag(_float),
    "int": _tag(_int),
    "floats": _tag(lambda d, t: d.numbers(t["v"], "d")),
    "ints": _tag(lambda d, t: d.numbers(t["v"], "q")),
    "complex": _tag(_complex),
    "bytes": _tag(lambda d, t: bytes(d.raw(t["v"]))),
    "bytearray": _tag(lambda d, t: bytearray(d.raw(t["v"]))),
    "tuple": _tag(lambda d, t: tuple(d.items(t["v"]))),
    "set": _tag(lambda d, t: fill(d, set(), d.items(t["v"]))),
    "frozenset": _tag(_frozen_set_of),
    "deque": _tag(_deque_of, "nv", memory=700),
    "dict": _tag(lambda d, t: d.pairs(t["v"], {})),
    "OrderedDict": _tag(lambda d, t: d.pairs(t["v"], collections.OrderedDict()), memory=300),
    "Counter": _tag(lambda d, t: collections.Counter(d.pairs(t["v"], {})), work=5_000),
    "defaultdict": _tag(_default_dict_of, "fv"),
    "range": _tag(lambda d, t: range(*_ints(d, t, 3))),
    "slice": _tag(_slice_of),
    "datetime": _tag(lambda d, t: decode_datetime(d, t["v"])),
    "date": _tag(lambda _, t: decode_date(t["v"])),
    "time": _tag(lambda d, t: decode_time(d, t["v"])),
    "timedelta": _tag(lambda _, t: decode_timedelta(t["v"])),
    "Decimal": _tag(lambda _, t: decimal.Decimal(_text(t["v"]))),
    "Fraction": _tag(_fraction_of, work=10_000),
    "UUID": _tag(lambda _, t: uuid.UUID(hex=_text(t["v"]))),
    "Path": _tag(_path_of(pathlib.Path), work=5_000, memory=400),
    "PurePosixPath": _tag(_path_of(pathlib.PurePosixPath), work=5_000, memory=400),
    "PureWindowsPath": _tag(_path_of(pathlib.PureWindowsPath), work=5_000, memory=400),
    "attrs": _tag(_made_of_fields("attrs", _attrs_of), "mcv", work=3_000),
    "dataclass": _tag(_made_of_fields("dataclass", _dataclass_of), "mcv", work=3_000),
    "model": _tag(_made_of_fields("model", _model_of), "mcv", work=10_000),
    "namedtuple": _tag(_made_of_fields("namedtuple", _named_tuple_of), "mcv", work=3_000),
    "enum": _tag(_member_of, "mcnv", work=3_000),
    "ndarray": _tag(decode_array, "dsv", work=5_000, memory=300),
    "np": _tag(decode_numpy_scalar, "dsv", work=5_000),
    "masked": _tag(decode_masked, work=15_000, memory=700),
    "image": _tag(decode_image, "msptzv", work=10_000, memory=2_000),
    "NaT": _tag(lambda _, __: need_pandas().NaT, "", work=5_000),
    "NA": _tag(lambda _, __: need_pandas().NA, "", work=5_000),
    "Timestamp": _tag(decode_timestamp, "vz", work=10_000),
    "Timedelta": _tag(decode_pandas_timedelta, work=10_000),
    "Period": _tag(decode_period, "vf", work=10_000),
    "Interval": _tag(decode_interval, "vc", work=10_000),
    "DataFrame": _tag(decode_frame, "vic", work=60_000, memory=5_000),
    "Series": _tag(decode_series, "vin", work=40_000, memory=2_000),
    "Index": _tag(decode_bare_index, work=5_000),
    "column": _tag(decode_bare_column, work=5_000),
}
