"""Objects of attrs and pydantic cross by their fields; views of a dict become lists."""

from __future__ import annotations

import collections
from typing import Any

import attrs
import pydantic
import pytest

from smolagents_fork import codec
from smolagents_fork.errors import DecodeError


@attrs.define
class Slotted:
    x: int
    y: list[int] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.y = [*self.y, self.x]


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


CLASSES = (Slotted, Frozen, Order, Open)
VALUES = (
    Slotted(1),
    Frozen("a"),
    Order(orderNumber=3, parts=[Slotted(2)]),
    Open(known=2, more=[1, {"a": 2}]),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_object_is_made_of_its_fields_where_its_class_is_registered(value: Any) -> None:
    data = codec.encode(value)
    assert codec.decode(data, classes=CLASSES) == value
    record = codec.decode(data)
    assert isinstance(record, codec.Record)
    assert codec.decode(codec.encode(record), classes=CLASSES) == value


def test_record_shows_the_fields() -> None:
    record: Any = codec.decode(codec.encode(VALUES[2]))
    assert (record.number, record.parts[0].y) == (3, [2])
    assert repr(record) == "Order(number=3, parts=[Slotted(x=2, y=[2])])"


def test_neither_init_nor_validators_see_the_data() -> None:
    data = codec.encode(Order.model_construct(number=-1))
    assert codec.decode(data, classes=CLASSES).number == -1
    made = codec.decode(codec.encode(Slotted(1)), classes=CLASSES)
    assert made.y == [1]


@pytest.mark.parametrize("value", VALUES[:3], ids=lambda value: type(value).__name__)
def test_other_fields_than_those_of_the_class_are_refused(value: Any) -> None:
    data = codec.encode(value).replace(b'"v":{', b'"v":{"other":1,')
    with pytest.raises(DecodeError, match="differ from those of the registered class"):
        codec.decode(data, classes=CLASSES)


def test_argument_of_the_constructor_is_not_given_by_the_data() -> None:
    data = codec.encode(VALUES[3]).replace(b'"more"', b'"_fields_set"')
    with pytest.raises(DecodeError, match="differ from those of the registered class"):
        codec.decode(data, classes=CLASSES)


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_views_become_lists(kind: Any) -> None:
    value = kind(a=1, b=[2])
    views = [value.keys(), value.values(), value.items()]
    assert codec.decode(codec.encode(views)) == [["a", "b"], [1, [2]], [("a", 1), ("b", [2])]]
