"""A tool has one signature: that of the prompt is what code can call and what the tool requires."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from smolagents import MCPClient, Tool, ToolCollection, tool

SERVER = Path(__file__).with_name("schema_server.py")


def described(*names: str) -> dict[str, dict[str, str]]:
    return {name: {"type": "string", "description": name} for name in names}


class Shuffled(Tool):
    name = "shuffled"
    description = "Takes b behind a, and c by keyword."
    inputs: ClassVar[dict[str, Any]] = {
        name: {**entries, "nullable": True} if name != "a" else entries
        for name, entries in described("c", "b", "a").items()
    }
    output_type = "string"

    def forward(self, a: str, b: str = "2", *, c: str = "3") -> str:
        return a + b + c


class Unnameable(Tool):
    name = "unnameable"
    description = "Takes names that Python cannot write."
    inputs: ClassVar[dict[str, Any]] = described("path", "from", "to", "Api-Version")
    output_type = "string"
    skip_forward_signature_validation = True

    def forward(self, **kwargs: str) -> str:
        return str(sorted(kwargs))


@tool
def usual(text: str, times: int = 1) -> str:
    """Repeats.

    Args:
        text: what.
        times: how often.
    """
    return text * times


def first_line(made: Tool) -> str:
    return made.to_code_prompt().splitlines()[0]


def test_prompt_has_the_order_of_the_signature():
    line = "def shuffled(a: string, b: string, *, c: string) -> string:"
    assert first_line(Shuffled()) == line
    named = "{'from': string, 'Api-Version': string}"
    line = f"def unnameable(path: string, *, to: string, **{named}) -> string:"
    assert first_line(Unnameable()) == line


def test_prompt_of_other_tools_is_upstreams():
    assert first_line(usual) == "def usual(text: string, times: integer) -> string:"


def mcp_tools(way: str, stack: contextlib.ExitStack) -> list[Any]:
    """Return the tools of the server, as ``way`` makes them."""
    from mcp import StdioServerParameters  # not while every worker collects

    parameters = StdioServerParameters(
        command=sys.executable, args=[str(SERVER)], env=dict(os.environ)
    )
    if way == "MCPClient":
        return list(stack.enter_context(MCPClient(parameters, structured_output=False)))
    collection = ToolCollection.from_mcp(
        parameters, trust_remote_code=True, structured_output=False
    )
    return list(stack.enter_context(collection).tools)


# Warnings of mcpadapt and the servers' libraries at start and shutdown, not ours.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["from_mcp", "MCPClient"])
def test_schema_of_an_mcp_server_is_kept(way):
    with contextlib.ExitStack() as stack:
        tools = {made.name: made for made in mcp_tools(way, stack)}
    assert tools["read_text_file"].input_schema["required"] == ["path"]
    assert tools["send_mail"].input_schema["required"] == ["from", "to"]


def test_schema_of_a_langchain_tool_is_kept():
    langchain_tools = pytest.importorskip("langchain_core.tools")

    @langchain_tools.tool
    def multiply(first: int, second: int, plus: int = 0) -> int:
        """Multiplies."""
        return first * second + plus

    assert Tool.from_langchain(multiply).input_schema["required"] == ["first", "second"]
    multiply.args_schema = {"properties": {}, "required": ["other"]}
    assert Tool.from_langchain(multiply).input_schema["required"] == ["other"]
