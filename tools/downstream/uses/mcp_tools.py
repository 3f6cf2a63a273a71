"""mcpadapt: an agent's code calls a tool of an MCP server."""

import sys
import tempfile
from pathlib import Path

from mcp import StdioServerParameters
from scripted_model import ScriptedModel
from smolagents import CodeAgent, ToolCollection

SERVER = '''
from mcp.server.fastmcp import FastMCP

server = FastMCP("shop", log_level="ERROR")


@server.tool()
def price_of(product: str) -> int:
    """Give the price of a product."""
    return len(product) * 10


server.run(transport="stdio")
'''

program = Path(tempfile.mkdtemp()) / "server.py"
program.write_text(SERVER)
parameters = StdioServerParameters(command=sys.executable, args=[str(program)])
with ToolCollection.from_mcp(
    parameters, trust_remote_code=True, structured_output=False
) as collection:
    code = "final_answer(int(price_of(product='desk')) + 2)"
    agent = CodeAgent([*collection.tools], model=ScriptedModel(code))
    assert agent.run("What is the answer?") == 42
print("a tool of an MCP server was called")
