"""Callbacks to an object that do not keep the object."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import ParamSpec

__all__ = ["weakly"]

_Parameters = ParamSpec("_Parameters")


def weakly(method: Callable[_Parameters, object]) -> Callable[_Parameters, None]:
    """Return a function that calls a bound method as long as its object is there.

    An executor whose parts have such callbacks is not in a cycle with them: its sandbox ends with
    the last reference to it, without the garbage collector.

    Args:
        method: bound; its result is dropped.

    Example:
        >>> from smolagents_fork.executors.weak_methods import weakly
        >>> class Log:
        ...     def add(self, line: str) -> None:
        ...         print(line)
        >>> log = Log()
        >>> add = weakly(log.add)
        >>> add("first")
        first
        >>> del log
        >>> add("second")
    """
    reference = weakref.WeakMethod(method)

    def call(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> None:
        bound = reference()
        if bound is not None:
            bound(*arguments, **keywords)

    return call
