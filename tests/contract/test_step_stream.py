"""``agent.run(task, stream=True)``: a reader may leave at any element."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
from typing import Any

import pytest
from recording import RecordingExecutor
from scripted_model import ScriptedModel
from smolagents import CodeAgent, ToolCallingAgent, tool
from smolagents.gradio_ui import stream_to_gradio
from smolagents.memory import ActionStep, TaskStep
from smolagents.models import (
    ChatMessage,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    MessageRole,
)
from smolagents.utils import AgentError

from smolagents_fork.executors.agents import step_stream
from smolagents_fork.executors.agents.step_stream import StepStream

PLAN = "the plan"
CODE = "<code>print('worked')</code>"
ANSWER = "<code>final_answer('answered')</code>"
#: Elements of a run with a plan, a step and an answer, and streamed messages of the model.
ELEMENTS = 14


def make_agent(**options: Any) -> CodeAgent:
    model = ScriptedModel(PLAN, CODE, PLAN, ANSWER, PLAN, ANSWER)
    options = {"planning_interval": 1, "stream_outputs": True, **options}
    return CodeAgent(tools=[], model=model, verbosity_level=0, **options)


@pytest.fixture
def unraisable(monkeypatch):
    errors: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    yield errors
    assert errors == []


def begun_stream(agent: CodeAgent, elements: int) -> Any:
    """Return the stream of a run from which some elements were taken."""
    stream = agent.run("task", stream=True)
    for _ in range(elements):
        next(stream)
    return stream


def check_next_run(agent: CodeAgent) -> None:
    agent.model = ScriptedModel(PLAN, ANSWER)
    assert agent.run("again", reset=False) == "answered"
    tasks = [step.task for step in agent.memory.steps if isinstance(step, TaskStep)]
    assert tasks == ["task", "again"]


def test_whole_stream_is_what_it_was():
    names = [type(step).__name__ for step in make_agent().run("task", stream=True)]
    one_step = ["ChatMessageStreamDelta"] * 2 + ["ToolCall", "ActionOutput", "ActionStep"]
    plan = ["ChatMessageStreamDelta"] * 2 + ["PlanningStep"]
    assert names == [*plan, *one_step, *plan, *one_step, "FinalAnswerStep"]


@pytest.mark.parametrize("elements", range(ELEMENTS))
def test_stream_is_closed_after_any_element(unraisable, elements):
    agent = make_agent()
    stream = begun_stream(agent, elements)
    stream.close()
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)
    check_next_run(agent)


@pytest.mark.parametrize("elements", range(ELEMENTS))
@pytest.mark.parametrize("in_cycle", [False, True])
def test_stream_is_dropped_after_any_element(unraisable, elements, in_cycle):
    agent = make_agent()
    stream = begun_stream(agent, elements)
    if in_cycle:
        agent.stream = stream
        steps = agent.memory.steps
        del stream, agent
        gc.collect()
        assert isinstance(steps[0], TaskStep)
    else:
        del stream
        check_next_run(agent)


@pytest.mark.parametrize("elements", range(1, ELEMENTS))
@pytest.mark.parametrize("error", [ValueError("thrown"), KeyboardInterrupt("thrown")])
def test_error_thrown_into_the_stream_comes_out_at_once(elements, error):
    agent = make_agent()
    stream = begun_stream(agent, elements)
    with pytest.raises(type(error), match="thrown"):
        stream.throw(error)
    with pytest.raises(StopIteration):
        next(stream)
    check_next_run(agent)


def test_thrown_agent_error_ends_the_step():
    agent = make_agent(planning_interval=None)
    stream = begun_stream(agent, 1)
    step = stream.throw(AgentError("try again", agent.logger))
    assert isinstance(step, ActionStep)
    assert str(step.error) == "try again"
    assert agent.memory.steps[-1] is step


def test_memory_keeps_the_step_that_was_left():
    agent = make_agent(planning_interval=None, stream_outputs=False)
    agent.model = ScriptedModel(CODE)
    callbacks: list[Any] = []
    agent.step_callbacks.register(ActionStep, lambda step, agent: callbacks.append(step))
    begun_stream(agent, 1).close()  # after the call of the interpreter, before its code runs
    step = agent.memory.steps[-1]
    assert callbacks == [step]
    assert step.code_action == "print('worked')"
    assert step.error is None
    assert step.timing.end_time is not None
    assert agent.write_memory_to_messages()


@pytest.mark.parametrize("elements", range(1, 9))
def test_page_is_closed_after_any_message(unraisable, elements):
    pytest.importorskip("gradio")
    agent = make_agent()
    page = stream_to_gradio(agent, "task")
    for _ in range(elements):
        next(page)
    page.close()
    check_next_run(agent)


def test_tracers_see_a_generator():
    stream = make_agent().run("task", stream=True)
    assert inspect.isgenerator(stream)
    assert inspect.getgeneratorstate(stream) == inspect.GEN_CREATED
    next(stream)
    assert inspect.getgeneratorstate(stream) == inspect.GEN_SUSPENDED
    stream.close()
    assert inspect.getgeneratorstate(stream) == inspect.GEN_CLOSED
    with pytest.raises(AttributeError, match="'StepStream' object has no attribute 'next'"):
        stream.next()


class WaitingExecutor(RecordingExecutor):
    """Runs code until it is interrupted."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.begun, self.ended = threading.Event(), threading.Event()

    def __call__(self, code_action: str) -> Any:
        self.begun.set()
        self.ended.wait()
        raise RuntimeError("the code was interrupted")

    def interrupt(self) -> None:
        self.ended.set()


