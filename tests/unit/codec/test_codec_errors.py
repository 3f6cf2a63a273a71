"""Values that cannot be encoded or exceed a limit are refused with the path to them."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from codec_values import Point

from smolagents_fork import codec
from smolagents_fork.errors import CodecError, DecodeError, EncodeError

REFUSED = "a value of type builtins.object cannot be encoded; send plain data instead"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [0, 1, 2, Point(1, object())]}, "vars['a'][3].y"),
        ([(1, {2: object()})], "vars[0][1][2]"),
        ({"a": {object(): 1}}, "vars['a'].keys()[0]"),
        ({1: {"x" * 100: object()}}, f"vars[1]['{'x' * 56}...]"),
        (np.array([1, object()], dtype=object), "vars[1]"),
        (pd.DataFrame({"a": [1], "b": [object()]}), "vars.iloc[:, 1][0]"),
        (pd.Series([1], name=(1, object())), "vars.name[1]"),
        ({"lock": threading.Lock()}, "vars['lock']"),
    ],
)
def test_unencodable_value_is_named_by_its_path(value: Any, where: str) -> None:
    with pytest.raises(EncodeError) as caught:
        codec.encode(value, path="vars")
    assert str(caught.value).startswith(f"{where}: a value of type ")
    assert isinstance(caught.value, CodecError)
    assert isinstance(caught.value, ValueError)


def test_the_message_says_what_to_do() -> None:
    with pytest.raises(EncodeError, match=re.escape(f"value: {REFUSED}")):
        codec.encode(object())
    with pytest.raises(EncodeError, match="the class Point cannot be encoded; send an instance"):
        codec.encode(Point)
    words = "function cannot be encoded; send what it returns, or give it to the agent as a tool"
    with pytest.raises(EncodeError, match=rf"value\[0\]: a value of type builtins.{words}"):
        codec.encode([lambda: None])
    for items in (iter([1]), map(str, [1]), (number for number in [1]), reversed([1])):
        with pytest.raises(EncodeError, match=r"cannot be encoded; send list\(\) of it"):
            codec.encode(items)


@pytest.mark.parametrize("name", ["to_pandas", "toPandas", "to_numpy", "numpy", "toarray"])
def test_message_names_the_conversion_of_a_foreign_table(name: str) -> None:
    table: Any = type("Table", (), {name: lambda self: self})
    with pytest.raises(EncodeError) as caught:
        codec.encode({"a": [table()]})
    words = f"Table cannot be encoded; send what its .{name}() returns"
    assert str(caught.value) == f"value['a'][0]: a value of type {__name__}.{words}"


def test_message_names_a_conversion_that_is_in_c_and_has_no_signature() -> None:
    tensor: Any = type("Tensor", (), {"numpy": dict.keys})
    with pytest.raises(EncodeError, match=r"Tensor cannot be encoded; send what its \.numpy\(\)"):
        codec.encode(tensor())


def test_a_conversion_that_needs_arguments_is_not_named() -> None:
    expression: Any = type("Symbol", (), {"collect": lambda self, symbols: self})
    with pytest.raises(EncodeError, match="Symbol cannot be encoded; send plain data instead"):
        codec.encode(expression())


def test_a_cycle_is_named() -> None:
    value: dict[str, Any] = {"a": [1, {}]}
    value["a"][1]["back"] = value["a"]
    with pytest.raises(EncodeError) as caught:
        codec.encode(value, path="vars")
    assert str(caught.value) == (
        "vars['a'][1]['back']: this list contains itself; cycles cannot be encoded"
    )


def test_limits_of_size() -> None:
    with pytest.raises(EncodeError, match=r"value\['a'\]: .*over 1000 bytes$"):
        codec.encode({"a": b"x" * 1000}, max_bytes=1000)
    with pytest.raises(EncodeError, match=r"value\[1\]: the encoding is over 1000 bytes; do$"):
        codec.encode([1, "x" * 1001], max_bytes=1000, remedy="; do")
    with pytest.raises(EncodeError, match=r"its encoding of 1996 bytes is over 1500 bytes$"):
        codec.encode(["\x00" * 332], max_bytes=1500)
    with pytest.raises(EncodeError, match="more than 10 items; send an array, a table or text"):
        codec.encode([[1]] * 11, max_items=10)
    with pytest.raises(EncodeError, match="at most 8000000 can be encoded"):
        codec.encode(1 << 9_000_000)
    assert codec.decode(codec.encode(b"x" * 600, max_bytes=1000), max_bytes=1000) == b"x" * 600


def test_a_tree_of_shared_references_does_not_explode() -> None:
    value: list[Any] = [1]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(EncodeError, match="more than 1000 items"):
        codec.encode(value, max_items=1000)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_limits_of_depth() -> None:
    assert codec.decode(codec.encode(nested(100))) == nested(100)
    with pytest.raises(EncodeError, match="nested deeper than 100 levels"):
        codec.encode(nested(101))
    with pytest.raises(EncodeError, match=r"1000000 levels|recursion"):
        codec.encode(nested(100_000), max_depth=1_000_000)
    with pytest.raises(DecodeError, match="nested deeper than 100 levels"):
        codec.decode(b"[" * 101 + b"]" * 101)
    with pytest.raises(DecodeError, match="nested deeper"):
        codec.decode(b"[" * 1_000_000)


def test_deep_path_is_shortened_in_the_middle() -> None:
    ten: Any = object()
    for name in reversed("abcdefghij"):
        ten = {name: ten}
    words = "['a']['b']['c']['d']['e']['f']['g']['h']['i']['j']: a value of type"
    with pytest.raises(EncodeError, match=re.escape(f"value{words}")):
        codec.encode(ten)
    with pytest.raises(EncodeError) as caught:
        codec.encode({"x": [{"y": ten}]})
    told = "value['x'][0]['y']['a']['b']...(3 more)...['f']['g']['h']['i']['j']: a value of type"
    assert str(caught.value).startswith(told)
    with pytest.raises(DecodeError) as refused:
        codec.decode(b'{"a":' * 150 + b"1" + b"}" * 150)
    told = f"value{5 * chr(91)}".replace("[", "['a']")
    assert str(refused.value) == (
        f"{told}...(90 more)...{told.removeprefix('value')}: nested deeper than 100 levels"
    )


def test_an_object_whose_reading_raises_is_an_encode_error() -> None:
    class Bad(tuple):  # type: ignore[type-arg]
        _fields = ("a",)

        def __iter__(self) -> Any:
            raise RuntimeError("no")

    with pytest.raises(EncodeError, match=r"value\[0\]: reading this Bad raised RuntimeError: no"):
        codec.encode([Bad([1])])


def test_unencodable_column_names_its_dtype() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 1])})
    with pytest.raises(EncodeError, match=r"value.iloc\[:, 0\]: a column of dtype Sparse"):
        codec.encode(frame)


def test_bad_arguments_of_an_array_are_errors() -> None:
    with pytest.raises(EncodeError, match=r"an array of dtype \|V8 cannot be encoded"):
        codec.encode(np.zeros(2, dtype="V8"))
    with pytest.raises(EncodeError, match="cannot be encoded; convert it to float64"):
        codec.encode(np.zeros(2, dtype=np.longdouble))
