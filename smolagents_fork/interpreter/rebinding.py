"""Modules of the standard library that act on names and objects a program chooses: private copies.

``copy``, ``dataclasses`` and ``typing`` read and write attributes by name, and run text as code.
Called by a program they would do so with the host's rights. Their functions are copied here with
other globals, in which ``getattr``, ``setattr``, ``exec`` and their like are guarded; their classes
and constants stay the very ones the host uses. Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

__all__ = ["rebound"]


def _copied(function: types.FunctionType, namespace: dict[str, Any]) -> types.FunctionType:
    made = types.FunctionType(
        function.__code__,
        namespace,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = dict(function.__kwdefaults__) if function.__kwdefaults__ else None
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    made.__doc__ = function.__doc__
    made.__dict__.update(function.__dict__)
    return made


def rebound(
    module: types.ModuleType, overrides: dict[str, Any], classes: Iterable[str] = ()
) -> dict[str, Any]:
    """The namespace of a private copy of ``module``.

    Args:
        module: the module; it is not changed.
        overrides: names that mean something else in the copy, builtins among them.
        classes: classes of the module whose methods are to use the copy, too.
    """
    original = vars(module)
    namespace = dict(original)
    twins: dict[int, types.FunctionType] = {}

    def twin(function: Any) -> Any:
        own = isinstance(function, types.FunctionType) and function.__globals__ is original
        if not own:
            return function
        if id(function) not in twins:
            twins[id(function)] = _copied(function, namespace)
        return twins[id(function)]

    for name, value in original.items():
        namespace[name] = twin(value)
        if type(value) is dict and not name.startswith("__"):
            # Tables of functions by type, as copy has them.
            namespace[name] = {key: twin(one) for key, one in value.items()}
    for name in classes:
        found = original.get(name)
        if isinstance(found, type):
            hidden = ("__dict__", "__weakref__")
            body = {k: twin(v) for k, v in vars(found).items() if k not in hidden}
            namespace[name] = type(found)(found.__name__, found.__bases__, body)
    namespace.update(overrides)
    for made in twins.values():
        if made.__defaults__:
            made.__defaults__ = tuple(
                overrides.get(getattr(one, "__name__", ""), twin(one))
                if isinstance(one, types.FunctionType)
                else one
                for one in made.__defaults__
            )
        for name, one in (made.__kwdefaults__ or {}).items():
            if isinstance(one, types.FunctionType):
                assert made.__kwdefaults__ is not None
                made.__kwdefaults__[name] = overrides.get(one.__name__, twin(one))
    return namespace
