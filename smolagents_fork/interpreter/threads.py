"""The threads of one interpreter's programs: none lives longer than the run that started it.

A program's thread runs the program's code, so it counts and looks at the clock as that does, and
ends with the run (:meth:`Meter.check_thread`). What this module adds is who they are, and the end
of a run: as at the end of a Python process, threads that are no daemons are waited for.
"""

from __future__ import annotations

import contextvars
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from . import unraisable, watch
from .meter import FinalAnswer, LateStop, Meter, ProgramStop

__all__ = ["ENDING_SECONDS", "Threads"]

#: Seconds that the end of a run waits for threads that it has ended.
ENDING_SECONDS = 1.0
#: Seconds after which such a thread is broken off in library code, and between two attempts.
_PATIENCE = 0.2
_SLICE = 0.005


class Threads:
    """Starts, waits for and ends the threads of one interpreter's programs.

    Args:
        meter: its limits.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        #: Threads at work, by identifier; the value is what the program sees of the thread.
        self.live: dict[int, Any] = {}
        self._starting = 0
        self._lock = threading.Lock()
        self._listener: unraisable.Listener | None = None
        #: Pools with threads that wait for work for ever.
        self.pools: weakref.WeakSet[Any] = weakref.WeakSet()
        #: Whether the run ended while threads were waited for, the program's last line having run.
        self.waited = False
        #: Context variables of the host, for tools that are called in a thread.
        self.context = contextvars.Context()

    def begin(self, listener: unraisable.Listener) -> None:
        """A run begins, whose words ``listener`` hears."""
        self._listener = listener
        self.context = contextvars.copy_context()
        self.waited = False

    def start(
        self, shown: Any, work: Callable[[], Any], failed: Callable[[BaseException], Any]
    ) -> None:
        """Start a thread that does ``work``, and wait until it runs.

        Args:
            shown: what the program sees of the thread.
            work: what it does.
            failed: told of the error that ended it, unless it ended with the run.

        Raises:
            RuntimeError: there is no run, or no room for one more thread.
        """
        meter = self._meter
        meter.stopped()
        number = meter.number_here()
        if not meter.running:
            raise RuntimeError("can't start new thread: threads end with the run they belong to")
        begun, listener = threading.Event(), self._listener
        assert listener is not None

        def inside() -> None:
            ident = threading.get_ident()
            meter.threads[ident] = number
            self.live[ident] = shown
            self._count_starting(-1)
            unraisable.begin(listener)
            begun.set()
            try:
                self._work(work, failed)
            finally:
                unraisable.end()
                self.live.pop(ident, None)
                meter.threads.pop(ident, None)

        # For Python a daemon, whatever the program says: one that is held in C code must not hold
        # the host's process when that ends.
        self._count_starting(1)
        try:
            threading.Thread(target=inside, daemon=True).start()
        except BaseException:
            self._count_starting(-1)
            raise
        begun.wait(10.0)

    def _count_starting(self, more: int) -> None:
        with self._lock:
            self._starting += more

    def _work(self, work: Callable[[], Any], failed: Callable[[BaseException], Any]) -> None:
        try:
            try:
                work()
            except (FinalAnswer, ProgramStop, SystemExit):
                return
            except BaseException as error:
                if self._meter.over():
                    return
                failed(error)
        except BaseException:
            return  # the thread's last words failed, or were cut off by the end of the run

    def wait(self) -> None:
        """Wait for threads that are no daemons, for as long as the run may last.

        Raises:
            ProgramStop: a limit was reached meanwhile.
        """
        for pool in list(self.pools):
            pool.shutdown(wait=False)
        # Not undone by what ends the wait, wherever that comes.
        self.waited = True
        while self._starting or any(not shown.daemon for shown in list(self.live.values())):
            self._meter.waiting()
            time.sleep(_SLICE)
        # One of them may have been the first to see that the run's time is over.
        self.waited = self._meter.stop is not None

    def end(self) -> None:
        """End what is left, the run being over; wait a little until it has."""
        for pool in list(self.pools):
            pool._shutdown = True  # no work any more; its locks may be held by what is ended now
        if not (self.live or self._starting):
            return
        now = time.monotonic()
        until, again = now + ENDING_SECONDS, now + _PATIENCE
        while (self.live or self._starting) and now < until:
            self._meter.end_threads()
            if now > again:
                again = now + _PATIENCE
                for ident in list(self.live):
                    watch.break_off(ident, LateStop, self._meter.roots())
            time.sleep(_SLICE)
            now = time.monotonic()
        self._meter.threads_ended()
