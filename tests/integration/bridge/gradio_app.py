"""Upstream's Gradio interface for an agent in a container: ``python gradio_app.py PORT FOLDER``.

The manager's second step waits until the file ``go`` is in FOLDER, so that a test can check that
the page shows the first step before the second begins.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from bridge_harness import Script
from smolagents import CodeAgent, GradioUI, Tool
from smolagents.models import ChatMessageStreamDelta

from smolagents_fork import DockerExecutor

FIRST = """
import platform
print("the boss is on", platform.node())
report = analyst("How many lamps were sold?")
print("the analyst says:", report.splitlines()[-1])
"""
SECOND = """
final_answer("lamps sold: " + report.split()[-1])
"""
ANALYST = """
print("the analyst counts on", __import__("platform").node())
final_answer("the count is " + str(sold("lamp")))
"""


class Sold(Tool):
    """Tool with state that stays in the process of the interface."""

    name = "sold"
    description = "How many pieces of a product were sold."
    inputs: ClassVar[dict[str, Any]] = {"product": {"type": "string", "description": "Its name."}}
    output_type = "integer"

    def __init__(self, book: dict[str, int]) -> None:
        super().__init__()
        self.book = book

    def forward(self, product: str) -> int:
        return self.book[product]


class WaitingScript(Script):
    """Model that delays its second step until a file exists."""

    def __init__(self, go: Path, *steps: str) -> None:
        super().__init__(*steps)
        self._go = go
        self._asked = 0

    def generate_stream(self, messages: Any, **kwargs: Any) -> Iterator[ChatMessageStreamDelta]:
        self._asked += 1
        end = time.monotonic() + 300
        while self._asked == 2 and not self._go.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{self._go} has not appeared in 300 s")
            time.sleep(0.05)
        yield from super().generate_stream(messages, **kwargs)


def main(port: int, folder: Path) -> None:
    """Serve the interface until the process is ended."""
    with (
        CodeAgent(
            tools=[Sold({"lamp": 4711})],
            model=Script(ANALYST),
            name="analyst",
            description="Knows what was sold.",
            executor_class=DockerExecutor,
            verbosity_level=0,
        ) as analyst,
        CodeAgent(
            tools=[],
            model=WaitingScript(folder / "go", FIRST, SECOND),
            managed_agents=[analyst],
            executor_class=DockerExecutor,
            stream_outputs=True,
            verbosity_level=0,
        ) as boss,
    ):
        app = GradioUI(boss).create_app()
        app.chatbot.height = 1000  # pixels: the whole run on one screen
        app.launch(server_name="127.0.0.1", server_port=port, share=False, inbrowser=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
