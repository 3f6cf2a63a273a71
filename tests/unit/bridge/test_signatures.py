"""Stubs bind arguments like Python, show the tool's documentation, and disclose nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.bridge import Dispatcher, describe
from smolagents_fork.codec.rpc import HostCalls
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.upstream import PipelineTool, Tool


def stub_of(function: Callable[..., Any], name: str | None = None) -> Any:
    """Return a stub that calls ``function`` through real frames."""
    dispatcher = Dispatcher()
    (spec,) = dispatcher.register({name or function.__name__: function})
    return HostCalls(dispatcher.handle, lambda: None).stub(**spec.as_data())


def every_kind(a, b=2, /, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, more


def plain(query, count=10):
    return query, count


def keyword_only(*, key):
    return key


def outcome(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return the value of a call, or the message of its TypeError."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        return f"TypeError: {error}"


CALLS = [
    ((1,), {"d": 4}),
    ((1, 2, 3, 4, 5), {"d": 4, "x": 6}),
    ((1, 9), {"d": 4, "c": 7, "e": 8}),
    ((), {}),
    ((1,), {}),
    ((1,), {"d": 4, "a": 5}),
    ((1, 2), {"query": 3}),
    ((1, 2, 3), {}),
    ((), {"query": 1, "wrong": 2}),
    ((), {"count": 1}),
    ((1,), {"key": 2}),
    ((), {"key": 2}),
]


@pytest.mark.parametrize("function", [every_kind, plain, keyword_only])
@pytest.mark.parametrize(("args", "kwargs"), CALLS)
def test_binding_and_its_errors_are_pythons_own(function, args, kwargs):
    assert outcome(stub_of(function), args, kwargs) == outcome(function, args, kwargs)


@given(
    st.lists(st.integers(), max_size=5),
    st.dictionaries(st.sampled_from("abcdefx"), st.integers(), max_size=5),
)
def test_any_call_is_the_same_as_without_the_bridge(args, kwargs):
    assert outcome(stub_of(every_kind), args, kwargs) == outcome(every_kind, args, kwargs)


class Search(Tool):
    name = "search"
    description = "Searches the archive."
    inputs = {  # noqa: RUF012 - upstream's interface
        "query": {"type": "string", "description": "What to look for."},
        "limit": {"type": "integer", "description": "How many.", "nullable": True},
    }
    output_type = "string"

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self._dsn = dsn
        self.calls = 0

    def forward(self, query: str, limit: int | None = 5) -> str:
        self.calls += 1
        return f"{query}/{limit}/{self.calls}"


class FromServer(Tool):
    name = "from_server"
    description = "Made from a server's schema."
    inputs = {  # noqa: RUF012 - upstream's interface
        "limit": {"type": "integer", "description": "How many.", "nullable": True},
        "query": {"type": "string", "description": "What."},
    }
    output_type = "string"
    skip_forward_signature_validation = True

    def forward(self, *args: Any, **kwargs: Any) -> str:
        return f"{args}{sorted(kwargs.items())}"


def test_nothing_of_the_instance_is_described():
    spec = describe("search", Search("postgres://user:hunter2@db/archive"))
    assert "hunter2" not in repr(spec)


def test_a_default_that_may_be_a_secret_is_not_shown():
    def tool(query, key="sk-012345678901234567890123", unit="celsius", options=("a", "b")):
        return key, unit, options

    spec = describe("tool", tool)
    assert spec.parameters[1:] == (
        ("key", "POSITIONAL_OR_KEYWORD", "..."),
        ("unit", "POSITIONAL_OR_KEYWORD", "'celsius'"),
        ("options", "POSITIONAL_OR_KEYWORD", "..."),
    )
    # The host still uses the default.
    assert stub_of(tool)("q")[0] == "sk-012345678901234567890123"


@pytest.mark.parametrize("required", [True, 1, {"query": True}, "query", None])
def test_malformed_schema_requires_nothing(required):
    tool = FromServer()
    tool.input_schema = {"required": required}
    assert stub_of(tool, "from_server")() == "()[]"


def test_inputs_that_python_cannot_name_go_by_keyword():
    tool = FromServer()
    names = ("limit", "from", "Api-Version", "query")
    tool.inputs = {name: {"type": "string", "description": name} for name in names}
    tool.input_schema = {"required": ["from", "query"]}
    stub = stub_of(tool, "from_server")
    assert str(inspect.signature(stub)) == "(limit=..., *, query, **kwargs)"
    given = "from_server(**{'from': ..., 'Api-Version': ...})"
    assert stub.__doc__.endswith(f"Names that Python cannot write go by keyword: {given}")
    assert stub(query=1, **{"from": 2}) == stub({"from": 2, "query": 1}) != "()[]"
    assert stub(1, 2, 3, 4) == "()[('Api-Version', 3), ('from', 2), ('limit', 1), ('query', 4)]"
    with pytest.raises(TypeError) as caught:
        stub(**{"Api-Version": 1})
    words = "from_server() missing 2 required positional arguments: 'from' and 'query'"
    assert str(caught.value) == words
    with pytest.raises(TypeError, match=r"from_server\(\) got an unexpected keyword argument 'x'"):
        stub(x=1)


def test_inputs_beside_named_parameters_go_by_keyword():
    class Mixed(FromServer):
        def forward(self, query: Any, sort: str = "up", **more: Any) -> str:
            return f"{query}/{sort}/{sorted(more.items())}"

    stub = stub_of(Mixed(), "from_server")
    assert str(inspect.signature(stub)) == "(query, sort='up', *, limit=None)"
    assert stub(1, "down", limit=2) == "1/down/[('limit', 2)]"
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'query'"):
        stub(limit=1)


class Pipeline(PipelineTool):
    name = "pipeline"
    description = "Gives its arguments to encode()."
    inputs = {"image": {"type": "image", "description": "x"}}  # noqa: RUF012 - upstream's
    output_type = "string"

    def __init__(self) -> None:
        self.is_initialized = True

    def encode(self, image: Any, scale: int = 2) -> Any:
        raise NotImplementedError


def test_pipeline_has_the_signature_of_its_encode():
    spec = describe("pipeline", Pipeline())
    assert [parameter[::2] for parameter in spec.parameters] == [("image", None), ("scale", "2")]
    assert not spec.unpack


def test_builtin_without_a_signature_checks_its_arguments():
    assert stub_of(max)(1, 5, 3) == 5
    with pytest.raises(TypeError, match="max expected at least 1 argument, got 0"):
        stub_of(max)()


@pytest.mark.parametrize("name", ["", "a b", "a.b", "class", "1a", "a\n", "a();import os"])
def test_uncallable_name_is_refused(name):
    with pytest.raises(
        ConfigurationError, match="programs cannot call it; use a Python identifier"
    ):
        describe(name, plain)


def test_value_that_is_not_callable_is_refused():
    with pytest.raises(ConfigurationError, match="tool 'x': a value of type int cannot be called"):
        describe("x", 5)


def test_name_that_python_reserves_is_refused():
    with pytest.raises(ConfigurationError, match="reserves names with two underscores"):
        describe("__smolagents_fork__", plain)
