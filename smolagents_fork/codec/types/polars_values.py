"""polars: tables and columns, by their stored numbers and texts.

Moments and times are sent as the ints that polars stores, categories as their texts; the type of
the column says what they are.
"""

from __future__ import annotations

import sys
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, need_library, plain_text, row
from smolagents_fork.codec.encoder import ENCODER_FINDERS, Encode, Encoder
from smolagents_fork.codec.limits import Fault

_PLAIN_TYPES = frozenset(
    """
    Int8 Int16 Int32 Int64 Int128 UInt8 UInt16 UInt32 UInt64 Float32 Float64
    Boolean String Binary Null Date Time Categorical
    """.split()
)
#: Types that polars stores as ints, with the type of the ints.
_STORED_AS = {"Date": "Int32", "Time": "Int64", "Datetime": "Int64", "Duration": "Int64"}
_UNITS = ("ns", "us", "ms")
_MOST_NESTED = 8
_MOST_FIELDS = 1000
# Nanoseconds and bytes of an entry in a column, on top of those of its value.
_SLOT_COST = (100, 20)


def polars_encoder(kind: type) -> Encode | None:
    """Return the encoder for a table or a column of polars; ``None`` for other types."""
    polars = sys.modules.get("polars")
    if polars is None or not hasattr(polars, "DataFrame"):
        return None
    if issubclass(kind, polars.DataFrame):
        return _polars_frame
    return _polars_series if issubclass(kind, polars.Series) else None


def _polars_frame(encoder: Encoder, value: Any) -> Any:
    columns = []
    for series in value.get_columns():
        try:
            columns.append(_polars_series(encoder, series))
        except Fault as fault:
            raise fault.under(f"[{series.name!r}]")  # noqa: B904 - the same fault, with its path
    return {"$": "pl.DataFrame", "v": columns}


def _polars_frame_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    polars, columns = need_library("polars"), decoder.items(tree["v"])
    if not all(isinstance(column, polars.Series) for column in columns):
        raise Fault("a table of polars has columns")
    return polars.DataFrame(columns)


def _polars_series(encoder: Encoder, value: Any) -> Any:
    polars = need_library("polars")
    described = _type_tree(value.dtype)
    stored_type = _stored_type(polars, described)
    # Without "strict" a value that does not fit would become null.
    values = value.cast(stored_type, strict=True).to_list()
    slots = _entries(values) * _width(described)
    encoder.expect(slots * _SLOT_COST[0], slots * _SLOT_COST[1])
    name, trees = encoder.text(value.name), encoder.value(values)
    return {"$": "pl.Series", "n": name, "t": encoder.value(described), "v": trees}


def _polars_series_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    polars, described = need_library("polars"), decoder.value(tree["t"])
    final, stored_type = _type_of(polars, described), _stored_type(polars, described)
    name, values = plain_text(decoder.value(tree["n"])), decoder.value(tree["v"])
    if type(values) is not list:
        raise Fault("a column of polars has a list of values")
    slots = _entries(values) * _width(described)
    decoder.charge(slots * _SLOT_COST[0], slots * _SLOT_COST[1])
    try:
        return polars.Series(name, values, dtype=stored_type, strict=True).cast(final, strict=True)
    except polars.exceptions.PanicException as error:  # no Exception
        raise Fault(f"polars cannot create this column: {error}") from None


# -- types of columns: a name, or a list of a name and what it is made of --


def _type_tree(dtype: Any, depth: int = 0) -> Any:
    name = type(dtype).__name__
    if depth > _MOST_NESTED:
        raise Fault(f"a column whose type is nested deeper than {_MOST_NESTED}")
    if name in _PLAIN_TYPES:
        return name
    if name == "Datetime":
        return [name, dtype.time_unit, dtype.time_zone]
    if name == "Duration":
        return [name, dtype.time_unit]
    if name == "Decimal":
        return [name, dtype.precision, dtype.scale]
    if name == "Enum":
        return [name, dtype.categories.to_list()]
    if name == "List":
        return [name, _type_tree(dtype.inner, depth + 1)]
    if name == "Array":
        return [name, _type_tree(dtype.inner, depth + 1), dtype.size]
    if name == "Struct":
        fields = [[field.name, _type_tree(field.dtype, depth + 1)] for field in dtype.fields]
        return [name, fields]
    raise Fault(f"a column of the type {dtype} cannot be encoded; cast it to another type")


