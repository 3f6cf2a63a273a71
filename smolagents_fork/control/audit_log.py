"""The record of an executor: a line of JSON for what happens, before it where it can be refused.

Docs: ``docs/control.md`` lists the events and their fields.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from .. import telemetry
from ..awaitables import complete
from ..bridge.exceptions import raised_by_signal
from ..errors import AuditError
from ..text.short_texts import limited_text
from .proposals import present_step

__all__ = ["Audit", "AuditLog"]

#: A path of this machine, or a function of a dict.
Audit: TypeAlias = "str | os.PathLike[str] | Callable[[dict[str, Any]], Any]"

_logger = logging.getLogger("smolagents_fork")
# Characters of an error's message in a line.
_LONGEST_ERROR = 1000
_PRIVATE = 0o600
# Fields that have code.
_CODE = frozenset({"code", "proposed_code"})


class AuditLog:
    """Writes the lines of one executor.

    A path is opened for each line, so that it may be moved away meanwhile; a line is one write at
    the end of the file, so that several processes may have the same. A file that is made is for its
    owner alone. A function is called in the thread of what happens, and may be asynchronous.
    Where the application has OpenTelemetry, a line is an event of the present span, too, without
    code.

    Args:
        executor: Class name of the executor.
        sink: Path or function that takes the lines; ``None``: none is written. A relative path
            is that of the present directory, wherever the process changes to afterwards.
        required: Whether an operation whose line cannot be written is refused.

    Raises:
        AuditError: the path cannot be opened for writing, and lines are required.
    """

    def __init__(self, executor: str, sink: Audit | None, *, required: bool) -> None:
        # The directory of the process may change before the last line.
        self._sink = sink if sink is None or callable(sink) else os.path.abspath(sink)
        self._required = required
        if required and isinstance(self._sink, str):
            try:
                os.close(_open(self._sink))
            except (OSError, ValueError) as error:  # the second for a null character
                reason = getattr(error, "strerror", None) or error
                raise AuditError(
                    f"audit={self._sink!r} cannot be written ({type(error).__name__}: "
                    f"{reason}), and nothing runs without a record. Pass another path, or "
                    "audit_required=False"
                ) from None
        # Tells executors of one class apart, in one file.
        self._about = {"executor": executor, "executor_id": secrets.token_hex(4)}
        #: Sandbox of the executor, with its node and tenant; empty before there is one.
        self.sandbox = ""
        #: Tenant of the executor; empty without one.
        self.tenant = ""
        #: The first line that was lost though it was required.
        self.failure: AuditError | None = None
        self._begins_with_line_end = False

    def __bool__(self) -> bool:
        return self._sink is not None

    def write(self, event: str, phase: str, facts: Mapping[str, Any]) -> None:
        """Write a line.

        Args:
            event: what happens, such as ``"run"``.
            phase: ``"begin"``, ``"end"`` or ``"refused"``.
            facts: its further fields.

        Raises:
            AuditError: it could not be written, and has to be.
        """
        if self._sink is None:
            return
        step = present_step()
        line = {
            "time": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            "event": event,
            "phase": phase,
            **self._about,
            "sandbox": self.sandbox,
            "tenant": self.tenant,
            "agent": None if step is None else step.agent_name,
            "step": None if step is None else step.number,
            **facts,
        }
        telemetry.add_event(event, phase, {n: v for n, v in line.items() if n not in _CODE})
        try:
            if callable(self._sink):
                complete(self._sink(line))
            else:
                self._append(self._sink, line)
        except BaseException as error:
            if raised_by_signal(error):
                raise
            reason = f"{type(error).__name__}: {limited_text(error)}"
            if not self._required:
                _logger.error("audit: the line of a %s was lost: %s", event, reason)
                return
            lost = AuditError(
                f"audit: the line about a {event} could not be written ({reason}), and nothing "
                "runs without a record. Mend what audit= writes to"
            )
            self.failure = self.failure or lost
            raise lost from error

    @contextlib.contextmanager
    def operation(self, event: str, facts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Write a line before the block and one after it, with its time and outcome.

        Args:
            event: what happens.
            facts: fields of both lines; code is in the first alone.

        Yields:
            a dict, whose entries are further fields of the second line.

        Raises:
            AuditError: a line could not be written, and has to be.
        """
        if not self:
            yield {}
            return
        self.failure = None
        self.write(event, "begin", facts)
        ended: dict[str, Any] = {}
        started = time.monotonic()
        try:
            yield ended
        except BaseException as error:
            if self.failure is not None:  # a line within the block
                raise self.failure from error.__cause__
            ended |= {"outcome": "failed", **error_facts(error)}
            raise
        else:
            if self.failure is not None:  # its code has caught it
                raise self.failure
            ended.setdefault("outcome", "returned")
        finally:
            seconds = round(time.monotonic() - started, 6)
            if self.failure is None:
                known = {name: value for name, value in facts.items() if name not in _CODE}
                self.write(event, "end", {**known, "seconds": seconds, **ended})

    def _append(self, path: str, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, ensure_ascii=True, default=limited_text).encode() + b"\n"
        if self._begins_with_line_end:  # a line before was written in part
            data = b"\n" + data
        descriptor = _open(path)
        try:
            written = os.write(descriptor, data)
        finally:
            os.close(descriptor)
        self._begins_with_line_end = 0 < written < len(data)
        if written < len(data):
            raise OSError(f"{written} of {len(data)} bytes were written to {path}")


def _open(path: str) -> int:
    """Open the file of a record at its end; return the descriptor."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    # A named pipe that nothing reads is an error then; else the open would wait for a reader.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), _PRIVATE)
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    return descriptor


def error_facts(error: BaseException) -> dict[str, str]:
    """Return the fields of a line that describe an error."""
    return {
        "error_type": type(error).__name__,
        "error": limited_text(error)[:_LONGEST_ERROR],
    }


def code_facts(code: str) -> dict[str, Any]:
    """Return the fields of a line that describe code."""
    digest = hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
    return {"code": code, "sha256": digest}
