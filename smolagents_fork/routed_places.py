"""Places of the process where libraries look by default, with values of their own for programs.

While programs run, a thread of a program finds there what :data:`routes` gives for it, and every
other thread what was there before: the standard streams, ``sys.argv`` and the module ``__main__``.
So a parser of arguments reads those of a program, not the host's, and what looks a class up in its
module, such as :mod:`pickle`, finds the program's.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["ProgramPlaces", "install", "restore", "routes"]


class ProgramPlaces(Protocol):
    """Values of one interpreter's programs."""

    stdin: Any
    stdout: Any
    stderr: Any
    argv: list[str]
    #: The variables of its ``__main__``.
    variables: dict[str, Any]


#: The values of the program that runs in a thread.
routes: dict[int, ProgramPlaces] = {}


def _forget_other_threads() -> None:
    """Drop the values of threads that a forked copy of the process does not have."""
    ident = threading.get_ident()
    for other in [number for number in routes if number != ident]:
        del routes[other]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


class _RoutedStream:
    """A standard stream of the process while programs run.

    Args:
        name: ``stdin``, ``stdout`` or ``stderr``.
        original: the stream that was there.
    """

    def __init__(self, name: str, original: Any) -> None:
        self.name = name
        self.original = original

    def _target(self) -> Any:
        found = routes.get(threading.get_ident())
        return self.original if found is None else getattr(found, self.name)

    def write(self, text: str, /) -> Any:
        return self._target().write(text)

    def flush(self) -> Any:
        return self._target().flush()

    def __iter__(self) -> Any:
        return iter(self._target())

    def __next__(self) -> Any:
        return next(self._target())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target(), name)


class _RoutedArguments(list[str]):
    """``sys.argv`` while programs run. C code that does not ask for items finds the host's.

    Args:
        original: the list that was there.
    """

    def __init__(self, original: list[str]) -> None:
        super().__init__(original)
        self.original = original

    def target(self) -> list[str]:
        """Return the list of this thread."""
        found = routes.get(threading.get_ident())
        return self.original if found is None else found.argv

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return list, (list(self.target()),)


def _delegate(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    @functools.wraps(method)
    def call(self: _RoutedArguments, *arguments: Any, **keywords: Any) -> Any:
        target = self.target()
        result = method(target, *arguments, **keywords)
        return self if result is target else result  # of += and *=

    return call


#: Methods of a list that are not about its own items.
_OF_OBJECTS = frozenset({"__class_getitem__", *dir(object)}) - {
    "__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__", "__repr__"
}  # fmt: skip
for _name in set(dir(list)) - _OF_OBJECTS:
    setattr(_RoutedArguments, _name, _delegate(_name))

_PLAIN_MODULE = dict.fromkeys(("__doc__", "__loader__", "__package__", "__spec__"))


class _RoutedMain(types.ModuleType):
    """The class of the module ``__main__`` while programs run; the module stays the same."""

    def __getattribute__(self, name: str) -> Any:
        found = routes.get(threading.get_ident())
        if found is None or name == "__class__":
            return super().__getattribute__(name)
        if name == "__dict__":
            return found.variables
        try:
            return {**_PLAIN_MODULE, **found.variables}[name]
        except KeyError:
            raise AttributeError(f"module '__main__' has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        found = routes.get(threading.get_ident())
        if found is None or name == "__class__":
            super().__setattr__(name, value)
        else:
            found.variables[name] = value


_STREAMS = ("stdin", "stdout", "stderr")


def install() -> None:
    """Route the places by thread: the first program starts."""
    for name in _STREAMS:
        setattr(sys, name, _RoutedStream(name, getattr(sys, name)))
    sys.argv = _RoutedArguments(sys.argv)
    main = sys.modules.get("__main__")
    if type(main) is types.ModuleType:
        main.__class__ = _RoutedMain


def restore() -> None:
    """Undo :func:`install`, where nobody has replaced a value meanwhile: the last program ends."""
    for name in _STREAMS:
        stream = getattr(sys, name)
        if type(stream) is _RoutedStream:
            setattr(sys, name, stream.original)
    if type(sys.argv) is _RoutedArguments:
        sys.argv = sys.argv.original
    main = sys.modules.get("__main__")
    if type(main) is _RoutedMain:
        main.__class__ = types.ModuleType  # type: ignore[assignment]  # as it was before