def _type_of(polars: Any, tree: Any, depth: int = 0) -> Any:
    """Return the type that :func:`_type_tree` described; nothing else is looked up."""
    name, *parts = tree if type(tree) is list and tree else [tree]
    if depth > _MOST_NESTED or type(name) is not str:
        raise Fault("not the type of a column of polars")
    if name in _PLAIN_TYPES and not parts:
        return getattr(polars, name)()
    if name == "Datetime" and len(parts) == 2 and parts[0] in _UNITS:
        zone = parts[1] if parts[1] is None else plain_text(parts[1])
        return polars.Datetime(parts[0], zone)
    if name == "Duration" and len(parts) == 1 and parts[0] in _UNITS:
        return polars.Duration(parts[0])
    if name == "Decimal" and len(parts) == 2 and all(_is_size(part, 38) for part in parts):
        return polars.Decimal(*parts)
    if name == "Enum" and len(parts) == 1 and type(parts[0]) is list:
        return polars.Enum([plain_text(part) for part in parts[0]])
    if name == "List" and len(parts) == 1:
        return polars.List(_type_of(polars, parts[0], depth + 1))
    if name == "Array" and len(parts) == 2 and _is_size(parts[1], 1_000_000):
        return polars.Array(_type_of(polars, parts[0], depth + 1), parts[1])
    if name == "Struct" and len(parts) == 1 and _are_fields(parts[0]):
        fields = {field: _type_of(polars, inner, depth + 1) for field, inner in parts[0]}
        return polars.Struct(fields)
    raise Fault("not the type of a column of polars")


def _stored_type(polars: Any, tree: Any) -> Any:
    """Return the type of the values that are sent for a column of a described type."""
    name, *parts = tree if type(tree) is list and tree else [tree]
    if name in _STORED_AS:
        return getattr(polars, _STORED_AS[name])()
    if name in ("Categorical", "Enum"):
        return polars.String()
    if name == "List":
        return polars.List(_stored_type(polars, parts[0]))
    if name == "Array":
        return polars.Array(_stored_type(polars, parts[0]), parts[1])
    if name == "Struct":
        return polars.Struct({field: _stored_type(polars, inner) for field, inner in parts[0]})
    return _type_of(polars, tree)


def _width(tree: Any) -> int:
    """Return the entries that polars keeps for one value: a null array has all of its own."""
    name, *parts = tree if type(tree) is list and tree else [tree]
    if name == "Array":
        return int(parts[1]) * _width(parts[0])
    if name == "Struct":
        return sum(_width(inner) for _, inner in parts[0])
    return _width(parts[0]) if name == "List" else 1


def _entries(values: list[Any]) -> int:
    """Count values, and those in lists and dicts among them."""
    count, level = 0, values
    while level:
        count += len(level)
        inner: list[Any] = []
        for value in level:
            if type(value) is list:
                inner += value
            elif type(value) is dict:
                inner += value.values()
        level = inner
    return count


def _is_size(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _are_fields(value: Any) -> bool:
    return (
        type(value) is list
        and 0 < len(value) <= _MOST_FIELDS
        and all(
            type(field) is list and len(field) == 2 and type(field[0]) is str for field in value
        )
        and len({field[0] for field in value}) == len(value)
    )


ENCODER_FINDERS.append(polars_encoder)
TAGS.update(
    {
        "pl.DataFrame": row(_polars_frame_of, work=60_000, memory=3_000),
        "pl.Series": row(_polars_series_of, "ntv", work=60_000, memory=3_000),
    }
)
