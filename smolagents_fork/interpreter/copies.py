"""Copies of a module's functions and classes that find other globals: its code over other parts.

For Python's own modules whose waits would be the host's; see replaced_threads.py.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["copied"]


def copied(
    module: types.ModuleType, names: Iterable[str], instead: Mapping[str, Any]
) -> dict[str, Any]:
    """Globals like ``module``'s, with ``instead``, and with copies that see these globals.

    Args:
        module: a module written in Python.
        names: functions and classes of it to copy, bases before what derives from them; names that
            this version of it does not have are left out.
        instead: globals to replace.
    """
    namespace = {**vars(module), **instead}
    same: dict[Any, Any] = {}
    for name in names:
        value = vars(module).get(name)
        if isinstance(value, type):
            same[value] = namespace[name] = _copied_class(value, namespace, same, instead)
        elif isinstance(value, types.FunctionType):
            namespace[name] = _copied_function(value, namespace, None)
    return namespace


def _copied_class(
    cls: type, namespace: dict[str, Any], same: Mapping[Any, Any], instead: Mapping[str, Any]
) -> type:
    itself = types.CellType()
    body = {
        name: _copied_member(value, namespace, itself)
        for name, value in vars(cls).items()
        if name not in ("__dict__", "__weakref__")
    }
    bases = tuple(same.get(base, instead.get(base.__name__, base)) for base in cls.__bases__)
    made: type = type(cls)(cls.__name__, bases, body)
    itself.cell_contents = made
    return made


def _copied_member(value: Any, namespace: dict[str, Any], itself: types.CellType) -> Any:
    if isinstance(value, types.FunctionType):
        return _copied_function(value, namespace, itself)
    if isinstance(value, (classmethod, staticmethod)):
        return type(value)(_copied_member(value.__func__, namespace, itself))
    if isinstance(value, property):
        parts = (value.fget, value.fset, value.fdel)
        return property(*(_copied_member(part, namespace, itself) for part in parts))
    return value


def _copied_function(
    function: types.FunctionType, namespace: dict[str, Any], itself: types.CellType | None
) -> types.FunctionType:
    closure = function.__closure__
    if closure is not None and itself is not None:
        names = function.__code__.co_freevars
        closure = tuple(
            itself if name == "__class__" else cell
            for name, cell in zip(names, closure, strict=True)
        )
    made = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__doc__ = function.__doc__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made
