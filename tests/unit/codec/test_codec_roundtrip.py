"""Round trips keep value, type, order and dtype."""

from __future__ import annotations

import ast
import collections
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import numbers
import pathlib
import pickle
import pprint
import types
import uuid
from typing import Any, NamedTuple

import attrs
import codec_values
import numpy as np
import pydantic
import pytest
from background import run_python
from codec_values import CLASSES, SAMPLES, Colour, Derived, Flags, Level, Pair, Point, same, values
from hypothesis import given
from PIL import Image
from requests.structures import CaseInsensitiveDict

from smolagents_fork import codec
from smolagents_fork.errors import DecodeError, EncodeError


@given(values)
def test_any_value_comes_back_as_it_was(value: Any) -> None:
    data = codec.encode(value)
    assert same(codec.decode(data, classes=CLASSES), value)


@pytest.mark.parametrize("name", SAMPLES)
def test_each_kind_comes_back_as_it_was(name: str) -> None:
    value = SAMPLES[name]
    for encode in (codec.encode, codec.encode_message):
        assert same(codec.decode(encode(value), classes=CLASSES), value)
    # A side without the classes has placeholders, which are encoded as what they represent.
    again = codec.encode(codec.decode(codec.encode(value)))
    assert same(codec.decode(again, classes=CLASSES), value)


def test_an_unknown_dataclass_becomes_a_readable_record() -> None:
    record = codec.decode(codec.encode(Point(1, [Point(2, 3)])))
    assert (record.x, record["x"]) == (1, 1)
    assert repr(record) == "Point(x=1, y=[Point(x=2, y=3)])"
    assert isinstance(record, codec.Record)
    assert record == codec.decode(codec.encode(Point(1, [Point(2, 3)])))
    words = r"'Point' record has no field 'z'; dict\(record\) has its fields: x, y$"
    with pytest.raises(AttributeError, match=words):
        _ = record.z
    assert (dict(record), {**record}) == ({"x": 1, "y": record.y},) * 2
    assert list(record) == ["x", "y"]
    assert "x" in dir(record)
    assert dataclasses.is_dataclass(record)
    assert dataclasses.asdict(record) == {"x": 1, "y": [{"x": 2, "y": 3}]}
    assert dataclasses.astuple(record) == (1, [(2, 3)])
    assert pprint.pformat(record, width=5) == repr(record)
    record.x = 5
    assert (record.x, record["x"]) == (5, 5)
    with pytest.raises(AttributeError, match="'Point' record has no field 'z'"):
        record.z = 1


class Line(NamedTuple):
    count: int
    name: str


def test_an_unknown_named_tuple_becomes_a_tuple_with_names() -> None:
    line = codec.decode(codec.encode(Line(2, "tea")))
    count, name = line
    assert (count, name, line[1], line.count, line.name) == (2, "tea", "tea", 2, "tea")
    assert line == (2, "tea")
    assert line < (3, "")
    assert (line._fields, line._asdict()) == (("count", "name"), {"count": 2, "name": "tea"})
    assert repr(line) == str(line) == "Line(count=2, name='tea')"
    for same_line in (copy.deepcopy(line), pickle.loads(pickle.dumps(line))):
        assert (same_line, repr(same_line)) == (line, repr(line))


def test_a_named_tuple_has_no_hidden_fields() -> None:
    data = codec.encode(Line(2, "tea")).replace(b'"count"', b'"_asdict"')
    with pytest.raises(DecodeError, match="fields of a named tuple have public names"):
        codec.decode(data)
    row = codec.decode(codec.encode(collections.namedtuple("Row", "a 1", rename=True)(1, 2)))
    assert row._1 == 2


def test_an_unknown_enum_becomes_a_readable_member() -> None:
    member = codec.decode(codec.encode({Colour.RED: 1}))
    assert [(m.name, m.value) for m in member] == [("RED", 1)]
    assert repr(next(iter(member))) == "<Colour.RED: 1>"
    assert str(next(iter(member))) == str(Colour.RED)
    assert next(iter(member)) != 1


class Mode(str, enum.Enum):
    FAST = "fast"


def test_an_unknown_member_of_text_or_of_whole_numbers_is_its_value() -> None:
    mode, level = codec.decode(codec.encode([Mode.FAST, Level.LOW]))
    assert (mode.name, mode.value, level.name, level.value) == ("FAST", "fast", "LOW", 1)
    assert mode == "fast"
    assert {"fast": 1}[mode] == 1
    assert f"{mode} {level} {level + 1} {[0, 1][level]}" == "fast 1 2 1"
    assert (repr(mode), json.dumps([mode, level])) == ("<Mode.FAST: 'fast'>", '["fast", 1]')
    for members in (copy.deepcopy([mode, level]), pickle.loads(pickle.dumps([mode, level]))):
        assert members == [mode, level]
        assert [repr(member) for member in members] == ["<Mode.FAST: 'fast'>", "<Level.LOW: 1>"]


