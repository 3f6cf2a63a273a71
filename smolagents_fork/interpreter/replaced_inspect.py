"""inspect: what describes the program's own objects; no frame, and no text that is run.

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import ProgramRefusedError
from .build import words
from .ownership import FUNCTIONS, is_dunder
from .private_copies import Instead, private_copy
from .replaced import REFUSED
from .sized_types import plain_type

__all__ = ["MAKERS"]

#: Members that ask nothing but what an object is, and constants.
_HARMLESS = frozenset(
    words(
        "Signature Parameter BoundArguments FullArgSpec BufferFlags cleandoc getdoc "
        "getgeneratorstate getcoroutinestate getasyncgenstate "
    )
)
_BEGINNINGS = ("is", "GEN_", "CORO_", "AGEN_", "CO_")
_PLAIN = (int, float, complex, str, bytes, type, enum.Enum, type(None), type(...))


class _Shown:
    """A default value of the host's: its text, and no more."""

    def __init__(self, value: Any) -> None:
        self._text = repr(value)

    def __repr__(self) -> str:
        return self._text


def _refuse(*_arguments: Any, **_keywords: Any) -> NoReturn:
    raise ProgramRefusedError("Forbidden: an annotation or default that is text would be run")


def _inspect(modules: Any) -> dict[str, Any]:
    guards = modules.guards
    system = Instead(sys, modules={})
    space = private_copy("inspect", {"eval": _refuse, "exec": _refuse}, {"sys": system})
    of_callable = space["Signature"].from_callable.__func__

    def is_own_function(value: Any) -> bool:
        return isinstance(value, FUNCTIONS) and value.__globals__ is guards.globals

    def shown(value: Any) -> Any:
        if value is space["Parameter"].empty or type(value) in _PLAIN or guards.is_own(value):
            return value
        if isinstance(value, (type, enum.Enum)):
            return guards.held(value)
        return _Shown(value)

    def described(found: Any, value: Any) -> Any:
        value = getattr(value, "__func__", value)
        if is_own_function(value):
            return found
        parameters = [one.replace(default=shown(one.default)) for one in found.parameters.values()]
        return found.replace(parameters=parameters)

    def signature(obj: Any, *, follow_wrapped: bool = True, **others: Any) -> Any:
        _check_options(others)
        obj = plain_type(obj)
        kind = space["Signature"]
        return described(of_callable(kind, obj, follow_wrapped=follow_wrapped), obj)

    def from_callable(cls: Any, /, obj: Any, *, follow_wrapped: bool = True, **others: Any) -> Any:
        _check_options(others)
        obj = plain_type(obj)
        return described(of_callable(cls, obj, follow_wrapped=follow_wrapped), obj)

    space["Signature"].from_callable = classmethod(from_callable)
    space["signature"] = signature

    def getmembers(object: Any, predicate: Any = None) -> list[tuple[str, Any]]:
        found = []
        for name in sorted(guards.dir_(object)):
            with contextlib.suppress(AttributeError, ProgramRefusedError):
                value = guards.getattr_(object, name)
                if is_dunder(name) and isinstance(value, FUNCTIONS) and not guards.is_own(value):
                    continue  # a guard's, in place of a method of C
                if predicate is None or predicate(value):
                    found.append((name, value))
        return found

    def unwrap(func: Any, *, stop: Any = None) -> Any:
        seen = {id(func)}
        while stop is None or not stop(func):
            try:
                inner = guards.getattr_(func, "__wrapped__")
            except (AttributeError, ProgramRefusedError):
                break
            if id(inner) in seen:
                raise ValueError(f"wrapper loop when unwrapping {func!r}")
            seen.add(id(inner))
            func = inner
        return func

    def getmro(cls: Any) -> tuple[Any, ...]:
        return tuple(guards.visible_mro(plain_type(cls)))

    def get_annotations(obj: Any, *, eval_str: bool = False, **others: Any) -> dict[str, Any]:
        _check_options({**others, **({"eval_str": True} if eval_str else {})})
        found = guards.getattr_(obj, "__annotations__", None)
        return dict(found or {})

    def getfullargspec(func: Any) -> Any:
        function = getattr(func, "__func__", func)
        if not is_own_function(function):
            raise ProgramRefusedError(
                "Forbidden: getfullargspec() of what the program did not define; use signature()"
            )
        return space["getfullargspec"](func)

    def getsource(object: Any) -> str:
        own = isinstance(object, type) and guards.is_own_class(object)
        text = getattr(object, "__source__", None) if own or is_own_function(object) else None
        if text is None:
            raise OSError("could not get source code")
        return f"{text}\n"

    result: dict[str, Any] = {
        name: space[name] if name in _HARMLESS or name.startswith(_BEGINNINGS) else REFUSED
        for name in vars(inspect)
        if not name.startswith("_") and not isinstance(space.get(name), (types.ModuleType, Instead))
    }
    ours: tuple[Callable[..., Any], ...] = (
        *(signature, getmembers, unwrap, getmro, get_annotations, getfullargspec, getsource),
    )
    for function in ours:
        function.__qualname__, function.__module__ = function.__name__, "inspect"
        result[function.__name__] = function
    return result


def _check_options(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value:
            raise ProgramRefusedError(
                f"Forbidden argument: {name}; write annotations as expressions, not as text"
            )


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {"inspect": _inspect}
