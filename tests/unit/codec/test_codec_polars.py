"""Tables and columns of polars cross with their types; hostile ones are faults."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import polars as pl
import pytest
from background import run_python
from polars.testing import assert_frame_equal, assert_series_equal

from smolagents_fork import codec
from smolagents_fork.errors import DecodeError, EncodeError

_MOMENT = dt.datetime(2024, 2, 29, 12, 30, 0, 7, dt.timezone.utc)
COLUMNS: dict[str, pl.Series] = {
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
    "zoned": pl.Series([_MOMENT]).dt.convert_time_zone("Europe/Berlin"),
    "nanoseconds": pl.Series([1, 2], dtype=pl.Int64).cast(pl.Datetime("ns", "UTC")),
    "categories": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "enum": pl.Series(["b", None], dtype=pl.Enum(["a", "b"])),
    "decimals": pl.Series([decimal.Decimal("1.25"), None], dtype=pl.Decimal(10, 2)),
    "lists": pl.Series([[1, None], [], None]),
    "lists of moments": pl.Series([[_MOMENT], None]),
    "arrays": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int16, 2)),
    "structs": pl.Series([{"x": 1, "y": ["a"]}, {"x": None, "y": None}]),
    "structs of days": pl.Series([{"day": dt.date(2020, 1, 1), "kind": "b"}]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_column_keeps_its_values_type_and_name(name):
    column = COLUMNS[name].alias(name)
    for data in (codec.encode(column), codec.encode_message(column)):
        back = codec.decode(data)
        assert back.dtype == column.dtype
        assert_series_equal(back, column)


def test_table_keeps_its_columns_in_order():
    table = pl.DataFrame(
        [column.alias(name).head(1) for name, column in COLUMNS.items() if len(column)]
    )
    assert_frame_equal(codec.decode(codec.encode_message(table)), table)
    assert_frame_equal(codec.decode(codec.encode(pl.DataFrame())), pl.DataFrame())
    nested = {"tables": [table.head(0)]}
    assert_frame_equal(codec.decode(codec.encode(nested))["tables"][0], table.head(0))


def test_what_cannot_cross_is_named():
    column = pl.Series([object()], dtype=pl.Object)
    with pytest.raises(EncodeError, match=r"vars\['a'\]: a column of the type Object cannot"):
        codec.encode(pl.DataFrame({"a": column}), path="vars")
    with pytest.raises(EncodeError, match=r"send what its \.collect\(\) returns"):
        codec.encode(pl.DataFrame({"a": [1]}).lazy())


def series(described: Any, values: Any, name: Any = "a") -> bytes:
    return json.dumps({"$": "pl.Series", "n": name, "t": described, "v": values}).encode()


@pytest.mark.parametrize(
    "data",
    [
        series("Object", [1]),
        series("read_csv", ["/etc/passwd"]),
        series("__class__", []),
        series(["Datetime", "us", "../../etc/passwd"], [1]),
        series(["Datetime", "h", None], [1]),
        series(["Struct", [["x", "Int64"], ["x", "Int64"]]], [{"x": 1}]),
        series(["Struct", []], []),
        series(["Array", "Int64", -1], []),
        series(["Decimal", 99, 1], []),
        series([], []),
        series([["Int64"]], []),
        series("Int8", [300]),
        series("Int64", ["1"]),
        series("Int64", 5),
        series("Int64", [1], name=5),
        series(["Enum", ["a"]], ["b"]),
        json.dumps({"$": "pl.DataFrame", "v": [1]}).encode(),
        b'{"$": "pl.DataFrame", "v": ['
        + b",".join([series("Int64", [1]), series("Int64", [1])])
        + b"]}",
        b'{"$": "pl.DataFrame", "v": ['
        + b",".join([series("Int64", [1]), series("Int64", [1, 2], "b")])
        + b"]}",
    ],
)
def test_wrong_shape_is_a_fault(data):
    with pytest.raises(DecodeError):
        codec.decode(data)


def test_deep_type_is_a_fault():
    described: Any = "Int64"
    for _ in range(50):
        described = ["List", described]
    with pytest.raises(DecodeError, match="not the type of a column"):
        codec.decode(series(described, []))


@pytest.mark.parametrize(
    "described",
    [
        ["Array", "Int64", 1_000_000],
        ["Array", ["Array", "Int64", 10_000], 10_000],
        ["List", ["Array", "Int64", 1_000_000]],
        ["Struct", [[f"f{number}", ["Array", "Int64", 100_000]] for number in range(50)]],
    ],
)
def test_nulls_of_wide_types_are_charged_before_they_are_made(described):
    values: list[Any] = [None] * 10_000
    values = [values] if described[0] == "List" else values
    with pytest.raises(DecodeError, match="takes more work or memory than"):
        codec.decode(series(described, values))


def test_panic_of_the_library_is_a_fault(monkeypatch):
    def panic(*_arguments: Any, **_keywords: Any) -> Any:
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl.Series, "cast", panic)
    with pytest.raises(DecodeError, match="polars cannot create this column: index out of bounds"):
        codec.decode(series("Int64", [1]))


def test_without_polars_a_table_is_a_fault_that_names_it():
    program = (
        "import sys\nsys.modules['polars'] = None\n"
        "from smolagents_fork import codec\n"
        "from smolagents_fork.errors import DecodeError\n"
        f"try: codec.decode({series('Int64', [1])!r})\n"
        "except DecodeError as error: print(error)\n"
        "assert codec.decode(codec.encode([1])) == [1]\n"
    )
    words = "value: polars is needed to decode this: No module named 'polars'\n"
    assert run_python(program) == words
