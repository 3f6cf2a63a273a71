"""Errors of streams into sandboxes, for engines of every kind."""

from __future__ import annotations

from ..errors import ExecutorError

__all__ = ["StreamLost", "StreamUnsupported", "TooMuchOutput"]


class StreamUnsupported(Exception):
    """This connection to the engine cannot be a raw stream, such as a Windows named pipe."""


class StreamLost(ExecutorError):
    """The stream to a program in the sandbox was lost; the program may have run."""


class TooMuchOutput(ExecutorError):
    """A program wrote more than the caller allowed."""
