"""Control over one executor's code: who is asked before it, and what is recorded of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ..bridge import CallRecord
from ..errors import ForkError
from .approvals import Approvals, BeforeRun, BeforeTool
from .audit_log import Audit, AuditLog, Facts, code_facts, error_facts

__all__ = ["Control"]


class Control:
    """Asks before code and tools, and records both.

    Args:
        executor: class name of the executor.
        before_run: asked before code runs; ``None``: nobody is.
        before_tool: asked before a tool is called; ``None``: nobody is.
        audit: where the record goes; ``None``: nowhere.
        audit_required: whether what cannot be recorded does not happen.
    """

    def __init__(
        self,
        executor: str,
        before_run: BeforeRun | None,
        before_tool: BeforeTool | None,
        audit: Audit | None,
        *,
        audit_required: bool,
    ) -> None:
        self._approvals = Approvals(executor, before_run, before_tool)
        self._asks = before_tool is not None
        self._has_sandbox = False
        self.log = AuditLog(executor, audit, required=audit_required)

    @property
    def before_call(self) -> Callable[[str, Mapping[str, Any]], None] | None:
        """Function to call before a tool is; ``None`` if there is nothing to ask or record."""
        return self._before_call if self._asks or self.log else None

    @contextlib.contextmanager
    def run(self, code: str) -> Iterator[str]:
        """Ask about code, and record what runs in its place.

        Args:
            code: The whole code.

        Yields:
            the code that is to run.

        Raises:
            ForkError: it is not to run; see :meth:`Approvals.allow_run`.
            AuditError: a line of the record was lost.
        """
        try:
            allowed = self._approvals.allow_run(code)
        except ForkError as error:
            self.log.write("run", "refused", {**code_facts(code), **error_facts(error)})
            raise
        facts = code_facts(allowed) if self.log else {}
        if allowed != code:
            facts["proposed_code"] = code
        with self.log.operation("run", facts):
            yield allowed

    def _before_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Ask about a call of a tool and record it; see :meth:`Approvals.allow_call`."""
        try:
            self._approvals.allow_call(name, arguments)
        except Exception as error:
            self.log.write("tool", "refused", {"name": name, **error_facts(error)})
            raise
        self.log.write("tool", "begin", {"name": name})

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

    def transfer(self, action: str, path: str) -> AbstractContextManager[Facts]:
        """Record a file that goes in or out.

        Args:
            action: name of the executor's method.
            path: the code's path.
        """
        return self.log.operation("file", {"action": action, "path": path})

    def accessed(self, event: str, phase: str, facts: Mapping[str, Any]) -> None:
        """Record a connection of the sandbox's, or the use of a secret; from the proxy's threads.

        Args:
            event: ``"connection"`` or ``"secret"``.
            phase: ``"begin"``, ``"end"`` or ``"refused"``.
            facts: host, port, name of the secret, reason or bytes.
        """
        self.log.write(event, phase, facts)

    def interrupt(self) -> None:
        """End the wait for answers. From any thread."""
        self._approvals.interrupt()

    def close(self) -> None:
        """End the wait for answers, for good. Idempotent; from any thread."""
        self._approvals.close()
