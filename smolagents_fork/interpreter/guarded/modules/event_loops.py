"""asyncio for programs: loops that ask the meter when they wait, closed however a run ends."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import weakref
from asyncio import events
from collections.abc import Callable
from typing import Any

from ..meter import Meter

__all__ = ["EventLoops"]


class _Selector(selectors.DefaultSelector):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def select(self, timeout: float | None = None) -> Any:
        longest = self._meter.waiting()
        return super().select(longest if timeout is None else min(timeout, longest))


class EventLoops:
    """The event loops of one interpreter's programs.

    Args:
        meter: Meter of the interpreter.
        make_pool: makes the pool of threads that a loop calls functions in.
    """

    def __init__(self, meter: Meter, make_pool: Callable[[], Any]) -> None:
        self._meter = meter
        self._make_pool = make_pool
        self._made: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()
        self._current: asyncio.AbstractEventLoop | None = None

    def _new(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.SelectorEventLoop(_Selector(self._meter))
        self._made.add(loop)
        loop.set_exception_handler(lambda _loop, _context: None)
        loop.set_default_executor(self._make_pool())
        return loop

    def get(self) -> asyncio.AbstractEventLoop:
        """Stand for ``asyncio.get_event_loop``: the program's own loop, never the host's."""
        running = events._get_running_loop()
        if running is not None and running in self._made:
            return running
        if self._current is None or self._current.is_closed():
            self._current = self._new()
        return self._current

    def run(self, coroutine: Any, **_options: Any) -> Any:
        """Stand for ``asyncio.run``, which takes its loop from the host's policy."""
        if not asyncio.iscoroutine(coroutine):
            raise ValueError(f"a coroutine was expected, got {coroutine!r}")
        outer = events._get_running_loop()
        if outer in self._made:
            coroutine.close()
            raise RuntimeError("asyncio.run() cannot be called from a running event loop")
        loop = self._new()
        # Set aside the loop of a host that is asynchronous itself: the program has its own.
        events._set_running_loop(None)
        try:
            try:
                return loop.run_until_complete(coroutine)
            finally:
                tasks = asyncio.all_tasks(loop)
                for task in tasks:
                    task.cancel()
                if tasks:
                    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
                loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            self._close(loop)
            events._set_running_loop(outer)

    def close(self) -> None:
        """Close what a signal has left open in the midst of its end."""
        for loop in list(self._made) if self._made else ():
            self._close(loop)

    @staticmethod
    def _close(loop: asyncio.AbstractEventLoop) -> None:
        if not (loop.is_closed() or loop.is_running()):
            for task in asyncio.all_tasks(loop):
                # Here, not whenever it is collected; the code in it ends at its next check.
                with contextlib.suppress(BaseException):
                    task.get_coro().close()
            loop.close()
