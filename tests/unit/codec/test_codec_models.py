"""Objects of attrs and pydantic cross by their fields; views of a dict become lists."""

from __future__ import annotations

import collections
from typing import Any

import attrs
import pydantic
import pytest

from smolagents_fork import codec


@attrs.define
class Slotted:
    x: int
    y: list[int] = attrs.field(factory=list)


@attrs.frozen(slots=False)
class Frozen:
    name: str
    shown: str = attrs.field(init=False, default="shown")


class Order(pydantic.BaseModel):
    number: int = pydantic.Field(alias="orderNumber", gt=0)
    parts: list[Slotted] = []
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True, populate_by_name=False)


class Open(pydantic.BaseModel):
    known: int = 1
    model_config = pydantic.ConfigDict(extra="allow")


VALUES = (
    Slotted(1, [1]),
    Frozen("a"),
    Order(orderNumber=3, parts=[Slotted(2, [2])]),
    Open(known=2, more=[1, {"a": 2}]),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_object_crosses_by_its_fields(value: Any) -> None:
    record = codec.decode(codec.encode(value))
    assert isinstance(record, codec.Record)
    assert all(record[name] == getattr(value, name) for name in record if name != "parts")
    assert codec.decode(codec.encode(record)) == record


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_views_become_lists(kind: Any) -> None:
    value = kind(a=1, b=[2])
    views = [value.keys(), value.values(), value.items()]
    assert codec.decode(codec.encode(views)) == [["a", "b"], [1, [2]], [("a", 1), ("b", [2])]]
