"""Outcome of a command: its data, its exit code, and its picture on a terminal."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from ..terminal import TerminalConsole

__all__ = ["DONE", "NOT_DONE", "WRONG_USE", "CommandOutcome", "UsageError", "age_text", "listing"]

#: Exit codes.
DONE, NOT_DONE, WRONG_USE = 0, 1, 2
# Columns where there is no terminal; wide, because tools read such output by lines.
_PLAIN_WIDTH = 160


class UsageError(Exception):
    """A command line that cannot be obeyed; the message says what to write."""


@dataclass(frozen=True)
class CommandOutcome:
    """Outcome of a command.

    Attributes:
        data: for ``--json``.
        show: prints the same for people.
        code: exit code.
    """

    data: Mapping[str, Any]
    show: Callable[[Console], None]
    code: int = DONE

    def write(self, *, as_json: bool) -> None:
        """Write the outcome to standard output."""
        if as_json:
            print(json.dumps(self.data, indent=2))
        elif sys.stdout.isatty():
            self.show(TerminalConsole())
        else:
            plain = io.StringIO()
            self.show(TerminalConsole(file=plain, width=_PLAIN_WIDTH))
            # Tables fill their lines with spaces.
            print("\n".join(line.rstrip() for line in plain.getvalue().splitlines()))


def listing(first: str, *columns: str) -> Table:
    """Return an empty table of things, whose first column is never cut."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def age_text(since: float) -> str:
    """Return the time since then for people.

    Args:
        since: seconds of the epoch.
    """
    seconds = max(0.0, time.time() - since)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
