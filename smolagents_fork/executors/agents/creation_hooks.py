"""Hooks on upstream's agent class that change no line of it: patch ``executor-names``.

They ask upstream's own signatures for what they change, so a release that reorders parameters or
takes them by keyword only needs no other hook.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["hook_agent_class", "set_default"]

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def hook_agent_class(agent_class: type) -> None:
    """Let the environment decide where a program names no executor, and give its classes.

    ``create_python_executor`` makes the fork's executors, also for subclasses that extend it. A
    release without the method decides in its constructor, where patch ``executor-class`` is.

    Args:
        agent_class: ``CodeAgent``.

    Raises:
        AttributeError: its constructor does not take ``executor_type``.
    """
    # None says that the caller names no executor.
    set_default(vars(agent_class)["__init__"], "executor_type", None)
    creation = getattr(agent_class, "create_python_executor", None)
    if creation is not None:
        agent_class.create_python_executor = _with_built_in(creation)  # type: ignore[attr-defined]


def _with_built_in(creation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(creation)
    def create_python_executor(self: Any) -> Any:
        from .selection import built_in_executor

        built_in = built_in_executor(self)
        return creation(self) if built_in is None else built_in

    return create_python_executor


def set_default(function: Any, name: str, value: object) -> None:
    """Set the default of a function's parameter, whether it is taken by place or by keyword.

    Args:
        function: a plain function.
        name: of a parameter that has a default.
        value: the new default.

    Raises:
        AttributeError: the function has no such parameter.
    """
    parameters = inspect.signature(function).parameters
    if name not in parameters or parameters[name].default is inspect.Parameter.empty:
        raise AttributeError(
            f"{function.__qualname__} has no parameter {name!r} with a default; it has "
            f"{', '.join(parameters)}"
        )
    defaults = {
        one.name: value if one.name == name else one.default
        for one in parameters.values()
        if one.default is not one.empty
    }
    by_place = [one.name for one in parameters.values() if one.kind in _BY_PLACE]
    function.__defaults__ = tuple(defaults[one] for one in by_place if one in defaults)
    function.__kwdefaults__ = {one: v for one, v in defaults.items() if one not in by_place} or None