def test_a_class_is_only_made_when_it_is_registered() -> None:
    data = codec.encode([Pair(1, 2), Colour.GREEN, Flags.A | Flags.B, Derived(3)])
    assert codec.decode(data, classes=CLASSES) == [Pair(1, 2), Colour.GREEN, Flags(3), Derived(3)]
    strangers = codec.decode(data)
    names = ["TupleRecord", "Member", "Member", "Record"]
    assert [type(value).__name__ for value in strangers] == names


def test_a_record_can_be_copied_and_pickled_probes_do_not_recurse() -> None:
    record = codec.decode(codec.encode(Point(1)))
    with pytest.raises(AttributeError):
        record.__deepcopy__  # noqa: B018 - the probe itself is the test
    with pytest.raises(AttributeError):
        codec.Record.__new__(codec.Record)._module  # noqa: B018 - an empty one, as copy makes it
    for again in (copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert (again, vars(again)) == (record, vars(record))
        assert codec.encode(again) == codec.encode(record)


def test_fields_of_a_record_are_in_its_dict_under_any_name() -> None:
    record = codec.decode(
        codec.encode(dataclasses.make_dataclass("Odd", ["x", "keys", "items"])(1, 2, 3))
    )
    assert vars(record) == {"x": 1, "keys": 2, "items": 3}
    vars(record)["x"] = 4
    record.items = 5
    assert (record.x, record["items"], list(record)) == (4, 5, ["x", "keys", "items"])
    with pytest.raises(AttributeError, match=r"'Odd' record has no field 'y'; .*: x, keys, items$"):
        record.y = 1


@numbers.Integral.register
class Whole:
    """A number of a library that registers its types, as those of sympy and gmpy2 do."""

    def __int__(self) -> int:
        return 4


@numbers.Rational.register
class Third:
    numerator, denominator = 1, 3


def test_exact_numbers_of_libraries_are_those_of_python() -> None:
    values = codec.decode(codec.encode([Whole(), Third()]))
    assert same(values, [4, fractions.Fraction(1, 3)])


def moved() -> Any:
    ordered = collections.OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    return ordered


ZONE = dt.timezone.utc
BASES: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    ("truth", ("truth",), {}),
    (7, (7,), {}),
    (1 << 70, (1 << 70,), {}),
    (2.5, (2.5,), {}),
    (complex(-0.0, 3), (complex(-0.0, 3),), {}),
    (b"x", (b"x",), {}),
    (bytearray(b"y"), (b"y",), {}),
    ([1], ([1],), {}),
    ((1, 2), ((1, 2),), {}),
    (collections.deque([1, 2], 3), ([1, 2], 3), {}),
    (moved(), (moved(),), {}),
    (collections.Counter("aab"), ("aab",), {}),
    (collections.defaultdict(list, a=[1]), (list,), {"a": [1]}),
    ({"a": 1}, ({"a": 1},), {}),
    (frozenset({1}), ({1},), {}),
    ({1, 2}, ({1, 2},), {}),
    (
        dt.datetime(2020, 1, 2, 3, 4, 5, 6, ZONE, fold=1),
        (2020, 1, 2, 3, 4, 5, 6, ZONE),
        {"fold": 1},
    ),
    (dt.date(2020, 1, 2), (2020, 1, 2), {}),
    (dt.time(1, 2, 3, 4, ZONE, fold=1), (1, 2, 3, 4, ZONE), {"fold": 1}),
    (dt.timedelta(1, 2, 3), (1, 2, 3), {}),
    (decimal.Decimal("1.50"), ("1.50",), {}),
    (fractions.Fraction(1, 3), (1, 3), {}),
    (uuid.UUID(int=5), (str(uuid.UUID(int=5)),), {}),
    (pathlib.PurePosixPath("/a/b"), ("/a/b",), {}),
]


@pytest.mark.parametrize(("value", "args", "kwargs"), BASES, ids=lambda v: type(v).__name__)
def test_instance_of_a_subclass_is_encoded_as_its_base(value: Any, args: Any, kwargs: Any) -> None:
    derived: Any = type("Derived", (type(value),), {})
    result = codec.decode(codec.encode(derived(*args, **kwargs)))
    assert type(result) is type(value)
    assert (result, repr(result)) == (value, repr(value))


def test_shared_references_are_written_twice() -> None:
    shared = [1]
    left, right = codec.decode(codec.encode([shared, shared]))
    assert left == right == [1]
    assert left is not right


def test_the_sandbox_has_the_same_codec() -> None:
    # -I excludes this project: the child has only the standard library and installed packages.
    samples = {name: codec.encode(value) for name, value in SAMPLES.items()}
    program = (
        "import sys, json\n"
        "source, samples = json.load(sys.stdin)\n"
        "own = {'__name__': 'sandbox_codec'}\n"
        "exec(compile(source, 'sandbox_codec', 'exec'), own)\n"
        "assert not any(name.startswith('smolagents') for name in sys.modules)\n"
        "again = {n: own['encode'](own['decode'](d)).decode() for n, d in samples.items()}\n"
        "json.dump(again, sys.stdout)\n"
    )
    sent = json.dumps([codec.sandbox_source(), {n: d.decode() for n, d in samples.items()}])
    printed = run_python(program, switches=("-I", "-W", "error"), input=sent)
    for name, text in json.loads(printed).items():
        assert same(codec.decode(text, classes=CLASSES), SAMPLES[name]), name


