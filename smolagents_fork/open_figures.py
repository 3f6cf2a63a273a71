"""Open figures of programs, apart from those of the host.

pyplot keeps one list of open figures per process, the class attribute ``Gcf.figs``. While programs
run, a thread of a program finds there the figures of its own executor, and every other thread those
of the host. Nothing here imports matplotlib.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from .forks import ForkSafeLock

__all__ = ["OpenFigures"]

#: The open figures of the program that runs in a thread.
_routes: dict[int, OpenFigures] = {}
_lock = ForkSafeLock()
_users = 0


class _RoutedFigures:
    """The attribute ``Gcf.figs`` while programs run.

    Args:
        original: pyplot's managers of the host, by number.
    """

    def __init__(self, original: OrderedDict[Any, Any]) -> None:
        self.original = original

    def __get__(self, _instance: Any, _owner: type) -> OrderedDict[Any, Any]:
        found = _routes.get(threading.get_ident())
        return self.original if found is None else found.managers


class OpenFigures:
    """Open figures of one executor's programs. A later run finds those that an earlier one left."""

    def __init__(self) -> None:
        #: pyplot's managers by number; the current one is the last.
        self.managers: OrderedDict[Any, Any] = OrderedDict()

    def figures(self) -> list[Any]:
        """Return the figures in the order in which they were current."""
        return [manager.canvas.figure for manager in self.managers.values()]

    @contextlib.contextmanager
    def routed(self) -> Iterator[None]:
        """Let pyplot have these figures in this thread, in the block."""
        global _users
        ident = threading.get_ident()
        with _lock:
            _users += 1
            before = _routes.get(ident)
            _routes[ident] = self
            _route()
        try:
            yield
        finally:
            with _lock:
                _users -= 1
                if before is None:
                    _routes.pop(ident, None)
                else:
                    _routes[ident] = before
                if _users == 0:
                    _restore()

    def register(self) -> None:
        """Register figures that were opened in a block before pyplot's import was noticed.

        A library has imported it for the program. With several programs it is not known for which:
        the figures are then the host's.
        """
        with _lock:
            routed = _route()
            if routed is not None and all(other is self for other in _routes.values()):
                self.managers.update(routed.original)
                routed.original.clear()


def _route() -> _RoutedFigures | None:
    """Route pyplot's figures by thread, if it is imported; return the route if it is new."""
    gcf = _gcf()
    if gcf is None or isinstance(vars(gcf)["figs"], _RoutedFigures):
        return None
    gcf.figs = routed = _RoutedFigures(vars(gcf)["figs"])
    return routed


def _restore() -> None:
    gcf = _gcf()
    if gcf is not None and isinstance(routed := vars(gcf)["figs"], _RoutedFigures):
        gcf.figs = routed.original


def _gcf() -> Any:
    return getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
