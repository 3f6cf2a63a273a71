"""asyncio for programs: loops that keep the run's deadline and are closed however the run ends."""

from __future__ import annotations

import asyncio
from asyncio import events
from collections.abc import Callable
from typing import Any

from ...errors import InterpreterError
from ..meter import Meter

__all__ = ["EventLoops"]

#: Seconds between two looks at the deadline while a loop waits.
_SLICE = 0.05


class _Loop:
    """An event loop that is not running: it runs one coroutine after another, as ``run`` does."""

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self._run = run
        self._closed = False

    def run_until_complete(self, future: Any) -> Any:
        """Run a coroutine to its end."""
        if self._closed:
            raise RuntimeError("Event loop is closed")
        return self._run(future)

    def is_running(self) -> bool:
        """Tell that it is not running."""
        return False

    def is_closed(self) -> bool:
        """Tell whether ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """Refuse further coroutines."""
        self._closed = True


class _Runner:
    """A stand-in for ``asyncio.Runner``: runs coroutines one after another."""

    def __init__(self, run: Callable[[Any], Any]) -> None:
        self.run = run

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Do nothing: each loop is closed when its coroutine ends."""


class EventLoops:
    """The event loops of one interpreter's programs.

    Args:
        meter: of the interpreter.
        make_pool: makes the pool of threads that a loop calls functions in.
    """

    def __init__(self, meter: Meter, make_pool: Callable[[], Any]) -> None:
        self._meter = meter
        self._make_pool = make_pool
        self._open: list[Any] = []

    def run(self, coroutine: Any, **_options: Any) -> Any:
        """Stand for ``asyncio.run``: keeps the deadline and leaves nothing behind."""
        meter = self._meter
        if not asyncio.iscoroutine(coroutine):
            raise ValueError(f"a coroutine was expected, got {coroutine!r}")
        if any(loop.is_running() for loop in self._open):
            coroutine.close()
            raise RuntimeError("asyncio.run() cannot be called from a running event loop")
        # The host may be asynchronous itself; the program's loop runs inside its callback.
        outer = events._get_running_loop()
        loop = asyncio.new_event_loop()
        self._open.append(loop)
        loop.set_exception_handler(lambda _loop, _context: None)
        loop.set_default_executor(self._make_pool())
        events._set_running_loop(None)
        try:
            loop.call_soon(self._watch, loop)
            task = loop.create_task(coroutine)
            try:
                return loop.run_until_complete(task)
            except RuntimeError:
                self._check_end()
                raise
            finally:
                self._check_end()
                self._cancel(loop)
                meter.check()
        finally:
            self._close(loop)
            events._set_running_loop(outer)

    def _watch(self, loop: Any) -> None:
        left = self._meter.seconds_left()
        if self._meter.end is not None or (left is not None and left <= 0):
            loop.stop()
        else:
            loop.call_later(_SLICE, self._watch, loop)

    def _check_end(self) -> None:
        self._meter.check()
        left = self._meter.seconds_left()
        if left is not None and left <= 0:
            self._meter.out_of_time()

    def _cancel(self, loop: Any) -> None:
        """Cancel the tasks that are left, for as long as the deadline lasts."""
        tasks = asyncio.all_tasks(loop)
        if not tasks:
            return
        for one in tasks:
            one.cancel()
        try:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        except RuntimeError:
            self._check_end()

    def _close(self, loop: Any) -> None:
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()
        self._open.remove(loop)

    def run_top_level(self, coroutine: Any, allowed: bool) -> Any:
        """Run the coroutine of a program whose top level awaits.

        Args:
            coroutine: the program.
            allowed: whether ``asyncio`` is authorised.

        Raises:
            InterpreterError: it waits for an event loop and may not have one.
        """
        if allowed:
            return self.run(coroutine)
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value
        coroutine.close()
        raise InterpreterError(
            "The program waits for an event loop; authorise 'asyncio' to give it one"
        )

    def members(self) -> dict[tuple[str, str], Any]:
        """Make the members of asyncio that programs get in another form."""

        def get_event_loop() -> Any:
            running = events._get_running_loop()
            return _Loop(self.run) if running is None else running

        async def to_thread(func: Any, /, *arguments: Any, **keywords: Any) -> Any:
            # No thread: what it calls runs in the loop itself.
            return func(*arguments, **keywords)

        return {
            ("asyncio", "run"): self.run,
            ("asyncio", "Runner"): lambda **_options: _Runner(self.run),
            ("asyncio", "new_event_loop"): lambda: _Loop(self.run),
            ("asyncio", "get_event_loop"): get_event_loop,
            ("asyncio", "set_event_loop"): lambda _loop: None,
            ("asyncio", "to_thread"): to_thread,
        }
