"""Printed text and displays of one call of code: one limit and one form of the logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .displays import DisplayLog
from .output import OutputCallback, PrintContainer
from .results import Display

__all__ = ["CallOutput"]


class CallOutput:
    """Printed text and displays of one call, within limits.

    Args:
        print_length: characters kept of the printed text, first and last half.
        max_value_bytes: largest encoded value; see :class:`DisplayLog`.
        on_output: takes printed text as it comes; ``None``: nobody does.
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
        #: What the code displayed.
        self.shown = DisplayLog(max_value_bytes, save)

    def write(self, text: str) -> None:
        """Add printed text, and give it to the user's function."""
        if text:
            self._printed.append(text)
            self._on_output(text)

    @property
    def displays(self) -> tuple[Display, ...]:
        """Displays of the call, in order."""
        return tuple(self.shown.displays)

    def logs(self) -> str:
        """Return the printed text, and notes about what was dropped."""
        return self._printed.text() + self.shown.note() + self._on_output.note()
