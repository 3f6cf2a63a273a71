"""When an agent's executor is closed and interrupted.

The hooks of patches ``idempotent-cleanup`` and ``interrupt-step``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smolagents_fork.upstream_api import CodeAgent, MultiStepAgent

__all__ = ["clean_up", "interrupt_step"]


def clean_up(agent: CodeAgent) -> None:
    """Close the agent's executor, once for what it has run.

    Safe on an agent whose constructor has failed, at whatever line. A second call does nothing
    unless the agent has taken a step, or has been given another executor, since the first; an
    error of the executor's own ``cleanup`` is passed on, and the next call tries again.

    Args:
        agent: the agent, possibly half constructed.
    """
    attributes = vars(agent)
    executor = attributes.get("python_executor")
    cleanup = getattr(executor, "cleanup", None)
    if cleanup is None:
        return
    memory = attributes.get("memory")
    last_step = memory.steps[-1] if memory is not None and memory.steps else None
    closed_executor, closed_step = attributes.get("_closed", (None, None))
    if closed_executor is executor and closed_step is last_step:
        return
    cleanup()
    # Kept by identity: a new run makes new steps, also when it looks the same.
    agent._closed = (executor, last_step)


def interrupt_step(agent: MultiStepAgent) -> None:
    """Stop the code the agent is running, and its managed agents, without waiting for either.

    The agent's own switch is looked at between steps only, so code that runs for long, or waits
    for a managed agent, would not be reached by it. An executor without ``interrupt`` is left to
    end its step.

    Args:
        agent: the agent that was interrupted, from whatever thread.
    """
    for managed in agent.managed_agents.values():
        interrupt_managed = getattr(managed, "interrupt", None)
        if callable(interrupt_managed):
            interrupt_managed()
    interrupt = getattr(vars(agent).get("python_executor"), "interrupt", None)
    if callable(interrupt):
        interrupt()
