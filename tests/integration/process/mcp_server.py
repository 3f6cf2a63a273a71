"""A small MCP server for the tests; run with the transport's name, and a port for HTTP."""

from __future__ import annotations

import sys

from mcp.server.fastmcp import FastMCP

server = FastMCP("test", port=int(sys.argv[2]) if len(sys.argv) > 2 else 0, log_level="ERROR")


@server.tool()
def shout(text: str, times: int = 2) -> str:
    """Says it loudly."""
    return text.upper() * times


if __name__ == "__main__":
    server.run(sys.argv[1])  # type: ignore[arg-type]
