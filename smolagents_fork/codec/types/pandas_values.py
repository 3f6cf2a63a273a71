"""pandas: tables, columns, indexes and scalars."""

from __future__ import annotations

import re
import sys
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, fill, list_of, need_library, row
from smolagents_fork.codec.encoder import ENCODER_FINDERS, Encode, Encoder
from smolagents_fork.codec.limits import Fault
from smolagents_fork.codec.types.standard_values import decode_zone, encode_zone

# pandas caches every frequency forever, so only a bounded set of them is accepted.
_FREQUENCY = re.compile(r"-?\d{0,3}[A-Za-z]{1,8}(-[A-Za-z]{1,4})?")
_NULLABLE = re.compile(r"(U?Int(8|16|32|64)|Float(32|64)|boolean)")
# Frequencies of one length, by which pandas computes; it counts the steps of the others.
_FIXED = re.compile(r"-?\d*(D|[hH]|min|T|[sS]|ms|us|ns|L|U|N)")
# Nanoseconds and bytes that the decoder takes for an empty one.
_COLUMN_COST = (40_000, 3_000)
_INDEX_COST = (20_000, 2_000)
_CATEGORY_COST = (20_000, 3_000)
_CLOSED = ("left", "right", "both", "neither")


def pandas_encoder(kind: type) -> Encode | None:
    """Return the encoder for a pandas type; ``None`` for other types."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not hasattr(pandas, "DataFrame"):
        return None
    if issubclass(kind, type(pandas.NaT)):
        return lambda _, __: {"$": "NaT"}
    if issubclass(kind, type(pandas.NA)):
        return lambda _, __: {"$": "NA"}
    rules: tuple[tuple[str, Encode], ...] = (
        ("Timestamp", _timestamp),
        ("Timedelta", _pandas_timedelta),
        ("Period", _period),
        ("Interval", _interval),
        ("DataFrame", _frame),
        ("Series", _series),
        ("Index", lambda encoder, value: {"$": "Index", "v": _index(encoder, value)}),
    )
    for name, handler in rules:
        if issubclass(kind, getattr(pandas, name)):
            return handler
    if issubclass(kind, pandas.api.extensions.ExtensionArray):
        return lambda encoder, value: {"$": "column", "v": _column(encoder, value)}
    return None


def _timestamp(encoder: Encoder, value: Any) -> Any:
    zone = encode_zone(value.tzinfo, value.utcoffset())
    return {"$": "Timestamp", "v": encoder.value(value.to_datetime64()), "z": zone}


def _pandas_timedelta(encoder: Encoder, value: Any) -> Any:
    return {"$": "Timedelta", "v": encoder.value(value.to_timedelta64())}


def _period(encoder: Encoder, value: Any) -> Any:
    return {"$": "Period", "v": encoder.value(value.ordinal), "f": value.freqstr}


def _interval(encoder: Encoder, value: Any) -> Any:
    return {"$": "Interval", "v": encoder.items([value.left, value.right], 2), "c": value.closed}


def _frame(encoder: Encoder, value: Any) -> Any:
    columns = []
    for position in range(value.shape[1]):
        try:
            columns.append(_column(encoder, value.iloc[:, position].array))
        except Fault as fault:
            raise fault.under(f".iloc[:, {position}]")  # noqa: B904 - the same fault, with its path
    index, names = _index(encoder, value.index), _index(encoder, value.columns)
    return {"$": "DataFrame", "v": columns, "i": index, "c": names}


def _series(encoder: Encoder, value: Any) -> Any:
    name = encoder.fields({"name": value.name})["name"]
    column = _column(encoder, value.array)
    return {"$": "Series", "v": column, "i": _index(encoder, value.index), "n": name}


def _index(encoder: Encoder, value: Any) -> dict[str, Any]:
    encoder.expect(*_INDEX_COST)
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.MultiIndex):
        levels = [_index(encoder, level) for level in value.levels]
        codes = [encoder.value(_plain(code)) for code in value.codes]
        names = encoder.items(list(value.names), len(value.names))
        return {"k": "multi", "l": levels, "c": codes, "n": names}
    name = encoder.fields({"name": value.name})["name"]
    if isinstance(value, pandas.RangeIndex):
        return {"k": "range", "v": [value.start, value.stop, value.step], "n": name}
    frequency = getattr(value, "freqstr", None)
    return {"k": "index", "v": _column(encoder, value.array), "n": name, "f": frequency}


def _plain(array: Any) -> Any:
    return sys.modules["numpy"].asarray(array)


def _column(encoder: Encoder, array: Any) -> dict[str, Any]:
    """Encode a pandas array by its dtype."""
    encoder.expect(*_COLUMN_COST)
    pandas, numpy = sys.modules["pandas"], sys.modules["numpy"]
    dtype = array.dtype
    # pandas wraps numpy's dtypes; the wrapper's name changed with pandas 2.1.
    if isinstance(dtype, numpy.dtype) or type(dtype).__name__ in ("NumpyEADtype", "PandasDtype"):
        return {"k": "numpy", "v": encoder.value(numpy.asarray(array))}
    if isinstance(dtype, pandas.DatetimeTZDtype):
        moments = pandas.DatetimeIndex(array).tz_convert("UTC").tz_localize(None)
        zone = encode_zone(dtype.tz, dtype.tz.utcoffset(None))
        return {"k": "zoned", "v": encoder.value(_plain(moments)), "z": zone}
    if isinstance(dtype, pandas.CategoricalDtype):
        encoder.expect(*_CATEGORY_COST)
        codes = encoder.value(_plain(array.codes))
        categories = _index(encoder, array.categories)
        return {"k": "category", "v": codes, "c": categories, "o": bool(array.ordered)}
    if isinstance(dtype, pandas.StringDtype):
        missing = "nan" if dtype.na_value is not pandas.NA else "NA"
        texts = [None if gone else text for text, gone in zip(array, array.isna(), strict=True)]
        return {"k": "string", "v": encoder.items(texts, len(texts)), "n": missing}
    if isinstance(dtype, pandas.PeriodDtype):
        return {
            "k": "period",
            "v": encoder.value(_plain(array.asi8)),
            "f": str(dtype)[len("period[") : -1],
        }
    if isinstance(dtype, pandas.IntervalDtype):
        ends = [_index(encoder, pandas.Index(end)) for end in (array.left, array.right)]
        return {"k": "interval", "v": ends, "c": dtype.closed}
    if _NULLABLE.fullmatch(str(dtype)):
        values = array.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        mask = _plain(array.isna())
        return {"k": str(dtype), "v": encoder.value(values), "n": encoder.value(mask)}
    raise Fault(
        f"a column of dtype {dtype} cannot be encoded; convert it to a numpy or string dtype"
    )


def _timestamp_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode a Timestamp with its unit and zone."""
    pandas, moment = need_library("pandas"), decoder.value(tree["v"])
    if getattr(getattr(moment, "dtype", None), "kind", "") != "M":
        raise Fault("a Timestamp is made from a datetime64")
    stamp, zone = pandas.Timestamp(moment), decode_zone(decoder, tree["z"])
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(zone)


