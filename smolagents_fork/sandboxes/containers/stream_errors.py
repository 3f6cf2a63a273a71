"""Errors of streams into sandboxes, for engines of every kind."""

from __future__ import annotations

from ...errors import ExecutorError

__all__ = ["StreamLost", "TooMuchOutput"]


class StreamLost(ExecutorError):
    """The stream to a program in the sandbox was lost; the program may have run."""


class TooMuchOutput(ExecutorError):
    """A program wrote more than the caller allowed."""
