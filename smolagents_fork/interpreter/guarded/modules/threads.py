"""The threads of one interpreter's programs: none lives longer than the run that started it.

A program's thread runs the program's code, so it counts and looks at the clock as that does, and
ends with the run (:meth:`Meter.check_thread`). This module adds the list of them, and the end of a
run: as at the end of a Python process, threads that are not daemons are waited for. Locks,
queues and futures are Python's own: a wait on one is C code, and ends when it ends.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...program_text import find_program
from ...stops import FinalAnswer, ProgramStop
from ..meter import Meter
from .places import ProgramPlaces

__all__ = ["ENDING_SECONDS", "ProgramThreads"]

#: Seconds that the end of a run waits for threads that it has ended.
ENDING_SECONDS = 1.0
#: Seconds between two looks at the threads that are left.
_SHORT_SLICE = 0.005


class ProgramThreads:
    """Registers, waits for and ends the threads of one interpreter's programs.

    Args:
        meter: counts for all of them.
        places: the program's; a thread's error is written to its standard error.
    """

    def __init__(self, meter: Meter, places: ProgramPlaces) -> None:
        self._meter = meter
        self._places = places
        #: Threads that work or are about to, and whether each is a daemon for the program.
        self._live: dict[threading.Thread, bool] = {}
        #: Pools with threads that wait for work for ever.
        self._pools: weakref.WeakSet[Any] = weakref.WeakSet()
        #: Whether the run ended while threads were waited for, the program's last line having run.
        self.waited = False

    def members(self) -> dict[str, Any]:
        """Make the members of time, threading and concurrent.futures that a run limits, by name."""
        thread = _thread_class(self)
        timer = type("Timer", (threading.Timer, thread), {"__module__": "threading"})
        pool = _pool_class(self)
        return {cls.__name__: cls for cls in (thread, timer, pool)} | {"sleep": self._sleep}

    def _sleep(self, seconds: float, /) -> None:
        # In slices, so that the deadline is kept; the meter is asked even for sleep(0).
        self._meter.charge(1)
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        end = time.monotonic() + seconds
        while True:
            rest = end - time.monotonic()
            longest = self._meter.waiting()
            if rest <= 0:
                return
            time.sleep(min(rest, longest))

    def start(self, thread: threading.Thread, start: Callable[[], None]) -> None:
        """Start a thread of the program's, which belongs to the run that goes on.

        Args:
            thread: has not been started.
            start: the library's own method.

        Raises:
            RuntimeError: there is not a run it could belong to.
        """
        number = self._meter.number  # before the check: a run that ends here takes the thread along
        self._meter.check()
        if not self._meter.running:
            raise RuntimeError("can't start new thread: threads end with the run they belong to")
        run, daemon = thread.run, thread.daemon
        thread.run = lambda: self._work(run, thread, number)  # type: ignore[method-assign]
        # For Python a daemon, whatever the program says: a thread in C code must not keep the
        # host's process.
        thread.daemon = True
        self._live[thread] = daemon
        try:
            start()
        except BaseException:
            self._live.pop(thread, None)
            raise

    def _work(self, function: Callable[[], Any], thread: threading.Thread, number: int) -> None:
        """Run ``function`` as the whole of a program's ``thread``, in that thread."""
        with contextlib.suppress(BaseException), self._registered(thread, number):
            try:
                function()
            except (FinalAnswer, ProgramStop, SystemExit):
                return
            except BaseException as error:
                # Its text may fail, or be cut off by the end of the run.
                if self._meter.end is None:
                    text = "".join(traceback.format_exception(None, error, _own(error)))
                    self._places.stderr.write(f"Exception in thread {thread.name}:\n{text}")

    def add_pool(self, pool: ThreadPoolExecutor) -> None:
        """Have a pool shut down at the end of the run."""
        self._pools.add(pool)

    def task(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``function`` as one task of a pool's thread, which belongs to this run."""
        number = self._meter.number

        def run(*arguments: Any, **keywords: Any) -> Any:
            thread = threading.current_thread()
            self._live[thread] = True
            with self._registered(thread, number):
                return function(*arguments, **keywords)

        return run

    @contextlib.contextmanager
    def _registered(self, thread: threading.Thread, number: int) -> Iterator[None]:
        """Let this thread belong to a run, and have the streams and figures of its program."""
        ident, meter = threading.get_ident(), self._meter
        meter.threads[ident] = number
        try:
            with self._places.routed_thread():
                yield
        finally:
            self._live.pop(thread, None)
            meter.threads.pop(ident, None)

    def wait(self) -> None:
        """Wait for threads that are not daemons, for as long as the run may last.

        Raises:
            ProgramStop: a limit was reached meanwhile.
        """
        self._shut_pools()
        # Not undone by what ends the wait, wherever that comes.
        self.waited = True
        while not all(list(self._live.values())):
            self._meter.waiting()
            time.sleep(_SHORT_SLICE)
        # One of them may have been the first to see that the run's time is over.
        self.waited = isinstance(self._meter.end, ProgramStop)

    def end(self) -> None:
        """End what is left, the run being over; wait a little until it has."""
        self._shut_pools(cancel_futures=True)
        until = time.monotonic() + ENDING_SECONDS
        while self._live and time.monotonic() < until:
            # Without ticks each comes to a check and ends there.
            self._meter.empty()
            time.sleep(_SHORT_SLICE)
        # What waits in C code ends at its next check, whenever that is: later runs do not wait for
        # it. A thread may never come if a signal stopped the program in the midst of a start.
        self._live.clear()

    def _shut_pools(self, cancel_futures: bool = False) -> None:
        if self._pools:  # to iterate over no pool takes longer
            for pool in list(self._pools):
                pool.shutdown(wait=False, cancel_futures=cancel_futures)


def _thread_class(threads: ProgramThreads) -> type:
    class Thread(threading.Thread):
        def start(self) -> None:
            if self.ident is None:
                threads.start(self, super().start)
            else:
                super().start()  # says what is wrong

    Thread.__module__, Thread.__qualname__ = "threading", "Thread"
    return Thread


def _pool_class(threads: ProgramThreads) -> type:
    class TrackedThreadPool(ThreadPoolExecutor):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            threads.add_pool(self)

        def submit(self, fn: Any, /, *arguments: Any, **keywords: Any) -> Any:
            return super().submit(threads.task(fn), *arguments, **keywords)

    TrackedThreadPool.__name__ = TrackedThreadPool.__qualname__ = "ThreadPoolExecutor"
    TrackedThreadPool.__module__ = ThreadPoolExecutor.__module__
    return TrackedThreadPool


def _own(error: BaseException) -> Any:
    """Give a traceback from the program's first frame on."""
    start = error.__traceback__
    while start is not None and find_program(start.tb_frame.f_code.co_filename) is None:
        start = start.tb_next
    return start or error.__traceback__
