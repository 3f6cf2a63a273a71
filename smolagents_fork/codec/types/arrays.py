"""numpy arrays and scalars: raw bytes with a matching dtype and shape."""

from __future__ import annotations

import math
import re
import sys
from typing import Any

from smolagents_fork.codec.decoder import TAGS, Decoder, library_fault, list_of, need_library, row
from smolagents_fork.codec.encoder import ENCODER_FINDERS, Encode, Encoder
from smolagents_fork.codec.limits import Fault

# Kinds for which every bit pattern is a value (except U and b, which are checked), so that bytes
# can be used directly. A dtype string from the data reaches numpy only if it matches.
_RAW_DTYPE = re.compile(r"[<>|][biufcSUMm]\d{1,9}(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")
_MAX_DIMENSIONS = 32  # numpy 1.x; numpy 2 allows 64
# memoryview formats for a side without numpy, which gets plain lists.
_FORMATS = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f4": "f", "f8": "d",
}  # fmt: skip


def encode_array(encoder: Encoder, value: Any) -> dict[str, Any]:
    """Encode an ndarray of any dtype except raw void."""
    numpy = sys.modules["numpy"]
    masked = getattr(getattr(numpy, "ma", None), "MaskedArray", None)
    if masked is not None and isinstance(value, masked):
        mask = numpy.ma.getmaskarray(value)
        parts = [_array(encoder, numpy, value.data), _array(encoder, numpy, mask)]
        return {"$": "masked", "v": parts}
    return _array(encoder, numpy, numpy.asarray(value))


def _numpy_scalar(encoder: Encoder, value: Any) -> dict[str, Any]:
    """Encode a numpy scalar as a zero-dimensional array."""
    return {**_array(encoder, sys.modules["numpy"], sys.modules["numpy"].asarray(value)), "$": "np"}


def _array(encoder: Encoder, numpy: Any, value: Any) -> dict[str, Any]:
    dtype = value.dtype
    shape = list(value.shape)
    if dtype.names is not None:
        columns = {name: _array(encoder, numpy, value[name]) for name in dtype.names}
        return {"$": "ndarray", "d": "fields", "s": shape, "v": list(columns.items())}
    if dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16):
        # The layout of a long double differs between processors.
        raise Fault(f"an array of dtype {dtype} cannot be encoded; convert it to float64")
    if dtype.kind in "SU" and not dtype.itemsize:
        value = value.astype(f"{dtype.kind}1")
        dtype = value.dtype
    if dtype.kind in "biufcSUMm":
        flat = numpy.ascontiguousarray(value).reshape(-1).view("u1")
        return {"$": "ndarray", "d": dtype.str, "s": shape, "v": encoder.raw(flat)}
    if dtype.kind in "OT":
        flat = value.ravel().tolist() if dtype.kind == "T" else list(value.flat)
        return {"$": "ndarray", "d": dtype.kind, "s": shape, "v": encoder.items(flat, len(flat))}
    raise Fault(f"an array of dtype {dtype} cannot be encoded")


