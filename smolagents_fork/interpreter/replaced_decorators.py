"""functools, abc, enum and typing: decorators that mark, and helpers that read and write by name.

Part of the boundary that guards.py decides by. What they write into must be the program's own, and
what they read is read through the attribute guard.
"""

from __future__ import annotations

import abc
import contextlib
import enum
import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from ..errors import ProgramRefusedError
from .data_memory import refuse_protocols
from .rebinding import rebound
from .replaced import REFUSED
from .sized_types import plain_type

__all__ = ["MAKERS"]

#: What functools assigns in newer releases and programs may not: ``__annotate__`` (3.14) is made of
#: ``__annotations__``.
_BY_PYTHON = ("__annotate__", "__type_params__")
_WRAPPED = (classmethod, staticmethod, property, functools.partialmethod)


def _marking(guards: Any, decorator: Callable[[Any], Any], mark: str) -> Callable[[Any], Any]:
    """``decorator``, which writes ``mark`` into what it is given."""

    def decorate(given: Any, /) -> Any:
        if not isinstance(given, _WRAPPED):
            guards.writable(given, mark)
        return decorator(given)

    decorate.__name__ = decorate.__qualname__ = decorator.__name__
    decorate.__doc__ = decorator.__doc__
    return decorate


def _functools(modules: Any) -> dict[str, Any]:
    guards = modules.guards

    def update_wrapper(
        wrapper: Any,
        wrapped: Any,
        assigned: Any = functools.WRAPPER_ASSIGNMENTS,
        updated: Any = functools.WRAPPER_UPDATES,
    ) -> Any:
        usual = assigned is functools.WRAPPER_ASSIGNMENTS
        names = [
            name if usual and name in _BY_PYTHON else guards.check_written_name(name)
            for name in assigned
        ]
        others = [str.__str__(name) for name in updated]
        if others not in ([], list(functools.WRAPPER_UPDATES)):
            raise ProgramRefusedError("Forbidden argument of functools.update_wrapper(): updated")
        guards.writable(wrapper, "__wrapped__")
        own = guards.is_own(wrapped)
        for name in names:
            if name in _BY_PYTHON:
                continue
            with contextlib.suppress(AttributeError):
                guards.setattr_(wrapper, name, guards.read(wrapped, name))
        if "__annotate__" in names:
            with contextlib.suppress(AttributeError):
                wrapper.__annotations__ = dict(wrapped.__annotations__)
        if own and "__type_params__" in names and isinstance(wrapped, types.FunctionType):
            wrapper.__type_params__ = getattr(wrapped, "__type_params__", ())
        if own:
            # The wrapper of a host's function must not lead to its attributes.
            refuse_protocols(getattr(wrapped, "__dict__", ()))
            if others:
                wrapper.__dict__.update(getattr(wrapped, "__dict__", {}))
            wrapper.__wrapped__ = wrapped
        return wrapper

    def wraps(
        wrapped: Any,
        assigned: Any = functools.WRAPPER_ASSIGNMENTS,
        updated: Any = functools.WRAPPER_UPDATES,
    ) -> Any:
        return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)

    def total_ordering(cls: Any) -> Any:
        guards.writable(cls, "__lt__")
        return functools.total_ordering(cls)

    class cached_property:  # not derived: super() would lead to the unguarded one
        def __init__(self, func: Any) -> None:
            self.func, self.attrname, self.__doc__ = func, None, func.__doc__

        def __set_name__(self, owner: Any, name: str) -> None:
            if self.attrname is None:
                self.attrname = name  # type: ignore[assignment]
            elif name != self.attrname:
                raise TypeError(
                    "Cannot assign the same cached_property to two different names "
                    f"({self.attrname!r} and {name!r})."
                )

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            if self.attrname is None:
                raise TypeError(
                    "Cannot use cached_property instance without calling __set_name__ on it."
                )
            if not guards.is_own(instance):
                raise ProgramRefusedError(
                    f"Forbidden: a cached_property in {type(instance).__name__!r} object, which "
                    "is not of a class the program defines"
                )
            held = getattr(instance, "__dict__", None)
            if held is None:
                raise TypeError(
                    f"No '__dict__' attribute on {type(instance).__name__!r} instance to cache "
                    f"{self.attrname!r} property."
                )
            if self.attrname not in held:
                held[self.attrname] = self.func(instance)
            return held[self.attrname]

        __class_getitem__: Any = classmethod(types.GenericAlias)

    cached_property.__module__, cached_property.__qualname__ = "functools", "cached_property"

    def reduce(function: Any, iterable: Any, /, *initial: Any) -> Any:
        return functools.reduce(function, modules.meter.called_back(iterable), *initial)

    singledispatch, method_dispatch = _dispatch()
    return {
        "reduce": reduce,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
        "total_ordering": total_ordering,
        "cached_property": cached_property,
        "singledispatch": singledispatch,
        "singledispatchmethod": method_dispatch,
    }


