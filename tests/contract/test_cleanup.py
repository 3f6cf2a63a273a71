"""``CodeAgent.cleanup()``: idempotent, and safe on an agent that was never finished."""

from __future__ import annotations

import pytest
from recording import RecordingExecutor
from smolagents import CodeAgent, ToolCallingAgent


@pytest.fixture
def agent(model):
    return CodeAgent(tools=[], model=model, executor_class=RecordingExecutor, verbosity_level=0)


def test_second_cleanup_does_nothing(agent):
    agent.cleanup()
    agent.cleanup()
    assert agent.python_executor.cleanups == 1


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


# -- managed agents --


def make_agent(model, name, **options):
    options = {"executor_class": RecordingExecutor, **options}
    return CodeAgent(
        tools=[], model=model, name=name, description="x", verbosity_level=0, **options
    )


def cleanups():
    return [executor.cleanups for executor in RecordingExecutor.made]


def test_managed_agents_are_cleaned_up_at_any_depth(model):
    lowest = make_agent(model, "lowest")
    web = ToolCallingAgent(
        tools=[], model=model, name="web", description="x", managed_agents=[lowest]
    )
    middle = make_agent(model, "middle", managed_agents=[web])
    with make_agent(model, "manager", managed_agents=[middle]):
        pass
    assert cleanups() == [1, 1, 1]


def test_shared_managed_agent_is_cleaned_up_once(model):
    shared = make_agent(model, "shared")
    calls = []
    shared.cleanup = lambda: calls.append("shared")
    first = make_agent(model, "first", managed_agents=[shared])
    second = make_agent(model, "second", managed_agents=[shared])
    make_agent(model, "manager", managed_agents=[first, second, shared]).cleanup()
    assert calls == ["shared"]
    assert cleanups() == [0, 1, 1, 1]


def test_agents_that_manage_each_other_are_cleaned_up(model):
    one = make_agent(model, "one")
    other = make_agent(model, "other", managed_agents=[one])
    one.managed_agents["other"] = other
    other.cleanup()
    assert cleanups() == [1, 1]
    one.cleanup()
    assert cleanups() == [1, 1]


def test_executor_that_the_user_gave_to_a_managed_agent_stays(model):
    worker = make_agent(model, "worker")
    given = RecordingExecutor([], None)
    options = {"executor_class": None, "executor": given}
    middle = make_agent(model, "middle", managed_agents=[worker], **options)
    manager = make_agent(model, "manager", managed_agents=[middle])
    manager.cleanup()
    assert [worker.python_executor.cleanups, given.cleanups] == [1, 0]
    middle.cleanup()
    assert given.cleanups == 1


def test_failed_cleanup_does_not_keep_the_others(model):
    workers = [make_agent(model, f"worker{number}") for number in range(3)]
    errors = [OSError("first"), OSError("second")]

    def failing():
        raise errors[len(calls)]

    calls = []
    workers[0].python_executor.cleanup = failing
    manager = make_agent(model, "manager", managed_agents=workers)
    with pytest.raises(OSError, match="first"):
        manager.cleanup()
    assert cleanups() == [0, 1, 1, 1]
    del workers[0].python_executor.cleanup
    manager.cleanup()
    assert cleanups() == [1, 1, 1, 1]


def test_run_after_cleanup_makes_managed_agents_be_cleaned_up_again(model):
    worker = make_agent(model, "worker")
    manager = make_agent(model, "manager", managed_agents=[worker])
    manager.cleanup()
    worker.run("anything")
    manager.cleanup()
    assert cleanups() == [2, 1]
