"""One call of a managed agent: what it puts into the agent ends with it.

The hook of patch ``managed-calls``.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from smolagents_fork.codec.rpc import is_nameable
from smolagents_fork.system.forks import ForkSafeLock
from smolagents_fork.text.short_texts import limited_text
from smolagents_fork.upstream import AgentError

if TYPE_CHECKING:
    from smolagents_fork.upstream import MultiStepAgent

__all__ = ["run_managed"]

# Interval at which a waiting call checks whether the agent was interrupted.
_CHECK_SECONDS = 0.2
_LONGEST_NAME = 100

_turns: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_lock = ForkSafeLock()


def run_managed(agent: MultiStepAgent, task: str, arguments: Mapping[str, Any]) -> Any:
    """Run a managed agent for one caller.

    Callers may be different agents, and the code of hostile ones. Their calls follow one another,
    since an agent has one memory. The variables in ``additional_args`` are removed after the call,
    and what they replaced in the agent's state returns.

    Args:
        arguments: Arguments of ``agent.run()``, without the task.

    Returns:
        What ``agent.run()`` returns; a short form of an answer that is too large for a text.

    Raises:
        TypeError: ``additional_args`` is not a dict with names of variables.
        ValueError: one of them is the name of a tool, or Python reserves it, or code cannot write
            it.
        AgentError: the agent was interrupted while this call waited.
    """
    variables = arguments.get("additional_args") or {}
    _check_names(agent, variables)
    shown = {"additional_args": _ShownVariables(variables)} if variables else {}
    with _turn(agent):
        before = {name: agent.state[name] for name in variables if name in agent.state}
        try:
            return _with_text(agent.run(task, **{**arguments, **shown}))
        finally:
            for name in variables:
                agent.state.pop(name, None)
            agent.state.update(before)
            _remove(agent, [name for name in variables if name not in before])


class _ShownVariables(dict[str, Any]):
    """Variables whose text the prompt has; a short form where it would take too long to make."""

    def __str__(self) -> str:
        return limited_text(dict(self), sys.maxsize)


def _with_text(result: Any) -> Any:
    """Return a result that a report can show: the caller gets its text."""
    if hasattr(result, "output"):
        result = result.output
    return result if isinstance(result, str) else limited_text(result)


def _check_names(agent: MultiStepAgent, variables: Any) -> None:
    if not isinstance(variables, dict):
        raise TypeError(
            f"{agent.name}() takes additional_args as a dict of variables, "
            f"not as {type(variables).__name__}"
        )
    runs_code = hasattr(agent, "python_executor")
    tools = {"final_answer", *agent.tools, *agent.managed_agents}
    for name in variables:
        prefix = f"{agent.name}(): additional_args has the name {repr(name)[:_LONGEST_NAME]}"
        if not isinstance(name, str):
            raise TypeError(f"{prefix}; use text")
        if runs_code and not (is_nameable(name) and normalize("NFKC", name) == name):
            raise ValueError(f"{prefix}, which code cannot write; use an identifier")
        if name.startswith("__") and name.endswith("__"):
            raise ValueError(f"{prefix}, which Python reserves; use another")
        if name in tools:
            raise ValueError(f"{prefix} of a tool of that agent; use another")


@contextlib.contextmanager
def _turn(agent: MultiStepAgent) -> Iterator[None]:
    with _lock:
        turn = _turns.setdefault(agent, threading.RLock())
    while not turn.acquire(timeout=_CHECK_SECONDS):
        # The run that goes on cleared it when it began.
        if agent.interrupt_switch:
            raise AgentError("Agent interrupted.", agent.logger)
    try:
        yield
    finally:
        turn.release()


def _remove(agent: MultiStepAgent, names: list[str]) -> None:
    """Remove variables of the agent's code; an executor that has ended has none."""
    executor = getattr(agent, "python_executor", None)
    if executor is None or not names:
        return
    remove = getattr(executor, "remove_variables", None)
    with contextlib.suppress(Exception):
        if callable(remove):
            remove(names)
        else:
            executor.send_variables(dict.fromkeys(names))
