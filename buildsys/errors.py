"""The error of a build."""

from __future__ import annotations

__all__ = ["BuildError"]


class BuildError(Exception):
    """The build stopped; the message names the file, the line and what was expected."""
