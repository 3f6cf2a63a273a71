"""The threads of one interpreter's programs: none lives longer than the run that started it.

A program's thread runs the program's code, so it counts and looks at the clock as that does, and
ends with the run (:meth:`Meter.check_thread`). What this module adds is who they are, and the end
of a run: as at the end of a Python process, threads that are not daemons are waited for.
"""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ...stops import FinalAnswer, ProgramStop
from ..meter import Meter
from .showing import ProgramDisplays
from .streams import StandardStreams

__all__ = ["ENDING_SECONDS", "ProgramThreads"]

#: Seconds that the end of a run waits for threads that it has ended.
ENDING_SECONDS = 1.0
_SLICE = 0.005


class ProgramThreads:
    """Registers, waits for and ends the threads of one interpreter's programs.

    Args:
        meter: counts for all of them.
        streams: the program's; a thread's error is written to its standard error.
        displays: the program's; its threads have the same open figures.
    """

    def __init__(self, meter: Meter, streams: StandardStreams, displays: ProgramDisplays) -> None:
        self._meter = meter
        self._streams = streams
        self._displays = displays
        #: Threads at work, by identifier, and whether each is a daemon for the program.
        self._live: dict[int, bool] = {}
        #: Threads that are about to work.
        self._starting: set[threading.Thread] = set()
        #: Pools with threads that wait for work for ever.
        self.pools: weakref.WeakSet[Any] = weakref.WeakSet()
        #: Whether the run ended while threads were waited for, the program's last line having run.
        self.waited = False

    def starting(self, thread: threading.Thread) -> None:
        """Note that ``thread`` is about to start.

        Raises:
            RuntimeError: there is not a run it could belong to.
        """
        self._meter.check()
        if not self._meter.running:
            raise RuntimeError("can't start new thread: threads end with the run they belong to")
        self._starting.add(thread)

    def not_starting(self, thread: threading.Thread) -> None:
        """Note that ``thread`` works, or did not start after all."""
        self._starting.discard(thread)

    def work(self, function: Callable[[], Any], thread: threading.Thread, *, daemon: bool) -> None:
        """Run ``function`` as the whole of a program's ``thread``, in that thread."""
        with contextlib.suppress(BaseException), self._registered(daemon):
            self.not_starting(thread)
            try:
                with self._streams.routed(), self._displays.routed():
                    function()
            except (FinalAnswer, ProgramStop, SystemExit):
                return
            except BaseException as error:
                # Its text may fail, or be cut off by the end of the run.
                if self._meter.end is None:
                    text = "".join(traceback.format_exception(None, error, _own(error)))
                    self._streams.stderr.write(f"Exception in thread {thread.name}:\n{text}")

    def task(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Run ``function`` as one task of a pool's thread, in that thread."""
        with self._registered(daemon=True), self._streams.routed(), self._displays.routed():
            return function(*arguments, **keywords)

    @contextlib.contextmanager
    def _registered(self, daemon: bool) -> Iterator[None]:
        """Let the thread belong to the run that goes on."""
        ident, meter = threading.get_ident(), self._meter
        meter.threads[ident] = meter.number
        self._live[ident] = daemon
        try:
            yield
        finally:
            self._live.pop(ident, None)
            meter.threads.pop(ident, None)

    def wait(self) -> None:
        """Wait for threads that are not daemons, for as long as the run may last.

        Raises:
            ProgramStop: a limit was reached meanwhile.
        """
        self._shut_pools()
        # Not undone by what ends the wait, wherever that comes.
        self.waited = True
        while self._starting or any(not daemon for daemon in list(self._live.values())):
            self._meter.waiting()
            time.sleep(_SLICE)
        # One of them may have been the first to see that the run's time is over.
        self.waited = isinstance(self._meter.end, ProgramStop)

    def end(self) -> None:
        """End what is left, the run being over; wait a little until it has."""
        self._shut_pools(cancel_futures=True)
        until = time.monotonic() + ENDING_SECONDS
        while (self._live or self._starting) and time.monotonic() < until:
            # Without ticks each comes to a check and ends there.
            self._meter.empty()
            time.sleep(_SLICE)
        # A signal that stopped the program in the midst of a start: the thread may never come.
        self._starting.clear()

    def _shut_pools(self, cancel_futures: bool = False) -> None:
        if self.pools:  # to iterate over no pool takes longer
            for pool in list(self.pools):
                pool.shutdown(wait=False, cancel_futures=cancel_futures)


def _own(error: BaseException) -> Any:
    """Give a traceback from the program's first frame on."""
    start = error.__traceback__
    while start is not None and not start.tb_frame.f_code.co_filename.startswith("<program "):
        start = start.tb_next
    return start or error.__traceback__
