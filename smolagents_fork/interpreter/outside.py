"""Calls of the host's tools: their time is not the program's, and an interruption reaches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import get_ident
from typing import Any

from .borrowed import Borrowed
from .meter import Meter
from .threads import Threads

__all__ = ["HostWork"]


class HostWork:
    """The tools that work for one interpreter's program at this moment.

    Args:
        meter: its limits.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._working: dict[object, Callable[..., Any]] = {}
        self.borrowed = Borrowed()
        self.threads = Threads(meter)

    def call(
        self,
        tool: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: Mapping[str, Any],
    ) -> Any:
        """Call ``tool`` on behalf of the program, unless a limit is spent.

        Raises:
            ProgramStop: a limit is spent, or the program was interrupted while the tool worked.
        """
        meter, token = self._meter, object()
        # A program that outlived its limit for a moment must not act on the world.
        meter.stopped()
        asked = tool
        in_thread = bool(meter.threads) and get_ident() in meter.threads
        if in_thread:
            # What is kept for a thread is the thread's own; what is kept for the process, the
            # program's other threads use meanwhile.
            tool, arguments = self.threads.context.copy().run, (tool, *arguments)
        left, number = False, None
        try:
            self._working[token] = asked
            number = meter.leave()
            if not in_thread:
                self.borrowed.leave()
                left = True
            return tool(*arguments, **keywords)
        finally:
            if left:
                self.borrowed.back()
            self._working.pop(token, None)
            if number is not None:
                meter.back(number)
            if in_thread:
                meter.check_thread()
            if meter.final is None:
                # Also when it raised: that may be how it ended because of the interruption.
                meter.check_interrupted()

    def interrupt(self) -> None:
        """Ask every tool at work that has an ``interrupt()``, as agents have, to stop."""
        for tool in list(self._working.values()):
            stop = getattr(tool, "interrupt", None)
            if callable(stop):
                stop()
