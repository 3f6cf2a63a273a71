"""Interfaces for agents, and an app: ``python gradio_app.py PORT PLOTTING_PORT APP_PORT FOLDER``.

At PORT is a manager in a container, at PLOTTING_PORT an agent whose code plots; both interfaces are
upstream's. At APP_PORT is an app of Gradio's with one function behind it. The manager's second step
waits until the file ``go`` is in FOLDER, so that a test can check that the page shows the first
step before the second begins.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import gradio
from scripted_model import Script
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
PLOT = """
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(4, 2.4))
axes.bar(["Mon", "Tue", "Wed", "Thu"], [12, 31, 24, 40], color="#1a6ec1")
axes.set_title("Lamps sold")
plt.show()
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


asked: list[str] = []


def price_of(product: str) -> str:
    """Return the price of a product, and the number of requests so far."""
    asked.append(product)
    return f"{product}: {len(product) * 10} euros, question {len(asked)}"


def serve(agent: CodeAgent, port: int, *, goes_on: bool) -> None:
    """Serve the interface of an agent, in a thread if the program goes on meanwhile."""
    app = GradioUI(agent).create_app()
    app.chatbot.height = 1000  # pixels: the whole run on one screen
    app.launch(
        server_name="127.0.0.1",
        server_port=port,
        share=False,
        inbrowser=False,
        prevent_thread_lock=goes_on,
    )


def main(port: int, plotting_port: int, app_port: int, folder: Path) -> None:
    """Serve the interfaces and the app until the process is ended."""
    gradio.Interface(price_of, "text", "text", api_name="price_of").launch(
        server_name="127.0.0.1", server_port=app_port, quiet=True, prevent_thread_lock=True
    )
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
        CodeAgent(
            tools=[],
            model=Script(PLOT, "final_answer('Thursday was the best day.')"),
            additional_authorized_imports=["matplotlib.*"],
            executor_type="process",
            stream_outputs=True,
            verbosity_level=0,
        ) as plotter,
    ):
        serve(plotter, plotting_port, goes_on=True)
        serve(boss, port, goes_on=False)


if __name__ == "__main__":
    *ports, own_folder = sys.argv[1:]
    main(*map(int, ports), Path(own_folder))
