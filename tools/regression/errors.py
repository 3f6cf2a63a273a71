"""The one error of the suite: it could not run, so it says nothing about the fork (exit 2)."""

from __future__ import annotations

__all__ = ["SuiteError"]


class SuiteError(Exception):
    """The comparison could not be made; the message says which step stopped and what to do."""
