"""State of the process that libraries keep for everybody: a program has its own while it runs.

``decimal.getcontext()``, ``np.seterr()``, ``pd.set_option()`` and their like work as programs
expect, and the host finds its own values again at the end of a run and while a tool works. Part of
the boundary that guards.py decides by.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from . import shared_keys

__all__ = ["Borrowed", "NoLoop"]


class _Kept(Protocol):
    """One piece of such state: the host's outside, the program's inside."""

    def enter(self) -> None: ...

    def leave(self) -> None: ...


class _Decimal:
    """The context of decimal arithmetic."""

    def __init__(self) -> None:
        import decimal

        self._decimal = decimal
        self._own = decimal.DefaultContext.copy()
        self._own.clear_flags()

    def enter(self) -> None:
        self._host = self._decimal.getcontext()
        self._decimal.setcontext(self._own)

    def leave(self) -> None:
        self._own = self._decimal.getcontext()
        self._decimal.setcontext(self._host)


class NoLoop:
    """What asyncio finds while a program runs outside ``asyncio.run``: no loop of the host's."""

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, _context: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError("no running event loop")


class _Asyncio:
    """The running event loop, its current task and its hooks of asynchronous generators."""

    def __init__(self) -> None:
        from asyncio import events, tasks

        self._events = events
        # From 3.14 on a thread has one current task, whatever its loop is.
        swap = getattr(tasks, "_swap_current_task", None) if sys.version_info >= (3, 14) else None
        self._swap: Any = swap
        self._own: Any = NoLoop()
        self._task: Any = None
        self._hooks: Any = (None, None)

    def enter(self) -> None:
        self._host = self._events._get_running_loop()
        self._host_hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(*self._hooks)
        self._host_task = None
        if self._host is not None and self._swap is not None:
            self._host_task = self._swap(self._host, None)
        self._events._set_running_loop(self._own)
        if self._task is not None:
            self._swap(self._own, self._task)

    def leave(self) -> None:
        self._own = self._events._get_running_loop()
        self._hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(*self._host_hooks)
        self._task = None
        if self._swap is not None and not isinstance(self._own, NoLoop):
            self._task = self._swap(self._own, None)
        self._events._set_running_loop(self._host)
        if self._host_task is not None:
            self._swap(self._host, self._host_task)


def _owner(array: Any) -> Any:
    """The array that has the memory of a view."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


class _Numpy:
    """How numpy prints and what it does about floating-point errors."""

    def __init__(self) -> None:
        import numpy

        self._numpy = numpy
        self._errors = numpy.geterr()
        self._printing = numpy.get_printoptions()
        self._masked = [_owner(numpy.ma.masked.data), _owner(numpy.ma.masked.mask)]

    def enter(self) -> None:
        self._host_errors = self._numpy.seterr(**self._errors)
        self._host_printing = self._numpy.get_printoptions()
        self._print_as(self._printing, self._host_printing)

    def leave(self) -> None:
        self._errors = self._numpy.seterr(**self._host_errors)
        self._printing = self._numpy.get_printoptions()
        self._print_as(self._host_printing, self._printing)
        # np.ma.masked is one object for everybody, and whoever finds its memory may write there.
        for array, meant in zip(self._masked, (0.0, True), strict=True):
            if array.flags.writeable or array.item() != meant:
                array.flags.writeable = True
                array.fill(meant)
                array.flags.writeable = False

    def _print_as(self, wanted: Any, now: Any) -> None:
        if wanted != now:
            self._numpy.set_printoptions(**wanted)


class _OfTheProcess:
    """State that all threads have in common.

    Programs that run at once in several threads see what the last that began has; each finds its
    own at its next run, and the host finds its own when none is running.
    """

    _lock = threading.Lock()
    #: Those whose programs run, by class, in the order in which they began; what the host had.
    _running: ClassVar[dict[type, list[_OfTheProcess]]] = {}
    _host: ClassVar[dict[type, Any]] = {}

    _own: Any = None

    def _values(self) -> Any:
        raise NotImplementedError

    def _become(self, wanted: Any, now: Any) -> None:
        raise NotImplementedError

    def enter(self) -> None:
        with self._lock:
            now = self._covered()
            self._become(self._own, now)

    def _covered(self) -> Any:
        """Come before the host and other programs; what there is at this moment."""
        now, running = self._values(), self._running.setdefault(type(self), [])
        if running:
            running[-1]._own = now
        else:
            self._host[type(self)] = now
        running.append(self)
        return now

    def leave(self) -> None:
        with self._lock:
            running = self._running[type(self)]
            if running[-1] is not self:
                running.remove(self)  # what it has was noted when another covered it
                return
            running.pop()
            self._own = now = self._values()
            self._become(running[-1]._own if running else self._host.pop(type(self)), now)


class _Pandas(_OfTheProcess):
    """pandas' options."""

    def __init__(self) -> None:
        from pandas._config import config  # type: ignore[import-untyped,unused-ignore]

        self._config = config
        self._changed = False

    def changing(self) -> None:
        """The program is about to change an option: note what the host has."""
        with self._lock:
            if not self._changed:
                self._changed = True
                self._covered()

    def _values(self) -> dict[str, Any]:
        found = {}
        for name in self._config._registered_options:
            if name not in self._config._deprecated_options:
                found[name] = self._config.get_option(name)
        return found

    def _become(self, wanted: dict[str, Any], now: dict[str, Any]) -> None:
        for name, value in wanted.items():
            if now[name] is not value and now[name] != value:
                self._config.set_option(name, value)

    def enter(self) -> None:
        if self._changed:
            super().enter()

    def leave(self) -> None:
        if self._changed:
            super().leave()