def _pandas_timedelta_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode a Timedelta."""
    pandas, span = need_library("pandas"), decoder.value(tree["v"])
    if getattr(getattr(span, "dtype", None), "kind", "") != "m":
        raise Fault("a Timedelta is made from a timedelta64")
    return pandas.Timedelta(span)


def _period_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode a Period."""
    ordinal = decoder.value(tree["v"])
    if type(ordinal) is not int or not -(1 << 63) <= ordinal < 1 << 63:
        raise Fault("a Period is made from an int of 64 bits")
    return need_library("pandas").Period(ordinal=ordinal, freq=_frequency(decoder, tree["f"]))


def _interval_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode an Interval."""
    left, right = decoder.items(list_of(tree["v"], 2))
    return need_library("pandas").Interval(left, right, closed=_check_side(tree["c"]))


def _frame_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode a DataFrame; its columns are joined by position, so names may repeat."""
    pandas = need_library("pandas")
    trees = tree["v"]
    if type(trees) is not list:
        raise Fault("the columns of a DataFrame are a list")
    names = _index_of(decoder, tree["c"], len(trees))
    if len(names) != len(trees):
        raise Fault("a DataFrame has a name for each column")
    arrays = [_column_of(decoder, column) for column in trees]
    index = _index_of(decoder, tree["i"], len(arrays[0]) if arrays else 0)
    if any(len(array) != len(index) for array in arrays):
        raise Fault("the columns of a DataFrame are as long as its index")
    columns = {i: pandas.Series(a, index=index, dtype=a.dtype) for i, a in enumerate(arrays)}
    frame = pandas.DataFrame(columns, index=index)
    frame.columns = names
    return frame


