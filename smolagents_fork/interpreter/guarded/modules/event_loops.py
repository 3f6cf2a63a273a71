"""asyncio for programs: loops that ask the meter when they wait, closed however a run ends."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import selectors
import threading
import weakref
from asyncio import events
from collections.abc import Callable, Iterator
from typing import Any

from ..meter import Meter

__all__ = ["EventLoops"]

#: Seconds between two looks at the deadline while a loop waits.
_SLICE = 0.05


class _Selector(selectors.DefaultSelector):
    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def select(self, timeout: float | None = None) -> Any:
        left = self._meter.waiting()
        return super().select(min(s for s in (timeout, left, _SLICE) if s is not None))


class _Loop(asyncio.SelectorEventLoop):
    _thread_id: int | None

    def run_forever(self) -> None:
        with _apart_from_host():
            super().run_forever()

    def run_until_complete(self, future: Any) -> Any:
        with _apart_from_host():
            return super().run_until_complete(future)


@contextlib.contextmanager
def _apart_from_host() -> Iterator[None]:
    """Set aside the loop of a host that is asynchronous itself: the program has its own."""
    outer = events._get_running_loop()
    if outer is None or isinstance(outer, _Loop):
        yield
        return
    events._set_running_loop(None)
    try:
        yield
    finally:
        events._set_running_loop(outer)


class EventLoops:
    """The event loops of one interpreter's programs.

    Args:
        meter: of the interpreter.
        make_pool: makes the pool of threads that a loop calls functions in.
    """

    def __init__(self, meter: Meter, make_pool: Callable[[], Any]) -> None:
        self._meter = meter
        self._make_pool = make_pool
        self._made: weakref.WeakSet[_Loop] = weakref.WeakSet()
        self._current: Any = None

    def _new(self) -> _Loop:
        loop = _Loop(_Selector(self._meter))
        self._made.add(loop)
        loop.set_exception_handler(lambda _loop, _context: None)
        loop.set_default_executor(self._make_pool())
        return loop

    def run(self, coroutine: Any, **_options: Any) -> Any:
        """Stand for ``asyncio.run``, which takes its loop from the host's policy."""
        if not asyncio.iscoroutine(coroutine):
            raise ValueError(f"a coroutine was expected, got {coroutine!r}")
        if isinstance(events._get_running_loop(), _Loop):
            coroutine.close()
            raise RuntimeError("asyncio.run() cannot be called from a running event loop")
        loop = self._new()
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

    def close(self) -> None:
        """Close what the program left open."""
        for loop in list(self._made) if self._made else ():
            # A signal may have broken off the end of its run.
            if events._get_running_loop() is loop:
                events._set_running_loop(None)
            if loop._thread_id == threading.get_ident():
                loop._thread_id = None
            self._close(loop)

    @staticmethod
    def _close(loop: _Loop) -> None:
        if not (loop.is_closed() or loop.is_running()):
            for task in asyncio.all_tasks(loop):
                # Here, not whenever it is collected; the code in it ends at its next check.
                with contextlib.suppress(BaseException):
                    task.get_coro().close()
            loop.close()

    def members(self) -> dict[str, Any]:
        """Make the members of asyncio that take a loop from the host's policy, by name."""

        def get_event_loop() -> Any:
            running = events._get_running_loop()
            if isinstance(running, _Loop):
                return running
            if self._current is None or self._current.is_closed():
                self._current = self._new()
            return self._current

        return {
            "run": self.run,
            "new_event_loop": self._new,
            "get_event_loop": get_event_loop,
            "set_event_loop": functools.partial(setattr, self, "_current"),
        }
