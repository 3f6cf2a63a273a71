"""The errors of the maintainers' commands; each message says what to do.

ToolError
  SeriesError      the series, as files or as commits, is not what it should be
  RebaseError      a rebase cannot go on
  SuiteError       the regression suite could not compare, so it says nothing about the fork
  ReleaseError     a release cannot be made
  FetchError       pip could not give a release
  CommandError     a program failed, was overdue or could not be started
    GitError       the program was git
"""

from __future__ import annotations


class ToolError(Exception):
    """A command cannot be carried out."""


class SeriesError(ToolError):
    """The series is not what it should be."""


class RebaseError(ToolError):
    """A rebase cannot go on."""


class SuiteError(ToolError):
    """The comparison could not be made."""


class ReleaseError(ToolError):
    """A release cannot be made."""


class FetchError(ToolError):
    """pip could not give what was asked for."""


class CommandError(ToolError):
    """A program failed; the message ends with the last lines of its output."""

    def __init__(self, what: str, output: str = "") -> None:
        self.what = what
        self.output = output
        super().__init__(f"{what}:\n{last_lines(output, lines=40)}" if output.strip() else what)


class GitError(CommandError):
    """git failed."""


def last_lines(output: str, *, lines: int) -> str:
    """Return the last lines of a program's output."""
    return "\n".join(output.strip().splitlines()[-lines:])