def _series_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode a Series."""
    pandas = need_library("pandas")
    array = _column_of(decoder, tree["v"])
    index = _index_of(decoder, tree["i"], len(array))
    name = decoder.value(tree["n"])
    return pandas.Series(array, index=index, dtype=array.dtype, name=name)


def _index_of(decoder: Decoder, tree: Any, covered: int = 0) -> Any:
    """Decode an Index of any kind; ``covered`` of its items are already counted as data."""
    pandas = need_library("pandas")
    decoder.charge(*_INDEX_COST)
    index_type = tree.get("k") if type(tree) is dict else None
    if index_type == "multi" and set(tree) == {"k", "l", "c", "n"}:
        if type(tree["l"]) is not list:
            raise Fault("the levels of a MultiIndex are a list")
        levels = [_index_of(decoder, level) for level in tree["l"]]
        codes = [_flat(decoder, code, "iu") for code in list_of(tree["c"], len(levels))]
        names = decoder.items(list_of(tree["n"], len(levels)))
        for level, code in zip(levels, codes, strict=True):
            _check_unique(decoder, level)
            if len(code) != len(codes[0]) or _outside(code, len(level)):
                raise Fault("the codes of a MultiIndex have one length and are those of its levels")
        # pandas would check the levels by hashes, which whoever made the data can make equal.
        return pandas.MultiIndex(levels=levels, codes=codes, names=names, verify_integrity=False)
    if index_type == "range" and set(tree) == {"k", "v", "n"}:
        start, stop, step = list_of(tree["v"], 3)
        if not all(type(part) is int for part in (start, stop, step)):
            raise Fault("a RangeIndex is made from ints")
        # A few digits describe any number of rows, which many operations materialise.
        decoder.charge_items(max(0, len(range(start, stop, step)) - covered))
        return pandas.RangeIndex(start, stop, step, name=decoder.value(tree["n"]))
    if index_type == "index" and set(tree) == {"k", "v", "n", "f"}:
        array = _column_of(decoder, tree["v"])
        if array.dtype.kind == "O" and isinstance(array, need_library("numpy").ndarray):
            for item in array:
                hash(item)  # pandas would accept it, and fail later when the index is used
        index = pandas.Index(array, dtype=array.dtype, name=decoder.value(tree["n"]))
        if tree["f"] is not None and isinstance(
            index, (pandas.DatetimeIndex, pandas.TimedeltaIndex)
        ):
            frequency = _frequency(decoder, tree["f"])
            decoder.charge(100_000 + len(index) * (50 if _FIXED.fullmatch(frequency) else 20_000))
            index.freq = frequency
        return index
    raise Fault("not an index")


def _column_of(decoder: Decoder, tree: Any) -> Any:
    """Decode the array of one column: a one-dimensional ndarray, or a pandas array."""
    pandas = need_library("pandas")
    column_type = tree.get("k") if type(tree) is dict else None
    if type(column_type) is not str:
        raise Fault("not a column")
    decoder.charge(*_COLUMN_COST)
    values = tree.get("v")
    match column_type, "".join(sorted(tree.keys() - {"k"})):
        case "numpy", "v":
            return _flat(decoder, values)
        case "zoned", "vz":
            zone, moments = decode_zone(decoder, tree["z"]), _flat(decoder, values, "M")
            return pandas.DatetimeIndex(moments).tz_localize("UTC").tz_convert(zone).array
        case "category", "cov":
            codes, categories = _flat(decoder, values, "i"), _index_of(decoder, tree["c"])
            return _categorical(decoder, codes, categories, tree["o"] is True)
        case "string", "nv":
            texts = decoder.items(values) if type(values) is list else [0]
            if not set(map(type, texts)) <= {str, type(None)}:
                raise Fault("not every item of a string column is a string")
            return _strings(pandas, texts, tree["n"])
        case "period", "fv":
            dtype = pandas.PeriodDtype(_frequency(decoder, tree["f"]))
            return pandas.arrays.PeriodArray(_flat(decoder, values, "i"), dtype=dtype)
        case "interval", "cv":
            left, right = (_index_of(decoder, end) for end in list_of(values, 2))
            return pandas.arrays.IntervalArray.from_arrays(
                left, right, closed=_check_side(tree["c"])
            )
        case _, "nv" if _NULLABLE.fullmatch(column_type):
            mask = _flat(decoder, tree["n"], "b")
            decoder.charge(50 * len(mask), 20 * len(mask))
            array = pandas.array(_flat(decoder, values, "biuf"), dtype=column_type)
            array[mask] = pandas.NA
            return array
    raise Fault("not a column")


def _categorical(decoder: Decoder, codes: Any, categories: Any, ordered: bool) -> Any:
    decoder.charge(*_CATEGORY_COST)
    pandas = need_library("pandas")
    if categories.hasnans or isinstance(categories, pandas.MultiIndex):
        raise Fault("categories are values of one level, and none is missing")
    _check_unique(decoder, categories)
    if _outside(codes, len(categories)):
        raise Fault("the codes of a categorical are those of its categories")
    # As pandas itself restores them: its constructors check the categories by hashes, which whoever
    # made the data can make equal.
    dtype = pandas.CategoricalDtype.__new__(pandas.CategoricalDtype)
    dtype.__setstate__({"categories": categories, "ordered": ordered})
    array = pandas.Categorical.__new__(pandas.Categorical)
    smallest = need_library("numpy").min_scalar_type(-2 - len(categories))
    array.__setstate__((codes.astype(smallest), dtype, {}))
    return array


def _outside(codes: Any, size: int) -> bool:
    """Tell whether a code is not that of an item, or -1 for none."""
    return bool(len(codes)) and not -1 <= int(codes.min()) <= int(codes.max()) < size


def _check_unique(decoder: Decoder, index: Any) -> None:
    """Reject an index with equal items, by sorting or by Python's hashes, which are counted."""
    pandas, numpy = need_library("pandas"), need_library("numpy")
    if isinstance(index, pandas.RangeIndex):
        return
    if isinstance(index, pandas.IntervalIndex):
        keys = [_sortable(index.left), _sortable(index.right)]
    else:
        keys = [_sortable(index)]
    if any(key is None for key in keys):
        fill(decoder, set(), list(index))
        return
    order = numpy.lexsort(keys)
    same = numpy.ones(max(0, len(index) - 1), dtype=bool)
    for key in keys:
        ordered = key[order]
        same &= ordered[1:] == ordered[:-1]
    if same.any():
        raise Fault("duplicate keys or elements")


