"""An agent that nothing refers to ends at once, and its executor with it."""

from __future__ import annotations

import gc
import traceback
import weakref
from typing import Any

import pytest
from recording import RecordingExecutor
from scripted_model import ScriptedModel
from smolagents import CodeAgent, ToolCallingAgent


class FailingExecutor(RecordingExecutor):
    """Raises an error that has a cause, and is cleaned up when it is dropped."""

    def __call__(self, code_action: str) -> Any:
        if "final" in code_action:
            return super().__call__(code_action)
        try:
            raise KeyError("the cause")
        except KeyError as error:
            raise RuntimeError("the code failed") from error


@pytest.fixture(autouse=True)
def _without_collector():
    gc.disable()
    yield
    gc.enable()


def make_agent(*answers: str, **options: Any) -> CodeAgent:
    return CodeAgent(
        tools=[],
        model=ScriptedModel(*answers),
        executor_class=FailingExecutor,
        verbosity_level=0,
        **options,
    )


@pytest.mark.parametrize(
    "answers", [("<code>work</code>", "<code>final</code>"), ("no code", "<code>final</code>")]
)
def test_agent_with_a_failed_step_ends_when_it_is_dropped(answers):
    agent = make_agent(*answers)
    assert agent.run("task") == "final"
    error = agent.memory.steps[1].error
    assert error is not None
    assert error.__context__ is not None
    RecordingExecutor.made.clear()
    references = [weakref.ref(agent), weakref.ref(agent.python_executor)]
    del agent
    assert [reference() for reference in references] == [None, None]


def test_agent_with_a_stream_ends_when_both_are_dropped():
    agent = make_agent("<code>work</code>", "<code>final</code>")
    stream = agent.run("task", stream=True)
    for _ in range(3):
        next(stream)
    reference = weakref.ref(agent)
    del agent
    assert reference() is not None
    del stream
    assert reference() is None


def test_failed_tool_call_keeps_no_agent():
    agent = ToolCallingAgent(tools=[], model=ScriptedModel("no call"), verbosity_level=0)
    agent.max_steps = 1
    agent.model.answers.append("gave up")
    agent.run("task")
    reference = weakref.ref(agent)
    del agent
    assert reference() is None


def test_error_keeps_text_and_causes():
    agent = make_agent("<code>work</code>", "<code>final</code>")
    agent.run("task")
    error = agent.memory.steps[1].error
    assert str(error) == "the code failed"
    assert repr(error.__context__) == "RuntimeError('the code failed')"
    assert repr(error.__context__.__cause__) == "KeyError('the cause')"
    assert error.__traceback__ is None


def test_error_that_the_caller_handles_keeps_its_traceback():
    agent = make_agent("<code>work</code>", "<code>final</code>")
    handled = ValueError("of the caller")
    try:
        raise handled
    except ValueError:
        agent.run("task")
    names = [entry.name for entry in traceback.extract_tb(handled.__traceback__)]
    assert names == ["test_error_that_the_caller_handles_keeps_its_traceback"]
    assert agent.memory.steps[1].error.__context__.__cause__.__context__ is handled


def test_error_that_the_reader_of_a_stream_handles_keeps_its_traceback():
    agent = make_agent("<code>work</code>", "<code>final</code>")
    handled = ValueError("of the reader")

    def reader():
        try:
            raise handled
        except ValueError:
            yield from agent.run("task", stream=True)

    assert len(list(reader())) == 6
    assert [entry.name for entry in traceback.extract_tb(handled.__traceback__)] == ["reader"]
