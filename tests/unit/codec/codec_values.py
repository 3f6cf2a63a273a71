"""Values for the codec's tests, and an equality that distinguishes types, NaN and -0.0."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import math
import pathlib
import uuid
import zoneinfo
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import PIL.Image
import polars as pl
import polars.testing
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 0


@dataclasses.dataclass(frozen=True)
class Derived:
    base: int
    double: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", self.base * 2)


class Pair(NamedTuple):
    left: Any
    right: Any


class Colour(enum.Enum):
    RED = 1
    GREEN = "g"


class Level(enum.IntEnum):
    LOW = 1


class Flags(enum.Flag):
    A = 1
    B = 2


CLASSES = (Point, Derived, Pair, Colour, Level, Flags)

any_text = st.text(alphabet=st.characters(codec=None), max_size=20) | st.text(
    alphabet=st.sampled_from('a\ud83d\ude00\udfff\x00"\\$é'), max_size=6
)
PARIS = zoneinfo.ZoneInfo("Europe/Paris")
ZONES = st.sampled_from(
    [
        None,
        dt.timezone.utc,
        dt.timezone(dt.timedelta(hours=-5, minutes=-30)),
        PARIS,
    ]
)
numbers = (
    st.integers()
    | st.integers(min_value=-(1 << 300), max_value=1 << 300)
    | st.floats()
    | st.complex_numbers()
    | st.decimals()
    | st.fractions()
)
hashables = st.deferred(
    lambda: (
        st.none()
        | st.booleans()
        | st.integers()
        | any_text
        | st.binary(max_size=10)
        | st.dates()
        | st.datetimes(timezones=ZONES)
        | st.times(timezones=st.sampled_from([None, dt.timezone.utc]))
        | st.timedeltas()
        | st.uuids()
        | st.sampled_from([Colour.RED, Colour.GREEN, Level.LOW, Flags.A, Flags.A | Flags.B])
        | st.tuples(st.integers(), any_text)
        | st.frozensets(st.integers(), max_size=3)
    )
)
_arrays = hnp.arrays(
    dtype=hnp.scalar_dtypes() | hnp.unicode_string_dtypes(max_len=5) | hnp.byte_string_dtypes(),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
leaves = (
    hashables
    | numbers
    | st.binary(max_size=30).map(bytearray)
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 5))
    | st.builds(slice, st.none() | st.integers(), st.none() | any_text)
    | any_text.filter(lambda t: "\0" not in t).map(pathlib.Path)
    | _arrays
    | hnp.arrays(dtype=hnp.scalar_dtypes(), shape=()).map(lambda a: a[()])
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(any_text | st.just("$"), inner, max_size=4)
        | st.dictionaries(hashables, inner, max_size=3)
        | st.sets(hashables, max_size=4)
        | st.lists(inner, max_size=3).map(collections.deque)
        | st.builds(Point, inner, inner)
        | st.builds(Pair, inner, inner)
    ),
    max_leaves=12,
)


def _image(mode: str) -> PIL.Image.Image:
    image = PIL.Image.new(mode, (3, 2))
    image.putpixel((1, 1), 1 if len(image.getbands()) == 1 else tuple(range(len(image.getbands()))))
    return image


MOMENT = dt.datetime(2024, 2, 29, 12, 30, 0, 7, dt.timezone.utc)
POLARS: dict[str, pl.Series] = {
    "ints": pl.Series([1, None, -3]),
    "many ints": pl.Series(range(1000)),
    "small ints": pl.Series([1, 255, None], dtype=pl.UInt8),
    "large ints": pl.Series([2**64 - 1], dtype=pl.UInt64),
    "floats": pl.Series([1.5, None, float("nan"), float("inf")]),
    "short floats": pl.Series([1.1, -2.2], dtype=pl.Float32),
    "texts": pl.Series(["a", None, "\u00e9", ""]),
    "bytes": pl.Series([b"\x00\xff", None]),
    "flags": pl.Series([True, None, False]),
    "nothing": pl.Series([None, None]),
    "empty": pl.Series([], dtype=pl.String),
    "days": pl.Series([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
    "times": pl.Series([dt.time(23, 59, 59, 999_999), None]),
    "spans": pl.Series([dt.timedelta(days=-1, microseconds=1), None]),
    "moments": pl.Series([dt.datetime(1900, 1, 1), None]),
    "zoned": pl.Series([MOMENT]).dt.convert_time_zone("Europe/Berlin"),
    "nanoseconds": pl.Series([1, 2], dtype=pl.Int64).cast(pl.Datetime("ns", "UTC")),
    "categories": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "enum": pl.Series(["b", None], dtype=pl.Enum(["a", "b"])),
    "decimals": pl.Series([decimal.Decimal("1.25"), None], dtype=pl.Decimal(10, 2)),
    "lists": pl.Series([[1, None], [], None]),
    "lists of moments": pl.Series([[MOMENT], None]),
    "arrays": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int16, 2)),
    "structs": pl.Series([{"x": 1, "y": ["a"]}, {"x": None, "y": None}]),
    "structs of days": pl.Series([{"day": dt.date(2020, 1, 1), "kind": "b"}]),
}
# One value of each type without a strategy, including edge cases.
SAMPLES: dict[str, Any] = {
    "nan": math.nan,
    "minus zero": -0.0,
    "infinities": [math.inf, -math.inf],
    "2**64 and more": [1 << 63, -(1 << 63), 1 << 64, 3**5000],
    "a million floats": np.linspace(0, 1, 1_000_000),
    "long list of floats": [*map(float, range(100)), math.nan, -0.0],
    "long list of ints": [*range(-50, 50), (1 << 63) - 1, -(1 << 63)],
    "long list with one big int": [*range(50), 1 << 63],
    "long list of bools": [True, False] * 40,
    "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
    "counter": collections.Counter("abca"),
    "default dict": collections.defaultdict(list, {"a": [1]}),
    "deque": collections.deque([1, 2], maxlen=5),
    "pure paths": [pathlib.PurePosixPath("a/b"), pathlib.PureWindowsPath("c:/x")],
    "decimal": [decimal.Decimal("1.10"), decimal.Decimal("sNaN"), decimal.Decimal("-Infinity")],
    "constants": [..., NotImplemented],
    "fraction": fractions.Fraction(1, 3),
    "uuid": uuid.UUID(int=7),
    "folded hour": dt.datetime(
        2024, 10, 27, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("Europe/Paris")
    ),
    "tagged dict": {"$": "tuple", "v": []},
    "str": np.str_("text"),
    "bytes": np.bytes_(b"text"),
    "numpy bool": np.bool_(True),
    "datetime64": [
        np.datetime64("2020-01-01T01"),
        np.datetime64("NaT", "ns"),
        np.timedelta64(3, "us"),
    ],
    "float16": np.float16(1.5),
    "big endian": np.array([1, 2], dtype=">i4"),
    "object array": np.array([[1, "a"], [None, (1, 2)]], dtype=object),
    "structured": np.array([(1, (2.0, 3.0))], dtype=[("a", "i4"), ("b", "f8", (2,))]),
    "structured scalar": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])[0],
    "masked": np.ma.MaskedArray([1.0, 2.0], mask=[True, False]),
    "fortran order": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "empty strings": np.zeros((2, 3), dtype="U0"),
    "dataclass": Point(1, [Point(2)]),
    "derived field": Derived(4),
    "set of enums": {Colour.RED, Flags.A | Flags.B},
    "timestamps": [
        pd.Timestamp("2024-01-01 12:00:00.123456789"),
        pd.Timestamp("2024-10-27 02:30").tz_localize(PARIS, ambiguous=False),
        pd.Timestamp(0, unit="s", tz="UTC").as_unit("s"),
        pd.NaT,
        pd.NA,
        pd.Timedelta("1D 3ns"),
        pd.Period("2024-01", "M"),
        pd.Interval(1, 2, closed="both"),
    ],
    "series": pd.Series([1.5, None], index=["a", "b"], name=("x", 1)),
    "frame": pd.DataFrame(
        {
            "int": [1, 2],
            "text": ["a", None],
            "object": pd.Series([{"k": 1}, "s"], dtype=object),
            "object text": pd.Series(["a", "b"], dtype=object),
            "category": pd.Categorical(["u", "v"], categories=["v", "u"], ordered=True),
            "nullable": pd.array([1, None], dtype="Int64"),
            "nullable bool": pd.array([True, None], dtype="boolean"),
            "string": pd.array(["q", None], dtype="string"),
            "zoned": pd.to_datetime(["2024-01-01", None]).tz_localize(PARIS),
            "period": pd.period_range("2024-01", periods=2, freq="M"),
            "interval": pd.IntervalIndex.from_breaks([0, 1, 2]),
            "delta": pd.to_timedelta([1, 2], unit="h"),
        },
        index=pd.date_range("2024-01-01", periods=2, name="day"),
    ),
    "frame with repeated names": pd.DataFrame(
        [[1, 2.0], [3, 4.0]], columns=["a", "a"], index=[7, 7]
    ),
    "frame without columns": pd.DataFrame(index=[1, 2]),
    "frame without rows": pd.DataFrame({"a": pd.Series([], dtype="f4")}),
    "multi index": pd.DataFrame(
        {("a", 1): [1, 2]}, index=pd.MultiIndex.from_tuples([("p", 1), ("q", 2)], names=["x", None])
    ),
    **{
        f"image {mode}": _image(mode)
        for mode in ("1", "L", "LA", "RGB", "RGBA", "I", "F", "I;16", "CMYK", "YCbCr", "HSV")
    },
    "empty image": PIL.Image.new("RGB", (0, 4)),
    "palette image": _image("RGB").quantize(4),
    **{f"polars {name}": column.alias(name) for name, column in POLARS.items()},
    "polars table": pl.DataFrame([c.alias(n).head(1) for n, c in POLARS.items() if len(c)]),
    "polars table without columns": pl.DataFrame(),
    "polars table without rows": [pl.DataFrame([c.alias(n).head(0) for n, c in POLARS.items()])],
}


def same(left: Any, right: Any) -> bool:
    """Compare value and type recursively; NaN equals NaN."""
    if isinstance(left, PIL.Image.Image):
        pixels = left.mode == right.mode and left.size == right.size
        return (
            pixels and left.tobytes() == right.tobytes() and left.getpalette() == right.getpalette()
        )
    if type(left) is not type(right):
        return False
    if isinstance(left, (pl.DataFrame, pl.Series)):
        compare = getattr(polars.testing, f"assert_{_pandas_kind(left)}_equal")
        compare(left, right)
        return True
    if isinstance(left, (pd.DataFrame, pd.Series, pd.Index)):
        compare = getattr(pd.testing, f"assert_{_pandas_kind(left)}_equal")
        compare(left, right)
        return getattr(left, "freq", None) == getattr(right, "freq", None)
    if isinstance(left, np.ma.MaskedArray):
        return same(left.data, right.data) and same(left.mask, right.mask)
    if isinstance(left, (np.ndarray, np.generic)):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.dtype.hasobject:
            return same(left.tolist(), right.tolist())
        return left.tobytes() == right.tobytes()
    if isinstance(left, float):
        return repr(left) == repr(right)
    if isinstance(left, complex):
        return same(left.real, right.real) and same(left.imag, right.imag)
    if isinstance(left, decimal.Decimal):
        return str(left) == str(right)
    if isinstance(left, slice):
        return same([left.start, left.stop, left.step], [right.start, right.stop, right.step])
    if isinstance(left, (dt.datetime, dt.time)) and left is not pd.NaT:
        return (left.isoformat(), left.fold, left.tzinfo) == (
            right.isoformat(), right.fold, right.tzinfo
        )  # fmt: skip
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, (list, tuple, collections.deque)):
        return len(left) == len(right) and all(map(same, left, right))
    if dataclasses.is_dataclass(left):
        return same(vars(left), vars(right))
    if left is pd.NaT or left is pd.NA:
        return left is right
    return bool(left == right)


def _pandas_kind(value: Any) -> str:
    return {"DataFrame": "frame", "Series": "series"}.get(type(value).__name__, "index")
