"""A real MCP server: ``python mcp_server.py stdio``, or ``... streamable-http PORT``."""

from __future__ import annotations

import os
import sys

from mcp.server.fastmcp import FastMCP

port = int(sys.argv[2]) if len(sys.argv) > 2 else 8000
server = FastMCP("shop", host="127.0.0.1", port=port, log_level="ERROR")
asked: list[str] = []


@server.tool()
def price_of(product: str, currency: str = "euros") -> str:
    """Gives the price of a product.

    Args:
        product: its name.
        currency: what to count in.
    """
    asked.append(product)
    return f"{product}: {len(product) * 10} {currency}, question {len(asked)}"


@server.tool()
def process_number() -> str:
    """Gives the number of the process that answers."""
    return str(os.getpid())


@server.tool()
def fails(reason: str) -> str:
    """Raises an error.

    Args:
        reason: its words.
    """
    raise ValueError(reason)


if __name__ == "__main__":
    server.run(transport=sys.argv[1])