class ClosingLock:
    """A lock that is released just after another thread has closed the stream."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.acquire = self.lock.acquire
        self.stream: StepStream | None = None

    def release(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            closing = threading.Thread(target=stream.close)
            closing.start()
            closing.join()
        self.lock.release()


def test_close_between_a_step_and_its_reader_ends_the_run(monkeypatch):
    lock = ClosingLock()
    monkeypatch.setattr(step_stream.threading, "Lock", lambda: lock)
    agent = make_agent()
    stream = agent.run("task", stream=True)
    monkeypatch.undo()
    next(stream)
    lock.stream = stream
    with pytest.raises(StopIteration):
        next(stream)
    assert stream.gi_frame is None
    check_next_run(agent)


def test_interruption_by_close_is_the_end_of_the_stream():
    agent = make_agent()
    closing, closed = threading.Event(), threading.Event()

    def steps() -> Any:
        yield "step"
        closing.set()
        assert closed.wait(60)
        raise AgentError("Agent interrupted.", agent.logger)

    stream = StepStream(agent, steps())
    elements: list[Any] = []
    reader = threading.Thread(target=lambda: elements.extend(stream), daemon=True)
    reader.start()
    assert closing.wait(60)
    stream.close()
    closed.set()
    reader.join(60)
    assert elements == ["step"]


def test_tool_that_closes_the_stream_ends_the_run():
    agent = make_agent(planning_interval=None, stream_outputs=False)
    agent.model = ScriptedModel("<code>leave()\nwhile True: pass</code>", ANSWER)

    @tool
    def leave() -> None:
        """Close the page."""
        stream.close()

    agent.tools["leave"] = leave
    stream = agent.run("task", stream=True)
    assert [type(element).__name__ for element in stream] == ["ToolCall"]
    assert isinstance(agent.memory.steps[-1], ActionStep)
    assert len(agent.memory.steps) == 2


def test_managed_agents_that_work_in_parallel_are_interrupted():
    """A ToolCallingAgent waits for all of its calls before its step ends."""
    slow = CodeAgent(
        tools=[],
        model=ScriptedModel("<code>wait</code>"),
        executor_class=WaitingExecutor,
        name="slow",
        description="Waits.",
        verbosity_level=0,
        max_steps=1,
    )

    @tool
    def quick() -> str:
        """Wait until the other has begun."""
        slow.python_executor.begun.wait()
        return "done"

    calls = [
        ChatMessageToolCall(
            id=name, type="function", function=ChatMessageToolCallFunction(name=name, arguments=has)
        )
        for name, has in (("slow", {"task": "wait"}), ("quick", {}))
    ]

    class Caller(ScriptedModel):
        def generate(self, messages: Any, **kwargs: Any) -> ChatMessage:
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)

    boss = ToolCallingAgent(
        tools=[quick], managed_agents=[slow], model=Caller(), verbosity_level=0, max_tool_threads=2
    )
    stream = boss.run("task", stream=True)
    names = [type(next(stream)).__name__ for _ in range(3)]
    assert names == ["ToolCall", "ToolCall", "ToolOutput"]
    stream.close()
    assert slow.python_executor.ended.is_set()
    assert boss.interrupt_switch is False
