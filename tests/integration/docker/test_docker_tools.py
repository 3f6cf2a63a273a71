"""Tools of the host called from the container: kernels, placement, forged calls, answers."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from scripted_model import Script
from smolagents import CodeAgent, FinalAnswerTool, Tool, tool
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.utils import AgentError

from smolagents_fork.errors import ConfigurationError


class Counter(Tool):
    name = "counter"
    description = "Counts its calls."
    inputs = {"step": {"type": "integer", "description": "How far to count."}}  # noqa: RUF012 - as upstream
    output_type = "integer"

    def __init__(self, start: int):
        self.total = start
        super().__init__()

    def forward(self, step: int) -> int:
        self.total += step
        return self.total


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
            "counter": Counter(100),
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


def test_unregistered_and_forged_calls_are_errors(tooled):
    with pytest.raises(AgentError, match="the host has no tool called 'system'"):
        tooled("__smolagents_fork__.calls.call('system', ['id'], {})")
    for forged in ("b'rubbish'", "b''", "b'[' * 5000", "b'{}'"):
        code = f"bytes(__smolagents_fork__.exchange({forged}))"
        assert isinstance(tooled(code).output, bytes)
    assert tooled("shout('ok')").output == "OK"


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


def test_interrupt_just_before_the_run_is_not_lost(tooled, monkeypatch):
    begin = tooled._bindings.calls.begin_run

    def begin_and_interrupt():
        begin()
        tooled.interrupt()

    monkeypatch.setattr(tooled._bindings.calls, "begin_run", begin_and_interrupt)
    assert tooled("shout(text='a')").output == "A"
