"""Cleanup and interruption of an agent's executor, and the text of its outputs.

The hooks of patches ``idempotent-cleanup``, ``interrupt-step``, ``dropped-agent``,
``output-text`` and ``harmless-console``.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
from itertools import islice
from traceback import walk_stack, walk_tb
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from rich.console import Console

from smolagents_fork.terminal import make_harmless
from smolagents_fork.text.short_texts import has_moderate_text, limited_text
from smolagents_fork.text.texts import without_text

if TYPE_CHECKING:
    from smolagents_fork.upstream import CodeAgent, MultiStepAgent

__all__ = [
    "clean_up",
    "interrupt_managed_agents",
    "interrupt_step",
    "keep_terminal_safe",
    "text_of_output",
    "without_frames",
]

_Error = TypeVar("_Error", bound=BaseException)
# Whether a cleanup comes to every agent below one, so that each closes its own executor only.
_visiting: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "smolagents_fork_cleaning_up", default=False
)


def keep_terminal_safe(logger: Any) -> None:
    """Have an agent's logger print nothing that a terminal obeys.

    Args:
        logger: Logger of upstream, or of another kind, which is left alone unless it has such a
            console.
    """
    console = getattr(logger, "console", None)
    if isinstance(console, Console):
        make_harmless(console)


def clean_up(agent: CodeAgent) -> None:
    """Close the executors of the agent and of the managed agents below it.

    Each is closed once after its agent's last step: a second call does nothing unless the agent has
    taken a step or got another executor since the first. An executor that the user gave to a
    managed agent is the user's, and stays. All are tried: the first error is raised, and the next
    call tries again. Safe on an agent whose constructor failed anywhere.
    """
    if _visiting.get():
        _close_executor(agent)
        return
    errors = []
    token = _visiting.set(True)
    try:
        for managed in _list_agents(agent):
            # A managed agent's own, which a subclass may have extended.
            cleanup = getattr(managed, "cleanup", None)
            if managed is agent:
                cleanup = functools.partial(_close_executor, agent)
            elif getattr(managed, "__dict__", {}).get("_executor_given"):
                continue
            if callable(cleanup):
                try:
                    cleanup()
                except Exception as error:
                    errors.append(error)
    finally:
        _visiting.reset(token)
    if errors:
        raise errors[0]


def _list_agents(agent: MultiStepAgent) -> list[Any]:
    """Return an agent and all below it, each once; they may be shared, and manage one another."""
    agents = [agent]
    for manager in agents:
        for managed in getattr(manager, "__dict__", {}).get("managed_agents", {}).values():
            if not any(managed is other for other in agents):
                agents.append(managed)
    return agents


def _close_executor(agent: MultiStepAgent) -> None:
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
    interrupt_managed_agents(agent)
    interrupt = getattr(vars(agent).get("python_executor"), "interrupt", None)
    if callable(interrupt):
        interrupt()


def interrupt_managed_agents(agent: MultiStepAgent) -> None:
    """Interrupt the managed agents of an agent."""
    for managed in agent.managed_agents.values():
        interrupt = getattr(managed, "interrupt", None)
        if callable(interrupt):
            interrupt()


def without_frames(error: _Error) -> _Error:
    """Drop the tracebacks of an error and its causes; the memory of an agent keeps the error.

    Their frames refer to the agent, so that an agent with a failed step would be in a cycle, and
    its sandbox would not end with the last reference to it. Errors that the caller of the agent
    is handling keep theirs.

    Returns:
        The same error.
    """
    callers = _frames_of_callers()
    pending: list[BaseException | None] = [error]
    visited: set[int] = set()
    while pending:
        link = pending.pop()
        if link is None or id(link) in visited or callers & _frames_of(link):
            continue
        visited.add(id(link))
        link.__traceback__ = None
        pending += (link.__cause__, link.__context__, *getattr(link, "exceptions", ()))
    return error


def _frames_of_callers() -> set[FrameType]:
    """Return the frames below that of the patched method, which has called the hook."""
    frame = inspect.currentframe()
    try:
        # Without this function, the hook and the method: a frame must not be in its own variables.
        return {caller for caller, _ in islice(walk_stack(frame), 3, None)}
    finally:
        del frame


def _frames_of(error: BaseException) -> set[FrameType]:
    return {frame for frame, _ in walk_tb(error.__traceback__)}


def text_of_output(agent: MultiStepAgent, output: Any) -> str:
    """Return the text of an output, for the agent's log and its model.

    Executors have a method ``text_of_output(output)``, since the output may be of a class of the
    code's own.

    Returns:
        ``str(output)``, a short form of what is too large for it, or the reason why there is none;
        encodable, and of limited length in any case.
    """
    make = getattr(vars(agent).get("python_executor"), "text_of_output", None)
    if callable(make) and has_moderate_text(output):
        try:
            output = str(make(output))
        except Exception as error:
            output = without_text(output, error)
    return limited_text(output)
