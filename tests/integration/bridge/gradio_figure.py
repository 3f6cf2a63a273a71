"""Upstream's Gradio interface for an agent whose code plots: ``python gradio_figure.py PORT``."""

from __future__ import annotations

import sys

from bridge_harness import Script
from smolagents import CodeAgent, GradioUI

PLOT = """
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(4, 2.4))
axes.bar(["Mon", "Tue", "Wed", "Thu"], [12, 31, 24, 40], color="#1a6ec1")
axes.set_title("Lamps sold")
plt.show()
"""


def main(port: int) -> None:
    """Serve the interface until the process is ended."""
    with CodeAgent(
        tools=[],
        model=Script(PLOT, "final_answer('Thursday was the best day.')"),
        additional_authorized_imports=["matplotlib.*"],
        executor_type="process",
        stream_outputs=True,
        verbosity_level=0,
    ) as agent:
        app = GradioUI(agent).create_app()
        app.chatbot.height = 1000  # pixels: the whole run on one screen
        app.launch(server_name="127.0.0.1", server_port=port, share=False, inbrowser=False)


if __name__ == "__main__":
    main(int(sys.argv[1]))