def decode_array(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode the output of :func:`encode_array`; nested lists if numpy is not installed."""
    dtype, shape = tree["d"], _shape(tree["s"])
    count = math.prod(shape)
    numpy = numpy_or_none()
    if numpy is None:
        return _as_lists(decoder, dtype, shape, count, tree["v"])
    if dtype == "O":
        items = decoder.items(list_of(tree["v"], count))
        out = numpy.empty(count, dtype=object)
        for position, item in enumerate(items):
            out[position] = item
        return out.reshape(shape)
    if dtype == "T":
        items = decoder.items(list_of(tree["v"], count))
        if not all(isinstance(item, str) for item in items):
            raise Fault("not every item of a string array is a string")
        string_dtype = numpy.dtypes.StringDType() if hasattr(numpy, "dtypes") else object
        return numpy.array(items, dtype=string_dtype).reshape(shape)
    if dtype == "fields":
        return _decode_structured(decoder, numpy, shape, tree["v"])
    return _raw(decoder, numpy, dtype, shape, count, decoder.raw(tree["v"]))


def _numpy_scalar_of(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode the output of :func:`_numpy_scalar`; a Python scalar without numpy."""
    if tree["s"] != []:
        raise Fault("a scalar has no shape")
    array = decode_array(decoder, tree)
    return array[()] if numpy_or_none() is not None else array


def _decode_masked(decoder: Decoder, tree: dict[str, Any]) -> Any:
    """Decode a masked array."""
    parts = decoder.items(list_of(tree["v"], 2))
    numpy = need_library("numpy")
    if not all(isinstance(part, numpy.ndarray) for part in parts) or parts[1].dtype.kind != "b":
        raise Fault("a masked array is data and a mask")
    return numpy.ma.MaskedArray(parts[0], mask=parts[1])


def numpy_or_none() -> Any:
    """Import numpy; ``None`` if it is not installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _shape(data: Any) -> tuple[int, ...]:
    if type(data) is not list or len(data) > _MAX_DIMENSIONS:
        raise Fault(f"a shape is a list of at most {_MAX_DIMENSIONS} sizes")
    if not all(type(size) is int and 0 <= size < 1 << 40 for size in data):
        raise Fault("a shape contains sizes only")
    return tuple(data)


def _raw(
    decoder: Decoder,
    numpy: Any,
    name: Any,
    shape: tuple[int, ...],
    count: int,
    data: bytes | memoryview,
) -> Any:
    if type(name) is not str or not _RAW_DTYPE.fullmatch(name):
        raise Fault("not a permitted dtype")
    dtype = numpy.dtype(name)
    if count * dtype.itemsize != len(data):
        raise Fault(f"shape and dtype need {count * dtype.itemsize} bytes, there are {len(data)}")
    if not dtype.itemsize:
        # numpy would allocate one character for each of these elements: memory without any data.
        raise Fault("a dtype whose elements have no size")
    if not count:
        decoder.charge(0, dtype.itemsize)  # numpy makes room for one
        return numpy.empty(shape, dtype)
    if dtype.kind == "b" and numpy.frombuffer(data, "u1").max() > 1:
        raise Fault("a bool is 0 or 1")
    # A copy: the program may resize an array that owns its data, and the message is freed.
    array = numpy.frombuffer(data, dtype).reshape(shape).copy()
    if dtype.kind == "U":
        points = numpy.frombuffer(data, "<u4" if dtype.str[0] == "<" else ">u4")
        if points.max() > sys.maxunicode:
            raise Fault("a character beyond Unicode")
    return array


def _decode_structured(decoder: Decoder, numpy: Any, shape: tuple[int, ...], data: Any) -> Any:
    if type(data) is not list or not 0 < len(data) <= 1000:
        raise Fault("a structured array has 1 to 1000 fields")
    columns: dict[str, Any] = {}
    decoder.charge(20_000 + 3_000 * len(data), 500 * len(data))
    for pair in data:
        name, tree = list_of(pair, 2)
        column = decoder.value(tree)
        if type(name) is not str or not name or name in columns:
            raise Fault("the names of fields are texts, and unique")
        if not isinstance(column, numpy.ndarray) or column.shape[: len(shape)] != shape:
            raise Fault(f"field {name!r} does not have the array's shape")
        columns[name] = column
    spec = [(name, column.dtype, column.shape[len(shape) :]) for name, column in columns.items()]
    if not numpy.dtype(spec).itemsize:
        raise Fault("a dtype whose elements have no size")
    out = numpy.empty(shape, dtype=spec)
    for name, column in columns.items():
        out[name] = column
    return out


def _as_lists(decoder: Decoder, name: Any, shape: tuple[int, ...], count: int, data: Any) -> Any:
    form = _FORMATS.get(name[1:]) if type(name) is str else None
    if form is None or name[0] == (">" if sys.byteorder == "little" else "<"):
        raise library_fault("numpy")
    raw = decoder.raw(data)
    if count * int(name[2:]) != len(raw):
        raise Fault("shape and dtype do not fit the bytes")
    lists = sum(math.prod(shape[:depth]) for depth in range(1, len(shape)))
    decoder.charge_items(count)
    decoder.charge(50 * count + 1_000 * lists, 40 * count + 100 * lists)
    items: Any = memoryview(raw).cast(form).tolist()  # type: ignore[call-overload]
    for size in reversed(shape[1:]):
        items = [items[i : i + size] for i in range(0, len(items), size)] if size else []
    return items if shape else items[0]


def array_encoder(kind: type) -> Encode | None:
    """Return the encoder for a type of numpy; ``None`` for other types."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if issubclass(kind, getattr(numpy, "ndarray", ())):
        return encode_array
    return _numpy_scalar if issubclass(kind, getattr(numpy, "generic", ())) else None


ENCODER_FINDERS.append(array_encoder)
TAGS.update(
    {
        "ndarray": row(decode_array, "dsv", work=5_000, memory=300),
        "np": row(_numpy_scalar_of, "dsv", work=5_000),
        "masked": row(_decode_masked, work=15_000, memory=700),
    }
)
