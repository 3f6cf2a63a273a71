"""Containers: lists, tuples, sets, deques, dicts and their kinds, ranges and slices."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from smolagents_fork.codec.coding import (
    Decoding,
    Encode,
    Encoding,
    Row,
    Tree,
    fill,
    ints_of,
    plain_text,
    row,
    stored,
)
from smolagents_fork.codec.limits import Fault, key_segment
from smolagents_fork.codec.types.number_values import encode_packed
from smolagents_fork.codec.types.text_values import well_formed

# Default factories that a defaultdict may have.
_FACTORIES = {kind.__name__: kind for kind in (int, float, str, bool, list, dict, set, tuple)}


def _list(encoder: Encoding, value: list[Any]) -> Tree:
    packed = encode_packed(encoder, value)
    return encoder.items(value, len(value)) if packed is None else packed


def _sequence(tag: str) -> Encode:
    def encode_it(encoder: Encoding, value: Any) -> Tree:
        return {"$": tag, "v": encoder.items(value, len(value))}

    return encode_it


def _set_of(decoder: Decoding, tree: dict[str, Tree]) -> Any:
    return fill(decoder, set(), decoder.items(tree["v"]))


def _deque(encoder: Encoding, value: collections.deque[Any]) -> Tree:
    return {"$": "deque", "n": value.maxlen, "v": encoder.items(value, len(value))}


def _deque_of(decoder: Decoding, tree: dict[str, Tree]) -> Any:
    longest, items = tree["n"], decoder.items(tree["v"])
    if longest is not None and (type(longest) is not int or longest < len(items)):
        raise Fault("a deque is not longer than its maxlen")
    return collections.deque(items, longest)


def _exact_deque(value: Any) -> Any:
    (longest,) = stored(collections.deque, value, "maxlen")
    return collections.deque(collections.deque.__iter__(value), longest)


def _dict(encoder: Encoding, value: dict[Any, Any]) -> Tree:
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


def _pairs(encoder: Encoding, value: dict[Any, Any]) -> list[Tree]:
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
    def encode_it(encoder: Encoding, value: Any) -> Tree:
        return {"$": tag, "v": _pairs(encoder, value)}

    return encode_it


def _default_dict(encoder: Encoding, value: collections.defaultdict[Any, Any]) -> Tree:
    factory = value.default_factory
    name = next((name for name, kind in _FACTORIES.items() if kind is factory), None)
    return {"$": "defaultdict", "f": name, "v": _pairs(encoder, value)}


def _default_dict_of(decoder: Decoding, tree: dict[str, Tree]) -> Any:
    name = tree["f"]
    factory = None if name is None else _FACTORIES[plain_text(name)]
    return decoder.pairs(tree["v"], collections.defaultdict(factory))


def _exact_default_dict(value: Any) -> Any:
    (factory,) = stored(collections.defaultdict, value, "default_factory")
    return collections.defaultdict(factory, dict.items(value))


def _view(encoder: Encoding, value: Any) -> Tree:
    # Views of a dict become lists, since the dict behind them stays here.
    return encoder.items(value, len(value))


def _bounds(tag: str) -> Encode:
    def encode_it(encoder: Encoding, value: Any) -> Tree:
        return {"$": tag, "v": encoder.items([value.start, value.stop, value.step], 3)}

    return encode_it


def _slice_of(decoder: Decoding, tree: dict[str, Tree]) -> slice:
    start, stop, step = decoder.items(tree["v"])
    return slice(start, stop, step)


_DICTS: tuple[dict[Any, Any], ...] = ({}, collections.OrderedDict())
CONTAINER_ENCODERS: dict[type, Encode] = {
    list: _list,
    tuple: _sequence("tuple"),
    set: _sequence("set"),
    frozenset: _sequence("frozenset"),
    collections.deque: _deque,
    dict: _dict,
    collections.OrderedDict: _mapping("OrderedDict"),
    collections.Counter: _mapping("Counter"),
    collections.defaultdict: _default_dict,
    **{type(view): _view for one in _DICTS for view in (one.keys(), one.values(), one.items())},
    range: _bounds("range"),
    slice: _bounds("slice"),
}
CONTAINER_TAGS: dict[str, Row] = {
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
CONTAINER_COPIES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
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
)
