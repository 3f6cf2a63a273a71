"""``CodeAgent.cleanup()``: idempotent, and safe on an agent that was never finished."""

from __future__ import annotations

import pytest
from recording import RecordingExecutor
from smolagents import CodeAgent


@pytest.fixture
def agent(model):
    return CodeAgent(tools=[], model=model, executor_class=RecordingExecutor, verbosity_level=0)


def test_second_cleanup_does_nothing(agent):
    agent.cleanup()
    agent.cleanup()
    assert agent.python_executor.cleanups == 1


def test_cleanup_inside_the_context_is_not_repeated_at_its_end(agent):
    with agent:
        agent.run("anything")
        agent.cleanup()
    assert agent.python_executor.cleanups == 1


def test_cleanup_after_another_run_closes_again(agent):
    for count in (1, 2):
        agent.run("anything")
        agent.cleanup()
        assert agent.python_executor.cleanups == count


def test_another_executor_is_closed_too(agent):
    agent.cleanup()
    agent.python_executor = RecordingExecutor([], None)
    agent.cleanup()
    assert [executor.cleanups for executor in RecordingExecutor.made] == [1, 1]


def test_agent_that_was_never_constructed_can_be_cleaned_up():
    agent = CodeAgent.__new__(CodeAgent)
    agent.cleanup()
    with agent:
        pass


def test_agent_whose_constructor_failed_can_be_cleaned_up(model):
    class Failing(RecordingExecutor):
        def __init__(self, *args):
            raise RuntimeError("no engine")

    agent = CodeAgent.__new__(CodeAgent)
    with pytest.raises(RuntimeError, match="no engine"):
        agent.__init__(tools=[], model=model, executor_class=Failing)
    with agent:
        agent.cleanup()


def test_subclass_that_fails_after_the_executor_started_closes_it(model):
    class Half(CodeAgent):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            raise RuntimeError("half-way")

    agent = Half.__new__(Half)
    with pytest.raises(RuntimeError, match="half-way"):
        agent.__init__(tools=[], model=model, executor_class=RecordingExecutor)
    with agent:
        pass
    assert RecordingExecutor.made[0].cleanups == 1


def test_executor_without_cleanup_is_left_alone(model):
    agent = CodeAgent(tools=[], model=model, verbosity_level=0)
    del agent.python_executor
    agent.cleanup()


def test_failed_cleanup_is_reported_and_tried_again(agent):
    executor = agent.python_executor
    calls = []

    def failing():
        calls.append(1)
        if len(calls) == 1:
            raise OSError("engine stopped")

    executor.cleanup = failing
    with pytest.raises(OSError, match="engine stopped"):
        agent.cleanup()
    agent.cleanup()
    agent.cleanup()
    assert len(calls) == 2
