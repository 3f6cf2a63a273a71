"""Guards of C code that calls a function an item: what it goes over is metered, whatever it calls.

Part of the boundary in guards.py, which binds these functions; nothing here looks at names. A
function of the program counts itself; ``sum`` or a list's ``append`` does not, and each call may
last, or add to the very list that is gone over.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from .size_checks import SHORT, SizeChecks

__all__ = ["CALLING", "SizedCallbacks"]

#: Items below which a key function needs no clock.
_HANDFUL = 16


class SizedCallbacks(SizeChecks):
    """``map``, ``filter``, and everything that takes ``key=``."""

    def mapped(self, cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """``map(function, items, ...)`` or ``filter(function, items)``"""
        if len(arguments) > 1:
            function, items, *rest = arguments
            arguments = (function, self.meter.called_back(items), *rest)
        return cls(*arguments, **keywords)

    def extreme(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``min`` or ``max``, for calls with a key."""

        def limited(*arguments: Any, **keywords: Any) -> Any:
            if keywords.get("key") is not None:
                if len(arguments) == 1:
                    arguments = (self.meter.called_back(arguments[0]),)
                elif len(arguments) > _HANDFUL and "default" not in keywords:
                    arguments = (self.meter.called_back(arguments),)
            return function(*arguments, **keywords)

        limited.__name__ = limited.__qualname__ = function.__name__
        limited.__doc__ = function.__doc__
        return limited

    def summed(self, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
        """``sum`` with a start, if the name still means that."""
        if function is sum and len(arguments) + len(keywords) == 2 and arguments:
            start = arguments[1] if len(arguments) > 1 else keywords.get("start")
            if isinstance(start, (list, tuple)):
                for item in self.meter.called_back(arguments[0]):
                    start = self.grown(start + item)
                return start
        return function(*arguments, **keywords)

    def sorted(self, *iterables: Any, key: Any = None, reverse: bool = False) -> list[Any]:
        """``sorted``"""
        if len(iterables) != 1:
            return sorted(*iterables, key=key, reverse=reverse)  # never: Python says so
        iterable = iterables[0]
        if self._is_own_function(key):
            made = sorted(iterable, key=key, reverse=reverse)
        else:
            made = self._sorted_by(list(iterable), key, reverse)
        self._charge_sort(len(made))
        return made

    def sort(self, items: list[Any], /, *, key: Any = None, reverse: bool = False) -> None:
        """``list.sort``"""
        if self._is_own_function(key):
            list.sort(items, key=key, reverse=reverse)
        else:
            list.__setitem__(items, slice(None), self._sorted_by(list(items), key, reverse))
        self._charge_sort(len(items))

    def _charge_sort(self, count: int) -> None:
        if count > SHORT:
            self.meter.charge(count >> 1)
            self.meter.look()

    @staticmethod
    def _is_own_function(key: Any) -> bool:
        """Whether calls of ``key`` look at the clock themselves, or there is none to call."""
        function = key.__func__ if isinstance(key, MethodType) else key
        return key is None or isinstance(function, FunctionType)

    def _sorted_by(self, items: list[Any], key: Any, reverse: bool) -> list[Any]:
        if len(items) <= _HANDFUL:
            return sorted(items, key=key, reverse=reverse)
        # Places are sorted by keys that were made under the clock: equal keys keep their order.
        keys = list(map(key, self.meter.metered(items, 1)))
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return list(map(items.__getitem__, order))

    def iterating(self, cls: Any, at: int = 1) -> Callable[..., Any]:
        """A call of one of itertools' classes that call a function an item.

        Args:
            cls: the class.
            at: which of its arguments is gone over.
        """

        def make(_cls: Any, /, *arguments: Any, **keywords: Any) -> Any:
            if len(arguments) > at:
                fed = self.meter.called_back(arguments[at])
                arguments = (*arguments[:at], fed, *arguments[at + 1 :])
            elif "iterable" in keywords:
                keywords["iterable"] = self.meter.called_back(keywords["iterable"])
            return cls(*arguments, **keywords)

        return make


#: Classes of itertools that call a function an item, and the argument that is gone over.
CALLING = (
    (itertools.starmap, 1),
    (itertools.takewhile, 1),
    (itertools.dropwhile, 1),
    (itertools.filterfalse, 1),
    (itertools.accumulate, 0),
    (itertools.groupby, 0),
)
