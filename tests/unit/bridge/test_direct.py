"""Tools of local code: called directly, with the name and signature of a stub."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from smolagents_fork.bridge import directly
from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.upstream import Tool


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


def test_functions_and_targets_without_a_stub_are_unchanged():
    assert directly("len", len) is len
    own = Search()
    assert directly("not a name", own) is own


def test_a_program_does_not_change_the_tool():
    tool = Search()
    before = {"query": {"type": "string", "description": "What."}}
    executor = LocalPythonExecutor([])
    executor.send_tools({"search": tool})
    executor("search.inputs['query']['type'] = 'integer'\nsearch.inputs.clear()")
    assert tool.inputs == before == Search.inputs
    assert executor("search('a')").output == "a!"
