"""Hostile tables and columns of polars are faults; codec_values has those that cross."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from background import run_python

from smolagents_fork import codec
from smolagents_fork.errors import DecodeError, EncodeError


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
