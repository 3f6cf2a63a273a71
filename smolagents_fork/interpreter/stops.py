"""Exceptions that end a run through every handler of its program.

Each is a ``BaseException``, so that ``except Exception`` does not catch it.
"""

from __future__ import annotations

__all__ = ["FinalAnswer", "InterruptStop", "ProgramStop", "TimeStop"]


class ProgramStop(BaseException):
    """A limit is reached."""


class TimeStop(ProgramStop):
    """The wall-clock limit is reached."""


class InterruptStop(ProgramStop):
    """The host asked the program to stop."""


class FinalAnswer(BaseException):
    """``final_answer`` was called."""
