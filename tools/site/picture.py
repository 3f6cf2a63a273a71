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

__all__ = ["PICTURE", "main", "save"]

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
    save(console, "CodeAgent in a container", PICTURE)
    return 0


def save(console: Console, title: str, picture: Path) -> None:
    """Write what a console has recorded as an SVG.

    Args:
        console: made with ``record=True``.
        title: of the window.
        picture: file in the repository.
    """
    drawn = console.export_svg(title=title, code_format=_FONT_FACES.sub("", CONSOLE_SVG_FORMAT))
    picture.parent.mkdir(exist_ok=True)
    picture.write_text(drawn, "utf-8")
    print(f"written: {picture.relative_to(ROOT)}")


if __name__ == "__main__":
    raise SystemExit(main())
