"""Texts of values with untrusted classes."""

from __future__ import annotations

import pytest

from smolagents_fork.text.texts import (
    class_name,
    encodable,
    exact_text,
    name_of_class,
    plain_text,
    without_text,
)


def refuse(*_: object) -> str:
    raise AssertionError("a method of the class was called")


class Lying(type):
    """Metaclass that falsifies the names of its classes."""

    __name__ = property(refuse)  # type: ignore[assignment]
    __module__ = property(refuse)  # type: ignore[assignment]
    __getattribute__ = refuse  # type: ignore[assignment]


Named = Lying("Named", (), {"__str__": refuse, "__class__": property(refuse)})


class Text(str):
    __str__ = __repr__ = __len__ = __getattribute__ = refuse  # type: ignore[assignment]


def test_names_come_from_cpython():
    assert class_name(Named()) == name_of_class(Named) == "Named"
    assert type(class_name(type(Text("Odd"), (), {})())) is str


def test_str_of_a_subclass_becomes_an_exact_str():
    made = exact_text(Text("abc"))
    assert (made, type(made)) == ("abc", str)


@pytest.mark.parametrize("value", ["text", 5, 1.5, True, None, b"x", 2j])
def test_plain_values_have_texts(value):
    assert plain_text(value) == str(value)


def test_other_values_have_no_plain_text():
    for value in (Named(), Text("x"), [1], (), {}, {1}, type, len):
        assert plain_text(value) is None
    assert plain_text("x", "repr") == "'x'"


def test_number_of_too_many_digits_gives_the_reason():
    words = "<int whose str() raised ValueError: Exceeds the limit (4300"
    assert str(plain_text(10**5000)).startswith(words)


def test_reasons_quote_plain_messages_only():
    class Own(ValueError):
        __str__ = refuse

    assert without_text(5, Own("secret")) == "<int whose str() raised Own>"
    assert without_text(5, ValueError("no")) == "<int whose str() raised ValueError: no>"
    assert without_text(5, ValueError("no", 2)) == "<int whose str() raised ValueError>"
    assert without_text(5, ValueError(Text("no"))) == "<int whose str() raised ValueError>"
    assert without_text(5, KeyError("x" * 900), "repr") == (
        "<int whose repr() raised KeyError: " + "x" * 500 + ">"
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain", "plain"),
        ("äß 日本 🙂", "äß 日本 🙂"),
        ("cut \ud83d here", "cut \ufffd here"),
        ("\udc80\ud800\udfff", "\ufffd\ufffd\ufffd"),
    ],
)
def test_text_becomes_encodable(text, result):
    assert encodable(text) == result
    encodable(text).encode()
