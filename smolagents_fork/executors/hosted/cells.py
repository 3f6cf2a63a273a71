"""Outcome of one run on a hosted service, and its conversion for the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...call_output import CallOutput
from ...displays import DisplayLog
from ...jupyter.collector import without_colours
from ...texts import encodable

__all__ = ["MAX_VALUE_BYTES", "Cell", "CellError"]


#: Half of the memory that the displays of one call may use, in bytes.
MAX_VALUE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class CellError:
    """Exception that ended the code."""

    name: str
    value: str
    traceback: str


@dataclass
class Cell:
    """One run: what it printed, what it displayed, and how it ended.

    Attributes:
        call: standard output and standard error, in order, and what the code displayed.
        result: forms of the last expression's value by MIME type; ``None`` if it has none.
        error: the exception that ended the code.
    """

    call: CallOutput
    result: Mapping[str, Any] | None = None
    error: CellError | None = None

    @property
    def shown(self) -> DisplayLog:
        """Displays of the code."""
        return self.call.shown

    def write(self, text: str) -> None:
        """Add printed text."""
        self.call.write(encodable(text))

    @property
    def logs(self) -> str:
        """Printed text without terminal colours, within its limit, and notes."""
        return without_colours(self.call.logs())

    def output(self) -> Any:
        """Return the last expression's value; the last image where that has only a text form.

        Called once, since it adds the value's other forms to the displays.
        """
        value = None if self.result is None else self.shown.add_rich(self.result)
        return self.shown.last_image() if value is None else self.shown.output(value)

    def failure_text(self) -> str:
        """Return the printed text and the traceback, for the agent."""
        assert self.error is not None
        traceback = without_colours(self.error.traceback)
        return self.quoted(encodable(traceback or f"{self.error.name}: {self.error.value}"))

    def quoted(self, message: str) -> str:
        """Return ``message`` after the text printed before it."""
        logs = self.logs.rstrip("\n")
        return f"{logs}\n{message}" if logs else message