def _sortable(index: Any) -> Any:
    """Return the numbers of an index, or ``None`` if it has other items."""
    moments = getattr(index, "asi8", None)
    if moments is not None:
        return moments
    array = _plain(index)
    return array if array.dtype.kind in "biufcmM" else None


def _strings(pandas: Any, texts: list[Any], missing: Any) -> Any:
    if missing == "nan":
        try:
            return pandas.array(texts, dtype=pandas.StringDtype(na_value=float("nan")))
        except TypeError:  # pandas before 3 does not have this dtype; its strings are objects
            return pandas.Series(texts, dtype=object).to_numpy()
    return pandas.array(texts, dtype="string")


def _flat(decoder: Decoder, tree: Any, kinds: str = "biufcSUMmOT") -> Any:
    array = decoder.value(tree)
    dtype = getattr(array, "dtype", None)
    if getattr(array, "ndim", 0) != 1 or getattr(dtype, "kind", " ") not in kinds:
        raise Fault("expected an array of one dimension")
    return array


def _frequency(decoder: Decoder, text: Any) -> str:
    decoder.charge(40_000, 500)
    if type(text) is not str or not _FREQUENCY.fullmatch(text):
        raise Fault("not a permitted frequency")
    return text


def _check_side(text: Any) -> str:
    if text not in _CLOSED:
        raise Fault("not a valid closed side of an interval")
    return str(text)


ENCODER_FINDERS.append(pandas_encoder)
TAGS.update(
    {
        "NaT": row(lambda _, __: need_library("pandas").NaT, "", work=5_000),
        "NA": row(lambda _, __: need_library("pandas").NA, "", work=5_000),
        "Timestamp": row(_timestamp_of, "vz", work=10_000),
        "Timedelta": row(_pandas_timedelta_of, work=10_000),
        "Period": row(_period_of, "vf", work=10_000),
        "Interval": row(_interval_of, "vc", work=10_000),
        "DataFrame": row(_frame_of, "vic", work=60_000, memory=5_000),
        "Series": row(_series_of, "vin", work=40_000, memory=2_000),
        "Index": row(lambda d, t: _index_of(d, t["v"]), work=5_000),
        "column": row(lambda d, t: _column_of(d, t["v"]), work=5_000),
    }
)