class _Warnings(_OfTheProcess):
    """The filters of warnings."""

    def __init__(self) -> None:
        import warnings

        self._warnings: Any = warnings
        self._own = list(self._host.get(_Warnings, warnings.filters))

    def _values(self) -> Any:
        return self._warnings.filters

    def _become(self, wanted: Any, _now: Any) -> None:
        self._warnings.filters = wanted
        for name in ("_filters_mutated", "_filters_mutated_lock_held"):
            told = getattr(self._warnings, name, None)
            if told is not None and name == "_filters_mutated":
                told()
            elif told is not None:
                with self._warnings._lock:
                    told()


class _Random(_OfTheProcess):
    """The generator of ``random``, which ``statistics`` draws from by itself."""

    def __init__(self) -> None:
        import random

        self._random = random
        self._own = random.Random().getstate()

    def _values(self) -> Any:
        return self._random.getstate()

    def _become(self, wanted: Any, _now: Any) -> None:
        self._random.setstate(wanted)


_KINDS: dict[str, type] = {
    **shared_keys.KINDS,
    "statistics": _Random,
    "decimal": _Decimal,
    "asyncio": _Asyncio,
    "numpy": _Numpy,
    "pandas": _Pandas,
    "warnings": _Warnings,
}


class Borrowed:
    """All that one interpreter's programs have of their own."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        #: Whether the program has defined a class.
        self.defines: Callable[[], bool] = lambda: True
        self._inside = 0
        self._away = 0
        self._lock = threading.RLock()

    def use(self, module: str) -> Any:
        """A program may use ``module`` from now on; gives what is kept of it, if anything."""
        root = module.split(".")[0]
        kind = _KINDS.get(root)
        if kind is None:
            return None
        with self._lock:
            if root not in self._kept:
                self._kept[root] = made = kind()
                if isinstance(made, shared_keys.Cleared):
                    made.defines = self.defines
                if self._inside and not self._away:
                    self._kept[root].enter()
            return self._kept[root]

    def _all(self) -> list[_Kept]:
        return list(self._kept.values())

    def begin(self) -> None:
        """The program begins to run."""
        self._away = 0
        for kept in self._all():
            kept.enter()
        self._inside += 1

    def end(self) -> None:
        """The program has ended."""
        self._inside -= 1
        for kept in self._all():
            kept.leave()

    def leave(self) -> None:
        """A tool begins to work, perhaps beside another."""
        with self._lock:
            self._away += 1
            if self._away == 1 and self._inside:
                for kept in self._all():
                    kept.leave()

    def back(self) -> None:
        """The tool has ended."""
        with self._lock:
            self._away -= 1
            if not self._away and self._inside:
                for kept in self._all():
                    kept.enter()
