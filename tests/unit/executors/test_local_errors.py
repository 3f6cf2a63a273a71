"""Errors that leave the local executor: whose they are, and that formatting them runs nothing."""

from __future__ import annotations

import json
import pickle
import sys
import traceback

import pytest

from smolagents_fork import errors, upstream
from smolagents_fork.executors.local import local_errors
from smolagents_fork.executors.local.local_errors import (
    as_upstreams,
    is_class_of_host,
    passive_cause,
)

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.InterpreterError)
]


def text(error: BaseException) -> str:
    return f"text of {type(error).__name__}"


def refuse(*_: object) -> str:
    raise AssertionError("a method of the class was called")


def program_class(name: str, base: type = Exception, **members: object) -> type:
    """A class that no module of the host has, as a program's."""
    return type(name, (base,), {"__module__": "__main__", "__str__": refuse, **members})


@pytest.mark.parametrize("kind", KINDS)
def test_errors_are_both_sides_and_are_found_by_their_name(kind):
    made = as_upstreams(kind("what happened"))
    assert isinstance(made, kind)
    timeout = issubclass(kind, errors.TimeLimitExceededError)
    theirs = upstream.ExecutionTimeoutError if timeout else upstream.InterpreterError
    assert isinstance(made, theirs)
    assert getattr(local_errors, kind.__name__) is type(made)
    copied = pickle.loads(pickle.dumps(made))
    assert (type(copied), str(copied)) == (type(made), "what happened")


def test_builtin_and_host_exceptions_are_kept():
    of_host = json.JSONDecodeError("bad", "doc", 0)
    for error in (KeyError("x"), ZeroDivisionError(), ValueError("a", 2), OSError(2, "none")):
        made = passive_cause(error, text)
        assert type(made) is type(error)
        assert made.args == error.args
    with_plain_arguments = errors.ForkError("of the host")
    assert passive_cause(with_plain_arguments, text) is with_plain_arguments
    assert passive_cause(of_host, text) is of_host
    assert passive_cause(None, text) is None


def test_classes_of_the_program_are_replaced():
    made = passive_cause(program_class("Own", LookupError)("secret"), text)
    assert type(made).__name__ == "Own"
    assert isinstance(made, LookupError)
    assert str(made) == "text of Own"
    assert made.args == ("text of Own",)


def test_a_class_that_borrows_a_name_of_the_host_is_not_the_hosts():
    for names in (
        {"__module__": "json.decoder", "__qualname__": "JSONDecodeError"},
        {"__module__": "builtins", "__qualname__": "ValueError"},
        {"__module__": 5},
        {"__module__": "no.such.module"},
    ):
        kind = program_class("JSONDecodeError", ValueError, **names)
        assert not is_class_of_host(kind)
        assert str(passive_cause(kind("x"), text)) == "text of JSONDecodeError"
    assert is_class_of_host(json.JSONDecodeError)


def test_arguments_that_are_not_plain_are_replaced_by_a_text():
    argument = type("Argument", (), {"__repr__": refuse})()
    made = passive_cause(KeyError(argument), text)
    assert isinstance(made, KeyError)
    assert str(made) == "text of KeyError"


def test_chains_are_kept_up_to_a_length_and_circles_end():
    first, second = ValueError("first"), program_class("Second")("x")
    first.__cause__, second.__cause__ = second, first
    made = passive_cause(first, text)
    assert [str(made), str(made.__cause__)] == ["first", "text of Second"]
    assert made.__cause__.__cause__ is None
    last: BaseException | None = None
    for number in range(10_000):
        error = ValueError(number)
        error.__context__, last = last, error
    made, length = passive_cause(last, text), 0
    while made is not None:
        made, length = made.__context__, length + 1
    assert length == 20


def test_what_is_put_in_front_of_a_field_is_not_called():
    own = property(refuse)
    kind = program_class(
        "Own", __cause__=own, __context__=own, __traceback__=own, args=own, __notes__=own,
        __class__=own, __suppress_context__=own,
    )  # fmt: skip
    made = passive_cause(kind("x"), text)
    assert "Own: text of Own" in "".join(traceback.format_exception(type(made), made, None))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with Python 3.11")
def test_groups_are_copied_up_to_a_depth():
    group = ExceptionGroup("outer", [ValueError("a"), program_class("Own")("b")])  # noqa: F821 - of 3.11
    made = passive_cause(group, text)
    assert made.message == "outer"
    assert [str(one) for one in made.exceptions] == ["a", "text of Own"]
    for _ in range(3_000):
        group = ExceptionGroup("around", [group])  # noqa: F821 - of 3.11
    made, depth = passive_cause(group, text), 0
    while hasattr(made, "exceptions"):
        made, depth = made.exceptions[0], depth + 1
    assert depth == 10
    assert str(made) == "text of ExceptionGroup"


def test_the_traceback_is_kept():
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of any class
        raise program_class("Own")("x")
    assert passive_cause(caught.value, text).__traceback__ is caught.value.__traceback__
