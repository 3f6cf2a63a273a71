"""The event loops of one interpreter's programs: each is closed, however its run ended."""

from __future__ import annotations

from typing import Any

from .meter import Meter

__all__ = ["Loops"]


class Loops:
    """Opens and closes event loops.

    A run that is late may be broken off anywhere (watch.py), so also between a loop and the
    ``finally`` that closes it. A loop is known from the moment it exists, and the end of the run,
    where nothing is broken off any more, closes what is left.

    Args:
        meter: of the interpreter.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._open: list[Any] = []

    @property
    def running(self) -> bool:
        """Whether a loop of a program runs now."""
        return any(loop.is_running() for loop in self._open)

    def open(self) -> Any:
        """A new event loop, which writes nothing to the host's log."""
        import asyncio

        with self._meter.unbroken():
            loop = asyncio.new_event_loop()
            self._open.append(loop)
            loop.set_exception_handler(lambda _loop, _context: None)
        return loop

    def close(self, loop: Any) -> None:
        """Close ``loop``, which is not running."""
        with self._meter.unbroken():
            loop.close()
            self._open.remove(loop)

    def end(self) -> None:
        """The run has ended: close what it left open."""
        if not self._open:
            return
        import asyncio

        while self._open:
            loop = self._open.pop()
            # Broken off in its last lines, it still says that it runs, and refuses to be closed.
            loop._thread_id = None
            for task in asyncio.all_tasks(loop):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
            loop.close()
