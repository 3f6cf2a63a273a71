"""An MCP server over stdio whose schemas are those of TypeScript servers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
#: Name -> properties and required of its JSON Schema.
TOOLS: dict[str, tuple[dict[str, Any], list[str]]] = {
    # Of @modelcontextprotocol/server-filesystem: zod's .optional() gives no default.
    "read_text_file": ({"path": TEXT, "tail": NUMBER, "head": NUMBER}, ["path"]),
    "list_directory": ({"depth": NUMBER, "path": TEXT}, ["path"]),
    "send_mail": (
        {"from": TEXT, "to": TEXT, "Api-Version": {**TEXT, "default": "1"}, "class": TEXT},
        ["from", "to"],
    ),
    "now": ({}, []),
    "fail": ({"reason": TEXT}, ["reason"]),
}
server: Server[Any] = Server("schemas")


@server.list_tools()  # type: ignore[misc, no-untyped-call]
async def list_tools() -> list[types.Tool]:
    return [
        types.Tool(
            name=name,
            description="Returns its arguments.",
            inputSchema={"type": "object", "properties": properties, "required": required},
        )
        for name, (properties, required) in TOOLS.items()
    ]


@server.call_tool()  # type: ignore[misc]
async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
    if name == "fail":
        raise ValueError(arguments["reason"])
    text = json.dumps({"tool": name, **arguments}, sort_keys=True)
    return [types.TextContent(type="text", text=text)]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
