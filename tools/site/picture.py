"""``docs/images/run.svg``: the console of a real run, in a container.

``python -m tools.site.picture`` draws it again; a container engine is needed.
"""

from __future__ import annotations

import io
import re
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from smolagents import CodeAgent
from smolagents.monitoring import AgentLogger, LogLevel

from examples.demo import QUESTION, STEPS, ReadOrders
from examples.models import ScriptedModel
from examples.orders import write_orders
from smolagents_fork import DockerExecutor
from tools.paths import ROOT

__all__ = ["PICTURE", "main"]

PICTURE = ROOT / "docs" / "images" / "run.svg"
#: Characters of a line.
WIDTH = 100
#: Fonts that rich would fetch from another server.
_FONT_FACES = re.compile(r"@font-face \{\{.*?\}\}\n", re.DOTALL)


def main() -> int:
    """Run the demo's agent and draw what it prints."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    DockerExecutor.setup()
    with tempfile.TemporaryDirectory() as folder:
        orders = write_orders(Path(folder) / "orders.csv")
        agent = CodeAgent(
            tools=[ReadOrders(orders)],
            model=ScriptedModel(STEPS),
            executor_class=DockerExecutor,
            additional_authorized_imports=["csv", "io"],
            logger=AgentLogger(level=LogLevel.INFO, console=console),
        )
        with agent:
            agent.run(QUESTION)
    drawn = console.export_svg(
        title="CodeAgent in a container", code_format=_FONT_FACES.sub("", CONSOLE_SVG_FORMAT)
    )
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn, "utf-8")
    print(f"written: {PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
