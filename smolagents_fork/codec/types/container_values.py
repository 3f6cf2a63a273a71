"""Containers: lists, tuples, sets, deques, dicts and their kinds, ranges and slices."""

from __future__ import annotations

import array
import collections
import sys
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, fill, ints_of, plain_text, row
from smolagents_fork.codec.encoder import ENCODERS, Encode, Encoder, well_formed
from smolagents_fork.codec.limits import PACKED_FROM, SMALL_INT, Fault, key_segment

# Default factories that a defaultdict may have.
_FACTORIES = {kind.__name__: kind for kind in (int, float, str, bool, list, dict, set, tuple)}


def _packed(encoder: Encoder, value: list[Any]) -> Any:
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
    packed = _packed(encoder, value)
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
        raise Fault("a deque is not longer than its maxlen")
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
            left = encoder.value(key)
        except Fault as fault:
            raise fault.under(f".keys()[{len(out)}]")  # noqa: B904 - the same fault, with its path
        try:
            out.append([left, encoder.value(item)])
        except Fault as fault:
            raise fault.under(key_segment(key))  # noqa: B904 - the same fault, with its path
    return out


def _mapping(tag: str) -> Encode:
    def encode_it(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": _pairs(encoder, value)}

    return encode_it


def _default_dict(encoder: Encoder, value: collections.defaultdict[Any, Any]) -> Any:
    factory = value.default_factory
    name = next((name for name, kind in _FACTORIES.items() if kind is factory), None)
    return {"$": "defaultdict", "f": name, "v": _pairs(encoder, value)}


def _default_dict_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    name = tree["f"]
    factory = None if name is None else _FACTORIES[plain_text(name)]
    return decoder.pairs(tree["v"], collections.defaultdict(factory))


def _view(encoder: Encoder, value: Any) -> Any:
    # Views of a dict become lists, since the dict behind them stays here.
    return encoder.items(value, len(value))


def _bounds(tag: str) -> Encode:
    def encode_it(encoder: Encoder, value: Any) -> Any:
        return {"$": tag, "v": encoder.items([value.start, value.stop, value.step], 3)}

    return encode_it


def _slice_of(decoder: Decoder, tree: dict[str, Any]) -> slice:
    start, stop, step = decoder.items(tree["v"])
    return slice(start, stop, step)


_DICTS: tuple[dict[Any, Any], ...] = ({}, collections.OrderedDict())
_VIEWS = [view for one in _DICTS for view in (one.keys(), one.values(), one.items())]
ENCODERS.update(
    {
        list: _list,
        tuple: _sequence("tuple"),
        set: _sequence("set"),
        frozenset: _sequence("frozenset"),
        collections.deque: _deque,
        collections.OrderedDict: _mapping("OrderedDict"),
        collections.Counter: _mapping("Counter"),
        collections.defaultdict: _default_dict,
        dict: _dict,
        **dict.fromkeys(map(type, _VIEWS), _view),
        range: _bounds("range"),
        slice: _bounds("slice"),
    }
)
TAGS.update(
    {
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
    }
)
