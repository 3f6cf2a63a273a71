"""Printed text and displays of one call of code: one limit and one form of the logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .awaitables import complete
from .displays import DisplayLog
from .output import PrintContainer, truncation_note
from .results import Display

__all__ = ["CallOutput", "OutputCallback"]

_MAX_NOTES = 20
# Limit for a count sent by a sandbox; Python refuses to print numbers of thousands of digits.
_MAX_COUNT = 2**63


class OutputCallback:
    """The user's ``on_output`` during one call of code.

    A faulty callback does not break the code whose output it receives: once it has raised, it is
    not called again in this call, and :meth:`note` says so.

    Args:
        function: takes printed text, and may be asynchronous; ``None``: it is only collected.
    """

    def __init__(self, function: Callable[[str], object] | None) -> None:
        self._function = function
        self._error: Exception | None = None

    def __call__(self, text: str) -> None:
        """Give ``text`` to the function, unless that has raised.

        ``KeyboardInterrupt`` and ``SystemExit`` of the function pass.
        """
        if self._function is None or self._error is not None or not text:
            return
        try:
            complete(self._function(text))
        except Exception as error:
            self._error = error

    def note(self) -> str:
        """Return a line for the end of the logs; empty if the function has not raised."""
        error = self._error
        if error is None:
            return ""
        return f"\n[on_output raised {type(error).__name__}: {error}; not called again]"


class CallOutput:
    """Printed text and displays of one call, within limits.

    Args:
        print_length: characters kept of the printed text, first and last half.
        max_value_bytes: largest encoded value; see :class:`DisplayLog`.
        on_output: takes printed text as it arrives; ``None``: it is only collected.
        save: saves an image and returns its path; see :class:`DisplayLog`.

    Example:
        >>> from smolagents_fork.call_output import CallOutput
        >>> output = CallOutput(1000, 1 << 20)
        >>> output.write("a line")
        >>> output.logs()
        'a line'
    """

    def __init__(
        self,
        print_length: int,
        max_value_bytes: int,
        on_output: Callable[[str], object] | None = None,
        save: Callable[[Any], str | None] = lambda _image: None,
    ) -> None:
        self.print_length, self.max_value_bytes = print_length, max_value_bytes
        self._printed = PrintContainer(print_length)
        self._on_output = OutputCallback(on_output)
        self._printed_length = 0
        self._is_gap = False
        self._notes: list[str] = []
        #: ``str()`` of the value, from the sandbox; ``None`` if it has sent none.
        self.value_text: str | None = None
        #: What the code displayed.
        self.shown = DisplayLog(max_value_bytes, save)

    def write(self, text: str) -> None:
        """Add printed text, and give it to the user's function."""
        if text:
            self._is_gap = False
            self._printed_length += len(text)
            self._add(text)

    def _add(self, text: str) -> None:
        self._printed.append(text)
        self._on_output(text)

    def leave_out(self, length: int) -> None:
        """Mark text that was printed and has not arrived, once for pieces in a row.

        Args:
            length: of the text, in characters, as the sandbox says.
        """
        if length <= 0:
            return
        self._printed_length += min(length, _MAX_COUNT)
        if not self._is_gap:
            self._add(truncation_note(self.print_length))
            self._is_gap = True

    def note(self, line: str) -> None:
        """Add a note to the end of the logs; one that is there already counts once."""
        if len(self._notes) < _MAX_NOTES and line not in self._notes:
            self._notes.append(line)

    @property
    def cut_length(self) -> int:
        """Characters that were printed and are not in :meth:`logs`."""
        return max(0, self._printed_length - self.print_length)

    @property
    def displays(self) -> tuple[Display, ...]:
        """Displays of the call, in order."""
        return tuple(self.shown.displays)

    def logs(self) -> str:
        """Return the printed text, and notes about what was dropped."""
        notes = "".join(f"\n[{note}]" for note in self._notes)
        return self._printed.text() + self.shown.note() + self._on_output.note() + notes
