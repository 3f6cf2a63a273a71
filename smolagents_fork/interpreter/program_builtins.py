"""Builtins of programs in a sandbox that differ from Python's own, and notes about their threads.

It is sent to kernels as a single file, so it imports the standard library only.
"""

from __future__ import annotations

import threading
import weakref

__all__ = ["ProgramThreads", "leave", "refuse_debugger", "refuse_input"]


def refuse_input(*_arguments: object, **_keywords: object) -> str:
    """Raise, since there is no user to answer."""
    raise EOFError(
        "input() is not available: the code runs in a sandbox without a terminal. "
        "Use a tool of the agent instead."
    )


def refuse_debugger(*_arguments: object, **_keywords: object) -> None:
    """Raise, since there is no user to answer a debugger either."""
    raise EOFError(
        "breakpoint() is not available: the code runs in a sandbox without a terminal. "
        "Use print() to look at values."
    )


def leave(code: object = None) -> None:
    """End the program."""
    raise SystemExit(code)


class ProgramThreads:
    """Threads of programs, besides those that are there when it is made."""

    def __init__(self) -> None:
        self._known: weakref.WeakSet[threading.Thread] = weakref.WeakSet(threading.enumerate())

    def note(self) -> str:
        """Return a line about threads that go on after their run, each once; empty without any."""
        names = []
        for thread in threading.enumerate():
            # Threads of other classes are libraries' own.
            if thread not in self._known and type(thread).__module__ in ("threading", "__main__"):
                self._known.add(thread)
                names.append(thread.name)
        if not names:
            return ""
        shown = ", ".join(map(repr, names))
        return f"[threads still running: {shown}; they end with the executor]\n"
