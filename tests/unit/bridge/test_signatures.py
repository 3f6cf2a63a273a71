"""Stubs and tools of local code bind arguments like Python, and disclose nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.bridge import Dispatcher, describe, directly
from smolagents_fork.codec.rpc import HostCalls
from smolagents_fork.errors import ConfigurationError
from smolagents_fork.executors.local import LocalPythonExecutor
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


@pytest.mark.parametrize("function", [every_kind, plain, keyword_only])
@given(
    args=st.lists(st.integers(), max_size=5),
    kwargs=st.dictionaries(
        st.sampled_from(["a", "b", "c", "d", "e", "x", "query", "count", "key"]),
        st.integers(),
        max_size=5,
    ),
)
def test_any_call_is_the_same_as_without_the_bridge(function, args, kwargs):
    assert outcome(stub_of(function), args, kwargs) == outcome(function, args, kwargs)


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


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        *(
            (name, plain, "programs cannot call it; use a Python identifier")
            for name in ("", "a b", "a.b", "class", "1a", "a\n", "a();import os")
        ),
        ("x", 5, "tool 'x': a value of type int cannot be called"),
        ("__smolagents_fork__", plain, "reserves names with two underscores"),
    ],
)
def test_what_programs_cannot_call_is_refused(name, target, words):
    with pytest.raises(ConfigurationError, match=words):
        describe(name, target)


class Search(Tool):
    name = "search"
    description = "Searches."
    inputs: ClassVar[dict[str, Any]] = {"query": {"type": "string", "description": "What."}}
    output_type = "string"

    def forward(self, query: str) -> str:
        return query + "!"


def test_calls_reach_the_tool():
    call = directly("search", Search())
    assert call("a") == call(query="a") == call({"query": "a"}) == "a!"
    for bad in (
        lambda: call(),
        lambda: call("a", "b"),
        lambda: call("a", query="b"),
        lambda: call(nope=1),
        lambda: call("a", sanitize_inputs_outputs=True),
    ):
        with pytest.raises(TypeError, match=r"^search\(\) "):
            bad()


def test_a_program_does_not_change_the_tool():
    tool = Search()
    before = {"query": {"type": "string", "description": "What."}}
    executor = LocalPythonExecutor([])
    executor.send_tools({"search": tool})
    executor("search.inputs['query']['type'] = 'integer'\nsearch.inputs.clear()")
    assert tool.inputs == before == Search.inputs
    assert executor("search('a')").output == "a!"
