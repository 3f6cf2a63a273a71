"""Cleanup and interruption of an agent's executor, and the questions that the agent asks it.

The hooks of patches ``idempotent-cleanup``, ``interrupt-step`` and ``output-text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smolagents_fork.texts import plain_text, without_text

if TYPE_CHECKING:
    from smolagents_fork.upstream import CodeAgent, MultiStepAgent

__all__ = ["clean_up", "interrupt_step", "text_of_output"]


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


def text_of_output(agent: MultiStepAgent, output: Any) -> str:
    """The text of what code gave, for the agent's log and its model.

    Executors whose outputs may be instances of the code's own classes make it themselves, in a
    method ``text_of_output(output)``, within the limits of a call.

    Args:
        agent: whose code gave the output.
        output: an output or a final answer.

    Returns:
        ``str(output)``, or why there is none.
    """
    text = plain_text(output)
    if text is not None:
        return text
    make = getattr(vars(agent).get("python_executor"), "text_of_output", None)
    try:
        return str(make(output) if callable(make) else output)
    except Exception as error:
        return without_text(output, error)
