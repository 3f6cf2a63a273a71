"""Cleanup and interruption of an agent's executor, and the text of its outputs.

The hooks of patches ``idempotent-cleanup``, ``interrupt-step`` and ``output-text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smolagents_fork.texts import plain_text, without_text

if TYPE_CHECKING:
    from smolagents_fork.upstream import CodeAgent, MultiStepAgent

__all__ = ["clean_up", "interrupt_step", "text_of_output"]


def clean_up(agent: CodeAgent) -> None:
    """Close the agent's executor, once after its last step.

    Safe on an agent whose constructor failed anywhere. A second call does nothing unless the agent
    has taken a step or got another executor since the first. An error of the executor's ``cleanup``
    is raised, and the next call tries again.

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
    # Compared by identity: a new run makes new steps, even if they are equal.
    agent._closed = (executor, last_step)


def interrupt_step(agent: MultiStepAgent) -> None:
    """Interrupt the agent's code and its managed agents, without waiting for either.

    The agent's own flag is read between steps only, so it does not stop code that runs for long or
    waits for a managed agent. An executor without ``interrupt`` runs its step to the end.

    Args:
        agent: the agent that was interrupted, from any thread.
    """
    for managed in agent.managed_agents.values():
        interrupt_managed = getattr(managed, "interrupt", None)
        if callable(interrupt_managed):
            interrupt_managed()
    interrupt = getattr(vars(agent).get("python_executor"), "interrupt", None)
    if callable(interrupt):
        interrupt()


def text_of_output(agent: MultiStepAgent, output: Any) -> str:
    """Return the text of an output, for the agent's log and its model.

    Executors whose outputs may be instances of the code's own classes have a method
    ``text_of_output(output)``, which makes it within the limits of a call.

    Args:
        agent: whose code gave the output.
        output: an output or a final answer.

    Returns:
        ``str(output)``, or the reason why there is none.
    """
    text = plain_text(output)
    if text is not None:
        return text
    make = getattr(vars(agent).get("python_executor"), "text_of_output", None)
    try:
        return str(make(output) if callable(make) else output)
    except Exception as error:
        return without_text(output, error)
