"""Adapter of MCP servers' tools that keeps what their JSON Schema requires.

A hook of the patch ``tool-signatures``. It needs mcpadapt, of the extra ``mcp``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcpadapt import smolagents_adapter

if TYPE_CHECKING:
    from smolagents_fork.upstream import Tool

__all__ = ["SmolAgentsAdapter"]


class SmolAgentsAdapter(smolagents_adapter.SmolAgentsAdapter):
    """mcpadapt's adapter, whose tools have the attribute ``input_schema``.

    mcpadapt keeps the schema's ``properties`` alone, which do not say what is required.
    """

    def adapt(self, func: Callable[..., Any], mcp_tool: Any) -> Tool:
        """Make a tool of smolagents.

        Args:
            func: calls the server.
            mcp_tool: the server's description of the tool.
        """
        tool = super().adapt(func, mcp_tool)
        tool.input_schema = mcp_tool.inputSchema
        return tool
