"""Control over one executor's code: approval before it runs, and the record of it."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from ..awaitables import complete
from ..bridge import CallRecord
from ..bridge.thread import GivenUp, ToolThread
from ..errors import ExecutorError, ForkError, ProgramInterruptedError, ProgramRefusedError
from ..text.short_texts import limited_text
from .audit_log import Audit, AuditLog, code_facts, error_facts
from .proposals import ProposedCall, ProposedRun, Refused, present_step

__all__ = ["BeforeRun", "BeforeTool", "Control"]

#: Both may be asynchronous.
BeforeRun: TypeAlias = "Callable[[ProposedRun], Any]"
BeforeTool: TypeAlias = "Callable[[ProposedCall], Any]"

# Longest wait for the question of another thread between looks at an interruption, in seconds.
_SLICE = 0.2


class Control:
    """Asks the user's functions before code and tools, one question at a time, and records both.

    A function runs in a thread of its own: :meth:`interrupt` ends the wait for it at once, and it
    reads that in ``withdrawn``. One that raises anything but :class:`Refused`, or returns a
    value that is not an answer, refuses, too: nothing runs that was not allowed.

    Args:
        executor: class name of the executor.
        before_run: asked before code runs; ``None``: all code is allowed.
        before_tool: asked before a tool is called; ``None``: all calls are allowed.
        audit: destination of the record; ``None``: there is none.
        audit_required: whether what cannot be recorded does not happen.
    """

    def __init__(
        self,
        executor: str,
        before_run: BeforeRun | None,
        before_tool: BeforeTool | None,
        audit: Audit | None = None,
        *,
        audit_required: bool = True,
    ) -> None:
        self._executor = executor
        self._before_run = before_run
        self._before_tool = before_tool
        self._turn = threading.Lock()
        self._thread = ToolThread()
        self._asked: set[ProposedRun | ProposedCall] = set()
        self._has_sandbox = False
        self.log = AuditLog(executor, audit, required=audit_required)

    @property
    def before_call(self) -> Callable[[str, Mapping[str, Any]], None] | None:
        """Function to call before a tool is; ``None`` if there is nothing to ask or record."""
        return self._before_call if self._before_tool is not None or self.log else None

    @contextlib.contextmanager
    def run(self, code: str) -> Iterator[str]:
        """Ask about code, and record what runs in its place.

        Yields:
            the code that is to run.

        Raises:
            ProgramRefusedError: it was refused; says why.
            ProgramInterruptedError: :meth:`interrupt` was called while ``before_run`` was asked.
            ExecutorError: the function raised something else, or returned another value.
            AuditError: a line of the record was lost.
        """
        try:
            allowed = self._allow_run(code)
        except ForkError as error:
            self.log.write("run", "refused", {**code_facts(code), **error_facts(error)})
            raise
        facts = code_facts(allowed) if self.log else {}
        if allowed != code:
            facts["proposed_code"] = code
        with self.log.operation("run", facts):
            yield allowed

    def _allow_run(self, code: str) -> str:
        """Ask about code and return what is to run."""
        if self._before_run is None:
            return code
        step = present_step()
        output = "" if step is None else step.model_output
        proposal = ProposedRun(**self._about(), code=code, model_output=output)
        try:
            answer = self._ask("before_run", self._before_run, proposal, "the code did not run")
        except GivenUp:
            raise ProgramInterruptedError(
                "interrupt() was called before before_run answered; the code did not run"
            ) from None
        except Refused as refused:
            raise ProgramRefusedError(
                f"before_run refused this code: {_reason_of(refused)}"
            ) from None
        if answer is None or answer == code:
            return code
        if not isinstance(answer, str):
            raise ExecutorError(
                f"before_run returned a value of type {type(answer).__name__}; the code did not "
                "run. Return None to allow it, other code as text to run instead, or raise "
                "Refused(reason)"
            )
        if step is not None:
            step.changed_code = answer
        return answer

    def _before_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Ask about a call of a tool and record it.

        Raises:
            Refused: it was refused; says why.
            TimeoutError: :meth:`interrupt` was called while ``before_tool`` was asked.
            ExecutorError: the function raised something else, or returned another value.
        """
        try:
            self._allow_call(name, arguments)
        except Exception as error:
            self.log.write("tool", "refused", {"name": name, **error_facts(error)})
            raise
        self.log.write("tool", "begin", {"name": name})

    def _allow_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        if self._before_tool is None:
            return
        shown = dict(arguments)
        proposal = ProposedCall(**self._about(), name=name, arguments=shown)
        try:
            answer = self._ask(
                "before_tool", self._before_tool, proposal, f"{name}() was not called"
            )
        except GivenUp:
            raise TimeoutError(
                f"{name}() was interrupted before before_tool answered; it was not called"
            ) from None
        except Refused as refused:
            raise Refused(f"before_tool refused {name}(): {_reason_of(refused)}") from None
        if answer is not None:
            raise ExecutorError(
                f"before_tool returned a value of type {type(answer).__name__}; {name}() was not "
                "called. Return None to allow it, or raise Refused(reason)"
            )
        if shown.keys() != arguments.keys() or any(
            shown[parameter] is not value for parameter, value in arguments.items()
        ):
            raise ExecutorError(
                f"before_tool changed the arguments; {name}() was not called. Return None to allow "
                "the call as it is, or raise Refused(reason)"
            )

    def _about(self) -> dict[str, Any]:
        step = present_step()
        return {
            "executor": self._executor,
            "agent_name": None if step is None else step.agent_name,
            "step_number": None if step is None else step.number,
        }

    def _ask(self, name: str, function: Callable[[Any], Any], proposal: Any, effect: str) -> Any:
        """Return the answer of a user's function.

        Args:
            name: its name, for messages.
            function: the function.
            proposal: its argument.
            effect: what did not happen because it failed.

        Raises:
            GivenUp: the question was withdrawn.
            Refused: the function refused.
            ExecutorError: it raised something else.
        """
        self._asked.add(proposal)
        try:
            # Threads of a program may call tools at once.
            while not self._turn.acquire(timeout=_SLICE):
                if proposal.withdrawn:
                    raise GivenUp("interrupt")
            try:
                returned, answer = self._thread.run(
                    functools.partial(_answer, function, proposal), None, lambda: proposal.withdrawn
                )
            finally:
                self._turn.release()
        except BaseException:  # Ctrl-C in the waiting thread is one
            proposal.withdraw()
            raise
        finally:
            self._asked.discard(proposal)
        if returned:
            return answer
        if isinstance(answer, Refused):
            raise answer
        raise ExecutorError(
            f"{name} raised {type(answer).__name__}: {limited_text(answer)}; {effect}. To refuse, "
            "raise Refused(reason)"
        ) from answer

    def after_call(self, record: CallRecord) -> None:
        """Record the end of a call.

        Raises:
            AuditError: the line was lost.
        """
        if record.refused:
            return
        facts: dict[str, Any] = {
            "name": record.name,
            "seconds": round(record.seconds, 6),
            "outcome": "returned" if record.error is None else "failed",
            "request_bytes": record.request_bytes,
            "reply_bytes": record.reply_bytes,
        }
        if record.error is not None:
            facts["error"] = record.error
        self.log.write("tool", "end", facts)

    def begin_sandbox(self, name: str, measures: Mapping[str, Any], files: Sequence[str]) -> None:
        """Record a new sandbox, before any code is in it, and the end of the one before.

        Args:
            name: of the sandbox.
            measures: its limits, and what confines it.
            files: paths of the files that it gets.
        """
        self.end_sandbox("replaced")
        self.log.sandbox = name
        self.log.write("sandbox", "begin", {"measures": dict(measures), "files": list(files)})
        self._has_sandbox = True

    def end_sandbox(self, reason: str) -> None:
        """Record the end of the sandbox; no-op without one.

        Args:
            reason: ``"replaced"`` or ``"closed"``.
        """
        if self._has_sandbox:
            self._has_sandbox = False
            self.log.write("sandbox", "end", {"reason": reason})

    def transfer(self, action: str, path: str) -> AbstractContextManager[dict[str, Any]]:
        """Record a file that goes in or out.

        Args:
            action: name of the executor's method.
            path: the code's path.
        """
        return self.log.operation("file", {"action": action, "path": path})

    def interrupt(self) -> None:
        """End the wait for answers; no-op when no question is open. From any thread."""
        for proposal in list(self._asked):
            proposal.withdraw()
        self._thread.interrupt()

    def close(self) -> None:
        """End the wait for answers, for good. Idempotent; from any thread."""
        self.interrupt()
        self._thread.close()


def _answer(function: Callable[[Any], Any], proposal: Any) -> Any:
    return complete(function(proposal))


def _reason_of(refused: Refused) -> str:
    """Return the reason of a refusal as text that can be encoded."""
    return limited_text(refused) or "no reason was given"