def test_strings_without_room_get_room_for_one_character() -> None:
    empty = np.ndarray((2,), "U0", buffer=b"")
    assert empty.dtype.itemsize == 0
    assert codec.decode(codec.encode(empty)).tolist() == ["", ""]


def test_a_name_has_one_meaning_in_the_sandbox_source() -> None:
    # The modules become one: a later function of the same name would replace an earlier one.
    tree = ast.parse(codec.sandbox_source())
    names = [n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    names += [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    assert sorted(names) == sorted(set(names))
    assert {"encode", "decode", "EncodeError", "DecodeError"} <= set(names)


def test_the_sandbox_needs_no_optional_library() -> None:
    program = (
        "import sys, json\n"
        "for name in ('numpy', 'pandas', 'PIL'): sys.modules[name] = None\n"
        "own = {'__name__': 'sandbox_codec'}\n"
        "exec(compile(sys.stdin.read(), 'sandbox_codec', 'exec'), own)\n"
        "decode, encode = own['decode'], own['encode']\n"
        "assert decode(encode({'a': (1, 2)})) == {'a': (1, 2)}\n"
        f"array, scalar, frame, image = {[codec.encode(v) for v in _OPTIONAL]!r}\n"
        "assert decode(array) == [[0, 1, 2], [3, 4, 5]], decode(array)\n"
        "assert decode(scalar) == 1.5\n"
        "for data, name in ((frame, 'pandas'), (image, 'PIL')):\n"
        "    try: decode(data)\n"
        "    except own['DecodeError'] as error: assert name + ' is needed' in str(error), error\n"
        "    else: raise AssertionError(name)\n"
    )
    run_python(program, switches=("-I", "-W", "error"), input=codec.sandbox_source())


_OPTIONAL = [
    np.arange(6).reshape(2, 3),
    np.float64(1.5),
    SAMPLES["frame"],
    SAMPLES["image RGB"],
]


def test_the_test_classes_are_what_they_seem() -> None:
    # same() must see differences, or every test here would pass.
    assert not same([1], [1.0])
    assert not same([True], [1])
    assert not same(np.zeros(1, "f4"), np.zeros(1, "f8"))
    assert not same(0.0, -0.0)
    assert not same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same(Point(1), dataclasses.replace(Point(1), x=2))
    assert codec_values.Level.LOW in CLASSES[4]


def test_figures_cross_as_pictures_wherever_they_are():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots(figsize=(1, 1))
    try:
        axes.plot([1, 2])
        back = codec.decode(codec.encode_message({"figures": [figure], "n": 1}))
    finally:
        pyplot.close(figure)
    (picture,) = back["figures"]
    assert isinstance(picture, Image.Image)
    assert min(picture.size) > 20


def test_figure_that_cannot_be_drawn_is_a_fault():
    class Broken:
        def savefig(self, *_arguments, **_keywords):
            raise OSError("no disk")

    with pytest.raises(EncodeError, match=r"value\[0\]: this Broken cannot be drawn here"):
        codec.encode([Broken()])


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


MODELS = (
    Slotted(1, [1]),
    Frozen("a"),
    Order(orderNumber=3, parts=[Slotted(2, [2])]),
    Open(known=2, more=[1, {"a": 2}]),
)


@pytest.mark.parametrize("value", MODELS, ids=lambda value: type(value).__name__)
def test_object_crosses_by_its_fields(value: Any) -> None:
    record = codec.decode(codec.encode(value))
    assert isinstance(record, codec.Record)
    assert all(record[name] == getattr(value, name) for name in record if name != "parts")
    assert codec.decode(codec.encode(record)) == record


class Computing(pydantic.BaseModel):
    number: int

    @pydantic.computed_field
    @property
    def double(self) -> int:
        return self.number * 2

    @pydantic.computed_field
    @property
    def failing(self) -> float:
        return self.number / 0

    @pydantic.computed_field
    @property
    def function(self) -> object:
        return print


class Statistic(NamedTuple):
    value: float


class Bunch(Statistic):
    """A named tuple with attributes, as functions of scipy return them."""


def test_public_data_beside_the_fields_crosses_to_a_reader_without_the_class() -> None:
    bunch = Bunch(1.5)
    bunch.df, bunch._private, bunch.itself = 4, 5, [bunch]  # type: ignore[attr-defined]
    data = codec.encode([Computing(number=2), bunch])
    placeholders = codec.decode(data)
    for again in (placeholders, codec.decode(codec.encode(placeholders))):
        for computing, record in (again, copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
            assert (dict(computing), computing.double) == ({"number": 2}, 4)
            assert not hasattr(computing, "failing")
            assert not hasattr(computing, "function")
            assert (record, record.df, record._fields) == ((1.5,), 4, ("value",))
            assert not hasattr(record, "_private")
            assert not hasattr(record, "itself")
    assert codec.decode(data, classes=[Computing, Bunch]) == [Computing(number=2), (1.5,)]


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
