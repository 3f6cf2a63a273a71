"""The log of an agent: nothing that a program, a model or a tool wrote is obeyed by a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from scripted_model import Caller, ScriptedModel
from smolagents import CodeAgent, Tool, ToolCallingAgent
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork.terminal import harmless

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202ehidden\u200b[link=http://127.0.0.1:9/]x"


@pytest.fixture
def log():
    """Give a logger and a function that returns what it wrote, without rich's own sequences."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=300)
    logger = AgentLogger(level=LogLevel.DEBUG, console=console)
    # A moving line begins again at the left.
    return logger, lambda: re.sub(r"\x1b\[[\d;?]*[a-zA-Z]|\r", "", file.getvalue())


class Echo(Tool):
    name = "echo"
    description = f"Echoes. {HOSTILE}"
    inputs = {"text": {"type": "string", "description": HOSTILE}}  # noqa: RUF012
    output_type = "string"

    def forward(self, text: str) -> str:
        return text + HOSTILE


def check(written: str) -> None:
    assert "owned" in written
    assert "\x1b" not in written
    assert harmless(written) == written


@pytest.mark.parametrize("streams", [False, True])
def test_nothing_that_an_agent_logs_is_obeyed(log, streams):
    logger, written = log
    model = ScriptedModel(
        f"{HOSTILE}<code>print({HOSTILE!r})</code>",
        f"<code>class E(Exception): pass\nraise E({HOSTILE!r})</code>",
        f"<code># {HOSTILE}\nimport os</code>",
        f"<code>final_answer({HOSTILE!r})</code>",
    )
    agent = CodeAgent(
        [Echo()],
        model=model,
        logger=logger,
        stream_outputs=streams,
        name="boss",
        description=HOSTILE,
    )
    assert agent.run(f"task {HOSTILE}") == HOSTILE  # the value stays as it is
    agent.visualize()
    agent.replay(detailed=True)
    check(written())


def test_nothing_that_a_tool_returns_is_obeyed(log):
    logger, written = log
    calls = ("echo", {"text": HOSTILE}), ("final_answer", {"answer": HOSTILE})
    model = Caller(*calls, text=HOSTILE)
    agent = ToolCallingAgent([Echo()], model=model, logger=logger)
    assert agent.run("task") == HOSTILE
    check(written())