def _dispatch() -> tuple[Any, Any]:
    """``singledispatch`` and ``singledispatchmethod``, whose ``register`` reads annotations."""

    def singledispatch(func: Any) -> Any:
        made = functools.singledispatch(func)
        register = made.register

        def registering(cls: Any, func: Any = None) -> Any:
            cls = plain_type(cls)
            if func is None and not isinstance(cls, type) and hasattr(cls, "__annotations__"):
                hints = list(_hints()["get_type_hints"](cls).values())
                if not hints:
                    return register(cls)  # raises in CPython's words
                return register(hints[0], cls)
            return register(cls, func)

        made.register = registering  # type: ignore[method-assign]
        return made

    class singledispatchmethod:  # not derived: super() would lead to the unguarded one
        def __init__(self, func: Any) -> None:
            if not callable(func) and not hasattr(func, "__get__"):
                raise TypeError(f"{func!r} is not callable or a descriptor")
            self.dispatcher, self.func = singledispatch(func), func

        def register(self, cls: Any, method: Any = None) -> Any:
            return self.dispatcher.register(plain_type(cls), method)

        def __get__(self, obj: Any, cls: Any = None) -> Any:
            def method(*arguments: Any, **keywords: Any) -> Any:
                found = self.dispatcher.dispatch(type(arguments[0]))
                return found.__get__(obj, cls)(*arguments, **keywords)

            method.register = self.register  # type: ignore[attr-defined]
            functools.update_wrapper(method, self.func, updated=())
            return method

        @property
        def __isabstractmethod__(self) -> bool:
            return bool(getattr(self.func, "__isabstractmethod__", False))

    singledispatchmethod.__module__ = "functools"
    singledispatchmethod.__qualname__ = "singledispatchmethod"
    return singledispatch, singledispatchmethod


@functools.cache
def _hints() -> dict[str, Any]:
    """A copy of typing's functions that evaluates no text."""

    def refuse(text: Any, *_arguments: Any, **_keywords: Any) -> Any:
        raise ProgramRefusedError(
            f"Forbidden: annotation {str(text)!r} is a string, which would be run "
            "as code. Write the annotation as an expression"
        )

    class Text(type):
        """Stands for ForwardRef: every instance of it met is refused."""

        def __call__(cls, text: Any, *_arguments: Any, **_keywords: Any) -> Any:
            return refuse(text)

        def __instancecheck__(cls, instance: Any) -> bool:
            if isinstance(instance, typing.ForwardRef):
                refuse(instance.__forward_arg__)
            return False

    overrides: dict[str, Any] = {"eval": refuse, "exec": refuse}
    overrides["ForwardRef"] = Text("ForwardRef", (), {})
    for name in ("_make_forward_ref", "evaluate_forward_ref"):
        if hasattr(typing, name):
            overrides[name] = refuse
    return rebound(typing, overrides)


def _typing(modules: Any) -> dict[str, Any]:
    guards = modules.guards
    overloads: dict[Any, list[Any]] = {}

    def get_type_hints(obj: Any, **options: Any) -> Any:
        extras = bool(options.pop("include_extras", False))
        found = _hints()["get_type_hints"](obj, include_extras=extras)
        return {name: guards.held(one) for name, one in found.items()}

    def overload(func: Any) -> Any:
        overloads.setdefault(getattr(func, "__qualname__", None), []).append(func)
        return refused_overload

    def refused_overload(*_arguments: Any, **_keywords: Any) -> Any:
        return typing.overload(lambda: None)()  # raises in CPython's words

    def no_type_check(arg: Any) -> Any:
        # Marks a class's functions, too, where they are the program's.
        guards.writable(arg, "__no_type_check__")
        arg.__no_type_check__ = True
        return arg

    result: dict[str, Any] = {
        "get_type_hints": get_type_hints,
        "get_origin": lambda tp: guards.held(typing.get_origin(tp)),
        "get_args": lambda tp: guards.held(typing.get_args(tp)),
        "evaluate_forward_ref": REFUSED,
        "ForwardRef": REFUSED,
        "io": REFUSED,
        "re": REFUSED,
        "overload": overload,
        "no_type_check": no_type_check,
        "no_type_check_decorator": REFUSED,
    }
    if hasattr(typing, "get_overloads"):
        result["get_overloads"] = lambda func: list(overloads.get(func.__qualname__, []))
        result["clear_overloads"] = overloads.clear
    marks = {
        "final": "__final__",
        "override": "__override__",
        "runtime_checkable": "_is_runtime_protocol",
    }
    for name, mark in marks.items():
        if hasattr(typing, name):
            result[name] = _marking(guards, getattr(typing, name), mark)
    if hasattr(typing, "dataclass_transform"):

        def dataclass_transform(**options: Any) -> Any:
            made = typing.dataclass_transform(**options)  # type: ignore[attr-defined,unused-ignore]
            return _marking(guards, made, "__dataclass_transform__")

        result["dataclass_transform"] = dataclass_transform
    return result


def _abc(modules: Any) -> dict[str, Any]:
    mark = "__isabstractmethod__"
    return {
        "update_abstractmethods": REFUSED,
        "abstractmethod": _marking(modules.guards, abc.abstractmethod, mark),
    }


def _enum(modules: Any) -> dict[str, Any]:
    """Without the helpers that write a class's members into the module it names."""
    guards = modules.guards
    nothing = getattr(enum.auto(), "value", None)  # one object, which every auto() begins with
    guards.shared[id(nothing)] = nothing
    result: dict[str, Any] = {"global_enum": REFUSED, "property": REFUSED}
    if hasattr(enum, "pickle_by_enum_name"):
        result.update(pickle_by_enum_name=REFUSED, pickle_by_global_name=REFUSED)
    result["unique"] = _marking(guards, enum.unique, "__members__")
    return result


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "functools": _functools,
    "typing": _typing,
    "abc": _abc,
    "enum": _enum,
}
