"""Objects of attrs and pydantic cross by their fields; other mappings and views as plain data."""

from __future__ import annotations

import collections
import types
from typing import Any

import attrs
import pydantic
import pytest
from requests.structures import CaseInsensitiveDict

from smolagents_fork import codec
from smolagents_fork.errors import EncodeError


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


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, collections.UserDict])
def test_views_become_lists(kind: Any) -> None:
    value = kind(a=1, b=[2])
    views = [value.keys(), value.values(), value.items()]
    assert codec.decode(codec.encode(views)) == [["a", "b"], [1, [2]], [("a", 1), ("b", [2])]]


@pytest.mark.parametrize(
    "kind",
    [collections.UserDict, collections.ChainMap, types.MappingProxyType, CaseInsensitiveDict],
)
def test_mappings_of_libraries_become_dicts(kind: Any) -> None:
    value = codec.decode(codec.encode([kind({"Name": [1], "b": kind({})})]))
    assert value == [{"Name": [1], "b": {}}]
    assert type(value[0]) is dict


def test_mapping_that_contains_itself_is_refused() -> None:
    value: Any = collections.UserDict()
    value["self"] = value
    with pytest.raises(EncodeError, match=r"value\['self'\]: this UserDict contains itself"):
        codec.encode(value)
