"""Proposals that need approval: code before it runs, and a tool before it is called."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "AgentStep",
    "ProposedCall",
    "ProposedRun",
    "Refused",
    "present_step",
    "stepping",
]


class Refused(PermissionError):
    """Refusal that ``before_run`` or ``before_tool`` raises; the model is told the reason.

    Args:
        reason: Text for the model, such as ``"this agent deletes no files"``.

    Example:
        >>> def before_run(run):
        ...     if "shutil" in run.code:
        ...         raise Refused("this agent changes no folders")
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)


@dataclass
class AgentStep:
    """The step of an agent that runs code.

    Attributes:
        agent_name: name of the agent; ``None`` if it has none.
        number: number of the step, from 1.
        model_output: text of the model, from which the code was taken.
        changed_code: code that ran in place of the model's; ``None`` if none did.
    """

    agent_name: str | None
    number: int
    model_output: str
    changed_code: str | None = None


_present: contextvars.ContextVar[AgentStep | None] = contextvars.ContextVar(
    "smolagents_fork_step", default=None
)


@contextlib.contextmanager
def stepping(step: AgentStep | None) -> Iterator[None]:
    """Attribute all proposals in the block to a step.

    Args:
        step: the step; ``None``: code that no agent runs.
    """
    token = _present.set(step)
    try:
        yield
    finally:
        _present.reset(token)


def present_step() -> AgentStep | None:
    """Return the step that this code belongs to; ``None`` if no agent runs it."""
    return _present.get()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Proposal:
    """What all questions have.

    Attributes:
        executor: class name of the executor.
        agent_name: name of the agent; ``None`` if it has none, or no agent runs the code.
        step_number: number of the agent's step, from 1; ``None`` if no agent runs the code.
    """

    executor: str
    agent_name: str | None
    step_number: int | None
    _withdrawn: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def withdrawn(self) -> bool:
        """Whether the answer is no longer needed: the call was interrupted or closed."""
        return self._withdrawn.is_set()

    def withdraw(self) -> None:
        """Tell the function that its answer is no longer needed. From any thread."""
        self._withdrawn.set()


@dataclass(frozen=True, eq=False, kw_only=True)
class ProposedRun(_Proposal):
    """Code that is about to run; the argument of ``before_run``.

    Attributes:
        code: The whole code.
        model_output: Text of the model, from which the code was taken; empty if no agent runs it.

    Example:
        >>> def before_run(run: ProposedRun) -> str:
        ...     return run.code.replace("6", "5")
        >>> with ProcessExecutor(before_run=before_run) as executor:
        ...     executor("6 * 7").output
        35
    """

    code: str
    model_output: str


@dataclass(frozen=True, eq=False, kw_only=True)
class ProposedCall(_Proposal):
    """A tool that is about to be called on the host; the argument of ``before_tool``.

    Attributes:
        name: Name of the tool, managed agent or function, as the code calls it.
        arguments: Arguments by the names of the tool's parameters, defaults included. A changed
            dict refuses the call. Its values are those that the tool gets: leave them unchanged.

    Example:
        >>> def before_tool(call: ProposedCall) -> None:
        ...     if call.name == "send_mail":
        ...         raise Refused("this agent sends no mail")
        >>> executor = ProcessExecutor(before_tool=before_tool)
    """

    name: str
    arguments: dict[str, Any]
