"""Signatures of tools in the prompt, and what tools of MCP servers and of LangChain require.

Hooks of the patch ``tool-signatures``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from smolagents_fork.bridge import parameters_of_tool
from smolagents_fork.codec.rpc import is_nameable

if TYPE_CHECKING:
    from smolagents_fork.upstream import Tool

__all__ = ["keep_schemas", "langchain_schema", "prompt_arguments"]


def prompt_arguments(tool: Tool) -> str:
    """Format the arguments of a tool for a prompt, such as ``path: string, tail: integer``.

    They have the order of the tool's signature, and a star before what goes by keyword only. Inputs
    that Python cannot name are shown as ``**{'from': string}``.

    Args:
        tool: its ``inputs`` say which arguments the prompt shows, and their types.
    """
    inputs = tool.inputs
    kinds = {name: kind for name, kind, _ in parameters_of_tool(tool) if name in inputs}
    for name in inputs:
        kinds.setdefault(name, "POSITIONAL_OR_KEYWORD")
    shown: list[str] = []
    unnameable: list[str] = []
    is_starred = False
    for name, kind in kinds.items():
        described = inputs[name]["type"]
        if not is_nameable(name):
            unnameable.append(f"{name!r}: {described}")
            continue
        if not is_starred and (kind == "KEYWORD_ONLY" or unnameable):
            is_starred = True
            shown.append("*")
        shown.append(f"{name}: {described}")
    if unnameable:
        shown.append(f"**{{{', '.join(unnameable)}}}")
    return ", ".join(shown)


def keep_schemas(adapter: Any) -> Any:
    """Return an adapter of mcpadapt whose tools have the attribute ``input_schema``.

    mcpadapt keeps the schema's ``properties`` alone, which do not say what is required.

    Args:
        adapter: an instance, which is changed.
    """
    adapt = adapter.adapt

    def adapt_with_schema(func: Callable[..., Any], mcp_tool: Any) -> Tool:
        tool = adapt(func, mcp_tool)
        tool.input_schema = mcp_tool.inputSchema
        return tool

    adapter.adapt = adapt_with_schema
    return adapter


def langchain_schema(tool: Any) -> dict[str, Any] | None:
    """Return the JSON Schema of a LangChain tool's input; ``None`` if it has none.

    Args:
        tool: a ``BaseTool`` of LangChain.
    """
    schema = getattr(tool, "args_schema", None)
    if not isinstance(schema, dict):
        schema = None
        # Older releases do not have the method, and some types have no schema.
        with contextlib.suppress(Exception):
            schema = tool.get_input_jsonschema()
    return schema
