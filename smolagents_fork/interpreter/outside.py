"""Calls of the host's tools: their time is not the program's, and an interruption reaches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .borrowed import Borrowed
from .meter import Meter

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
        left = False
        try:
            self._working[token] = tool
            meter.leave()
            self.borrowed.leave()
            left = True
            return tool(*arguments, **keywords)
        finally:
            if left:
                self.borrowed.back()
            self._working.pop(token, None)
            meter.back()
            if meter.final is None:
                # Also when it raised: that may be how it ended because of the interruption.
                meter.check_interrupted()

    def interrupt(self) -> None:
        """Ask every tool at work that has an ``interrupt()``, as agents have, to stop."""
        for tool in list(self._working.values()):
            stop = getattr(tool, "interrupt", None)
            if callable(stop):
                stop()
