"""Questions to the user's ``before_run`` and ``before_tool``, and what follows from the answers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..awaitables import complete
from ..bridge.thread import GivenUp, ToolThread
from ..errors import ExecutorError, ProgramInterruptedError, ProgramRefusedError
from .proposals import ProposedCall, ProposedRun, Refused, present_step

__all__ = ["Approvals", "BeforeRun", "BeforeTool"]

#: Both may be asynchronous.
BeforeRun: TypeAlias = "Callable[[ProposedRun], Any]"
BeforeTool: TypeAlias = "Callable[[ProposedCall], Any]"

# Longest wait for the question of another thread between looks at an interruption, in seconds.
_SLICE = 0.2


class Approvals:
    """Asks the user's functions, one question at a time.

    A function runs in a thread of its own: :meth:`interrupt` ends the wait for it at once, and it
    reads that in ``withdrawn``. One that raises anything but :class:`Refused`, or returns a
    value that is not an answer, refuses, too: nothing runs that was not allowed.

    Args:
        executor: class name of the executor.
        before_run: asked before code runs; ``None``: nobody is.
        before_tool: asked before a tool is called; ``None``: nobody is.
    """

    def __init__(
        self, executor: str, before_run: BeforeRun | None, before_tool: BeforeTool | None
    ) -> None:
        self._executor = executor
        self._before_run = before_run
        self._before_tool = before_tool
        self._turn = threading.Lock()
        self._thread = ToolThread()
        self._asked: set[ProposedRun | ProposedCall] = set()

    def allow_run(self, code: str) -> str:
        """Ask about code and return what is to run.

        Args:
            code: The whole code.

        Raises:
            ProgramRefusedError: it was refused; says why.
            ProgramInterruptedError: :meth:`interrupt` was called meanwhile.
            ExecutorError: the function raised something else, or returned another value.
        """
        if self._before_run is None:
            return code
        step = present_step()
        output = "" if step is None else step.model_output
        proposal = ProposedRun(**self._about(), code=code, model_output=output)
        try:
            returned, answer = self._ask(self._before_run, proposal)
        except GivenUp:
            raise ProgramInterruptedError(
                "interrupt() was called while before_run was asked; the code did not run"
            ) from None
        if not returned and isinstance(answer, Refused):
            raise ProgramRefusedError(f"before_run refused this code: {answer}")
        if not returned:
            raise _failure("before_run", "the code did not run", answer) from answer
        if answer is None or answer == code:
            return code
        if not isinstance(answer, str):
            raise ExecutorError(
                f"before_run returned a value of type {type(answer).__name__}; the code did not "
                "run. Return None to allow it, another text to run that instead, or raise "
                "Refused(reason)"
            )
        if step is not None:
            step.changed_code = answer
        return answer

    def allow_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Ask about a call of a tool.

        Args:
            name: name that the code calls it by.
            arguments: by parameter.

        Raises:
            Refused: it was refused; says why.
            TimeoutError: :meth:`interrupt` was called meanwhile.
            ExecutorError: the function raised something else, or returned another value.
        """
        if self._before_tool is None:
            return
        proposal = ProposedCall(**self._about(), name=name, arguments=arguments)
        try:
            returned, answer = self._ask(self._before_tool, proposal)
        except GivenUp:
            raise TimeoutError(
                f"{name}() was interrupted while before_tool was asked; it was not called"
            ) from None
        if not returned and isinstance(answer, Refused):
            raise Refused(f"before_tool refused {name}(): {answer}")
        if not returned:
            raise _failure("before_tool", f"{name}() was not called", answer) from answer
        if answer is not None:
            raise ExecutorError(
                f"before_tool returned a value of type {type(answer).__name__}; {name}() was not "
                "called. Return None to allow it, or raise Refused(reason)"
            )

    def interrupt(self) -> None:
        """End the wait for answers; no-op when nobody is asked. From any thread."""
        for proposal in list(self._asked):
            proposal.withdraw()
        self._thread.interrupt()

    def close(self) -> None:
        """End the wait for answers, and the thread. Idempotent; from any thread."""
        self.interrupt()
        self._thread.close()

    def _about(self) -> dict[str, Any]:
        step = present_step()
        return {
            "executor": self._executor,
            "agent_name": None if step is None else step.agent_name,
            "step_number": None if step is None else step.number,
        }

    def _ask(self, function: Callable[[Any], Any], proposal: Any) -> tuple[bool, Any]:
        """Return ``True`` and the answer, or ``False`` and the exception of the function.

        Raises:
            GivenUp: the question was withdrawn.
        """
        self._asked.add(proposal)
        try:
            # Threads of a program may call tools at once.
            while not self._turn.acquire(timeout=_SLICE):
                if proposal.withdrawn:
                    raise GivenUp("interrupt")
            try:
                return self._thread.run(
                    functools.partial(_answer, function, proposal), None, lambda: proposal.withdrawn
                )
            finally:
                self._turn.release()
        except BaseException:  # Ctrl-C in the waiting thread is one
            proposal.withdraw()
            raise
        finally:
            self._asked.discard(proposal)


def _answer(function: Callable[[Any], Any], proposal: Any) -> Any:
    return complete(function(proposal))


def _failure(function: str, effect: str, error: BaseException) -> ExecutorError:
    return ExecutorError(
        f"{function} raised {type(error).__name__}: {error}; {effect}. To refuse, raise "
        "Refused(reason)"
    )
