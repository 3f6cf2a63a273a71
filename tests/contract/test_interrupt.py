"""``agent.interrupt()`` reaches the step that runs, and the agents that work for it."""

from __future__ import annotations

from recording import RecordingExecutor
from smolagents import CodeAgent, ToolCallingAgent


class InterruptibleExecutor(RecordingExecutor):
    interrupts = 0

    def interrupt(self) -> None:
        self.interrupts += 1


def agent_with(model, executor_class=InterruptibleExecutor, **kwargs):
    return CodeAgent(
        tools=[], model=model, executor_class=executor_class, verbosity_level=0, **kwargs
    )


def test_executor_is_interrupted_with_its_agent(model):
    agent = agent_with(model)
    agent.interrupt()
    assert agent.interrupt_switch
    assert agent.python_executor.interrupts == 1


def test_managed_agents_are_interrupted_too(model):
    helper = agent_with(model, name="helper", description="helps")
    web = ToolCallingAgent(tools=[], model=model, name="web", description="x", verbosity_level=0)
    agent = agent_with(model, managed_agents=[helper, web])
    agent.interrupt()
    assert helper.interrupt_switch
    assert helper.python_executor.interrupts == 1
    assert web.interrupt_switch


def test_executor_that_cannot_be_interrupted_is_left_to_end_its_step(model):
    agent = agent_with(model, RecordingExecutor)
    agent.interrupt()
    assert agent.interrupt_switch


def test_next_run_is_not_interrupted(model):
    agent = agent_with(model)
    agent.interrupt()
    assert agent.run("anything") == "1 + 1"


def test_half_made_agent_can_be_interrupted(model):
    agent = agent_with(model)
    del agent.python_executor
    agent.interrupt()
