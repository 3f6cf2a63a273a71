"""The thread that runs a dispatcher's tools, so that whoever waits for one can stop waiting."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["GivenUp", "ToolThread"]

# Longest wait without a look at anything, in seconds; what is waited for wakes it before.
_SLICE = 0.2


class GivenUp(Exception):
    """Nobody waits for the tool any more; it goes on by itself, and its result is dropped.

    Args:
        reason: ``"interrupt"`` or ``"timeout"``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ToolThread:
    """Runs functions one after the other, all in the same thread as long as none is given up on.

    One thread, because connections and event loops that a tool opens are bound to where they were
    opened. It is a daemon: Python cannot stop it, and must not wait for it at exit.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Any] | None = None
        self._outcome: SimpleQueue[Any] | None = None
        self._finalizer: Any = None

    def run(
        self, function: Callable[[], Any], seconds: float | None, stopped: Callable[[], bool]
    ) -> tuple[bool, Any]:
        """Run ``function`` in a copy of the caller's context.

        Args:
            function: what to run.
            seconds: how long it may take; ``None`` for as long as it likes.
            stopped: whether :meth:`interrupt` was called too early to be heard here.

        Returns:
            ``True`` and what it returned, or ``False`` and the exception it raised: what is raised
            here is never the function's.

        Raises:
            GivenUp: it was interrupted, or took too long.
        """
        outcome: SimpleQueue[Any] = SimpleQueue()
        self._outcome = outcome
        if stopped():
            raise GivenUp("interrupt")
        jobs = self._jobs if self._jobs is not None else self._start()
        jobs.put((contextvars.copy_context(), function, outcome))
        try:
            return self._wait(outcome, seconds)
        except BaseException:
            # GivenUp, or Ctrl-C in the thread that waits: what comes next gets a thread of its own.
            self.close()
            raise
        finally:
            self._outcome = None

    def interrupt(self) -> None:
        """Give up on what runs now, if something does. From any thread."""
        outcome = self._outcome
        if outcome is not None:
            outcome.put((None, None))

    def close(self) -> None:
        """Let the thread end once it has nothing to do. Idempotent."""
        self._jobs = None
        if self._finalizer is not None:
            self._finalizer()

    def _start(self) -> SimpleQueue[Any]:
        jobs: SimpleQueue[Any] = SimpleQueue()
        self._jobs = jobs
        self._finalizer = weakref.finalize(self, jobs.put, None)
        threading.Thread(target=_serve, args=(jobs,), name="tools", daemon=True).start()
        return jobs

    def _wait(self, outcome: SimpleQueue[Any], seconds: float | None) -> tuple[bool, Any]:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            left = _SLICE if end is None else end - time.monotonic()
            with contextlib.suppress(Empty):
                returned, value = outcome.get(timeout=max(0.0, min(_SLICE, left)))
                if returned is None:
                    raise GivenUp("interrupt")
                return returned, value
            if end is not None and time.monotonic() >= end:
                raise GivenUp("timeout")


def _serve(jobs: SimpleQueue[Any]) -> None:
    while (job := jobs.get()) is not None:
        context, function, outcome = job
        try:
            outcome.put((True, context.run(function)))
        except BaseException as error:  # SystemExit too: it is the tool's, and ends nothing here
            outcome.put((False, error))
        del job, context, function, outcome  # an idle thread keeps nothing alive
