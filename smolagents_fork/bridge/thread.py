"""Threads of tools that do not run in the thread of the call."""

from __future__ import annotations

import contextlib
import contextvars
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

__all__ = ["CallThread", "GivenUp", "ToolThread"]

# Longest wait between checks of the deadline, in seconds; a result ends the wait earlier.
_SLICE = 0.2


class CallThread(threading.Thread):
    """Thread of one call, which ends with it.

    No tool runs in it: an object bound to the thread could not be used by the next call.
    """


class GivenUp(Exception):
    """The tool was abandoned: it keeps running, and its result is discarded.

    Args:
        reason: ``"interrupt"`` or ``"timeout"``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ToolThread:
    """Runner of functions, one at a time, in the same thread until one is abandoned.

    Connections and event loops are bound to the thread that opened them, hence one thread. It is a
    daemon thread: Python cannot stop it and must not wait for it at exit.

    The thread also ends when this object is collected. That runs no Python code in the thread that
    collects: a signal's handler that ran within it could not raise.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Any] | None = None
        self._outcome: SimpleQueue[Any] | None = None
        self._thread: threading.Thread | None = None
        self._abandoned: list[threading.Thread] = []

    @property
    def abandoned(self) -> int:
        """Number of abandoned functions that still run."""
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        return len(self._abandoned)

    def run(
        self, function: Callable[[], Any], seconds: float | None, stopped: Callable[[], bool]
    ) -> tuple[bool, Any]:
        """Run ``function`` in a copy of the caller's context.

        Args:
            seconds: its time limit in seconds; ``None`` for no limit.
            stopped: returns whether :meth:`interrupt` was called before this method could see it.

        Returns:
            ``True`` and the return value, or ``False`` and the exception of the function. An
            exception of the function is never raised here.

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
            # GivenUp, or Ctrl-C in the waiting thread: the next function gets a new thread.
            self.close()
            if self._thread is not None:
                self._abandoned.append(self._thread)
            raise
        finally:
            self._outcome = None

    def interrupt(self) -> None:
        """Abandon the running function, if there is one. May be called from any thread."""
        outcome = self._outcome
        if outcome is not None:
            outcome.put((None, None))

    def close(self) -> None:
        """Let the thread end when it is idle. Idempotent."""
        jobs, self._jobs = self._jobs, None
        if jobs is not None:
            jobs.put(None)

    def _start(self) -> SimpleQueue[Any]:
        jobs: SimpleQueue[Any] = SimpleQueue()
        self._jobs = jobs
        collected = weakref.ref(self, jobs.put)
        arguments = (jobs, collected)
        self._thread = threading.Thread(target=_serve, args=arguments, name="tools", daemon=True)
        self._thread.start()
        return jobs

    def _wait(self, outcome: SimpleQueue[Any], seconds: float | None) -> tuple[bool, Any]:
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            seconds_left = _SLICE if end is None else end - time.monotonic()
            with contextlib.suppress(Empty):
                returned, value = outcome.get(timeout=max(0.0, min(_SLICE, seconds_left)))
                if returned is None:
                    raise GivenUp("interrupt")
                return returned, value
            if end is not None and time.monotonic() >= end:
                raise GivenUp("timeout")


def _serve(jobs: SimpleQueue[Any], collected: weakref.ref[ToolThread]) -> None:
    # The reference is kept for its callback, which puts it into the queue.
    while (job := jobs.get()) is not None and job is not collected:
        context, function, outcome = job
        try:
            outcome.put((True, context.run(function)))
        except BaseException as error:  # SystemExit of a tool must not end this thread
            outcome.put((False, error))
        del job, context, function, outcome  # an idle thread must not keep objects alive
