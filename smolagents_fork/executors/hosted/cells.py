"""Outcome of one run on a hosted service, and its conversion for the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...displays import DisplayLog
from ...jupyter.collector import without_colours
from ...output import OutputCallback, PrintContainer
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
        printed: standard output and standard error, in order.
        result: forms of the last expression's value by MIME type; ``None`` if it has none.
        shown: what the code displayed.
        on_output: the user's, for this run.
        error: the exception that ended the code.
    """

    printed: PrintContainer = field(default_factory=PrintContainer)
    result: Mapping[str, Any] | None = None
    shown: DisplayLog = field(default_factory=lambda: DisplayLog(MAX_VALUE_BYTES))
    error: CellError | None = None
    on_output: OutputCallback = field(default_factory=lambda: OutputCallback(None))

    def write(self, text: str) -> None:
        """Add printed text."""
        text = encodable(text)
        self.printed.append(text)
        self.on_output(text)

    @property
    def logs(self) -> str:
        """Return the printed text without terminal colours, within its limit, and notes."""
        return without_colours(self.printed.text()) + self.on_output.note()

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
