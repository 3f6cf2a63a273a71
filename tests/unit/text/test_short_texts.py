"""Texts of values on the host cost what the host allows."""

from __future__ import annotations

import dataclasses
import logging
import sys
from types import SimpleNamespace
from typing import Any

import numpy
import pandas
import pytest

from smolagents_fork.codec.types.record_values import Record
from smolagents_fork.text.short_texts import has_moderate_text, limited_text


def doubled() -> list[Any]:
    """Return a list whose text has 2**40 parts."""
    value: list[Any] = []
    for _ in range(40):
        value = [value, value]
    return value


def nested() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@dataclasses.dataclass
class Branch:
    """A node of a tree, whose text is made of its fields."""

    inner: Any
    parent: Branch | None = None


def tree() -> Branch:
    root = Branch([])
    root.inner = [Branch(number, root) for number in range(100)]
    return root


class Page:
    """A part of a large whole, whose text is its own."""

    def __init__(self) -> None:
        self.rows = list(range(1_000_000))
        self.parts = [self, doubled()]

    def __repr__(self) -> str:
        return f"<Page of {len(self.rows)} rows>"


class Untold(Page):
    __repr__ = object.__repr__


class Answering:
    """An object whose items are its attributes, as configurations have them."""

    def __init__(self) -> None:
        self.items = {"a": 1}

    def __getattr__(self, name: str) -> Any:
        return self.items[name]

    def __str__(self) -> str:
        return "a configuration"


def circular() -> dict[str, Any]:
    value: list[Any] = [1]
    value.append((value,))
    return {"value": value}


def many_levels() -> Any:
    codes = [[0, 0]] * 12_000
    index = pandas.MultiIndex([[0]] * 12_000, codes, verify_integrity=False)
    return pandas.DataFrame({"a": [1, 2]}, index=index)


def cell_of(value: Any) -> Any:
    cells = numpy.zeros(2, dtype=object)
    cells[1] = value
    return cells


class Refusing:
    def __str__(self) -> str:
        raise LookupError("no text today")


COSTLY = {
    "shared parts": doubled,
    "nested": nested,
    "value of a key": lambda: {1: (2, doubled())},
    "attribute": lambda: SimpleNamespace(part=doubled()),
    "field": lambda: Branch(doubled()),
    "field of a placeholder": lambda: Record("shop", "Order", {"parts": doubled()}),
    "exception": lambda: ValueError(doubled()),
    "levels of an index": many_levels,
    "levels of columns": lambda: many_levels().T,
    "many small sides": lambda: numpy.zeros((2,) * 22),
    "fields": lambda: numpy.zeros(1000, dtype=[(f"f{i}", "i4") for i in range(999)]),
    "long texts in an array": lambda: numpy.array(["x" * 1_000_000] * 5),
    "cell of an array": lambda: cell_of(doubled()),
    "cell of a table": lambda: pandas.DataFrame({"a": cell_of(doubled())}),
    "cell of a series": lambda: pandas.Series(cell_of(doubled())),
    "many items": lambda: [0] * 3_000_000,
    "many digits": lambda: [int("7" * 4000)] * 10_000,
    "bytes": lambda: b"x" * 10_000_000,
    "table in a list": lambda: [many_levels()],
}


@pytest.mark.parametrize("name", COSTLY)
def test_costly_text_is_a_short_form(name):
    value = COSTLY[name]()
    assert not has_moderate_text(value)
    text = limited_text(value)
    assert text.startswith(f"<{type(value).__name__}, too large for its text: ")
    assert len(text) < 10_000


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, {2}, (None, b"x")]},
        list(range(50_000)),
        numpy.zeros((1000, 1000)),
        numpy.zeros(10**6, dtype=object),
        pandas.DataFrame(numpy.zeros((100_000, 30))),
        pandas.DataFrame(numpy.zeros((2, 20_000))),
        pandas.Series(range(100_000)),
        pandas.MultiIndex.from_product([range(1000), range(100)]),
        SimpleNamespace(a=1),
        [Page()],
        Untold(),
        Answering(),
        tree(),
        circular(),
        logging.getLogger("smolagents_fork"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_ordinary_text_is_that_of_str(value):
    assert has_moderate_text(value)
    assert limited_text(value, sys.maxsize) == str(value)


def test_text_that_fails_says_why():
    assert limited_text(Refusing()) == "<Refusing whose str() raised LookupError: no text today>"
    assert limited_text([10**5000]).startswith("<list whose str() raised ValueError: Exceeds")


def test_text_is_encodable_and_limited():
    assert limited_text("cut \ud83d here") == "cut \ufffd here"
    assert len(limited_text("x" * 10_000_000)) < 60_000


def test_short_form_names_items_and_shape():
    text = limited_text([list(range(1_000_000))])
    assert text == (
        "<list, too large for its text: [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 999990 more]]>"
    )
    assert limited_text(many_levels()) == (
        "<DataFrame, too large for its text: DataFrame of shape (2, 1), "
        "with an index of 12000 levels>"
    )
