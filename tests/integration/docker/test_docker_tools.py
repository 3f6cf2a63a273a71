"""Tools of the host called from the container: kernels, placement, forged calls, answers."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from scripted_model import Script
from smolagents import CodeAgent, FinalAnswerTool, tool
from smolagents.monitoring import AgentLogger, LogLevel

from smolagents_fork.errors import ConfigurationError


@tool
def shout(text: str, times: int = 1) -> str:
    """Makes text loud.

    Args:
        text: what to shout
        times: how often
    """
    return text.upper() * times


@pytest.fixture
def tooled(shared):
    shared.send_tools(
        {
            "shout": shout,
            "final_answer": FinalAnswerTool(),
        }
    )
    return shared


def test_final_answer_is_freed_in_the_container(tooled):
    tooled("import gc, weakref\ngc.disable()\nvalue = {1, 2}\nanswer = weakref.ref(value)")
    code = "def f(x):\n    y = x\n    final_answer(y)\nf(value)"
    assert tooled(code).output == {1, 2}
    assert tooled("del value\nanswer() is None").output is True
    tooled("gc.enable()")


def test_placement_in_the_sandbox_sends_source(make):
    executor = make(tool_placement={"shout": "sandbox"})
    executor.send_tools({"shout": shout, "final_answer": FinalAnswerTool()})
    assert executor("shout('a', times=2)").output == "AA"
    assert executor("final_answer(shout('b'))").output == "B"
    with pytest.raises(ConfigurationError, match="final_answer"):
        make(tool_placement={"final_answer": "sandbox"}).send_tools(
            {"final_answer": FinalAnswerTool()}
        )


def test_failed_step_shows_the_user_its_error_once(tooled, monkeypatch):
    shown = io.StringIO()
    logger = AgentLogger(level=LogLevel.DEBUG, console=Console(file=shown, width=200))
    monkeypatch.setattr(tooled, "logger", logger)
    agent = CodeAgent(
        tools=[],
        model=Script("print('before')\n1/0", "final_answer('done')"),
        executor=tooled,
        logger=logger,
    )
    assert agent.run("go") == "done"
    assert shown.getvalue().count("ZeroDivisionError: division by zero") == 1
