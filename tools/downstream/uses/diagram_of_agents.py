"""agentsdiagram: the diagram of a program with a tool and a managed agent."""

import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = '''
from smolagents import CodeAgent, InferenceClientModel, tool


@tool
def price_of(product: str) -> int:
    """Give the price of a product.

    Args:
        product: its name.
    """
    return 42


model = InferenceClientModel()
shop = CodeAgent(tools=[price_of], model=model, name="shop", description="Knows prices.")
boss = CodeAgent(tools=[], model=model, managed_agents=[shop], name="boss")
'''

folder = Path(tempfile.mkdtemp())
program = folder / "shop.py"
program.write_text(PROGRAM)
command = [sys.executable, "-m", "agentsdiagram.cli", "scan", str(program)]
drawn = subprocess.run(command, capture_output=True, text=True, check=True).stdout
for name in ("boss", "shop", "price_of"):
    assert f"<b>{name}</b>" in drawn, drawn
print("a diagram with both agents and the tool")
