"""Executors and their types that ``smolagents`` exports: patch ``executor-names``.

``smolagents`` itself imports this module last. A name gets its value on first use, so that ``import
smolagents`` imports no executor, neither the fork's nor upstream's.
``smolagents.remote_executors`` keeps upstream's classes.

Functions of upstream's modules find what they were written with. A call of upstream's local
executor makes the fork's, which ``isinstance()`` takes for one of upstream's.

Upstream's agent class is hooked without a change of its lines: its own signature says what there is
to change, so that a release which reorders parameters needs no other hook.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from ...upstream import CodeAgent, CodeOutput, PythonExecutor

__all__ = ["CodeOutput", "PythonExecutor"]

_PACKAGE = "smolagents"
_LOCAL = "smolagents_fork.executors.local"
_HOSTED = "smolagents_fork.executors.hosted"
_UPSTREAM = "smolagents_fork.upstream"
# Name in ``smolagents`` -> what it is.
_NAMES = {
    "BlaxelExecutor": f"{_HOSTED}:BlaxelExecutor",
    "DockerExecutor": "smolagents_fork.executors.docker:DockerExecutor",
    "E2BExecutor": f"{_HOSTED}:E2BExecutor",
    "LocalPythonExecutor": f"{_LOCAL}:LocalPythonExecutor",
    "ModalExecutor": f"{_HOSTED}:ModalExecutor",
    "RemotePythonExecutor": f"{_UPSTREAM}:RemotePythonExecutor",
    "UpstreamDockerExecutor": f"{_UPSTREAM}:DockerExecutor",
}


def _value(reference: str) -> Any:
    from ..registry import import_reference

    return import_reference(reference)


class _DeferredName:
    """Attribute of a module that is imported on use, until somebody assigns a value to it.

    Args:
        name: of the attribute.
        upstreams: value that the module's own functions find in its namespace.
    """

    def __init__(self, name: str, upstreams: object) -> None:
        self._name, self._upstreams = name, upstreams

    def __get__(self, module: types.ModuleType | None, owner: type) -> Any:
        if module is None:
            return self
        value = vars(module).get(self._name, self._upstreams)
        return _value(_NAMES[self._name]) if value is self._upstreams else value

    def __set__(self, module: types.ModuleType, value: object) -> None:
        vars(module)[self._name] = value

    def __delete__(self, module: types.ModuleType) -> None:
        vars(module).pop(self._name, None)


def _defer(module: types.ModuleType, *names: str) -> None:
    """Give an imported module the ``names``, for everyone but the module itself."""
    module_type = type(module)
    for name in names:  # A star import takes what stands in the namespace.
        vars(module).setdefault(name, None)
    members = {name: _DeferredName(name, vars(module)[name]) for name in names}
    module.__class__ = type(module_type.__name__, (module_type,), members)


def _replace() -> None:
    local = importlib.import_module(f"{_PACKAGE}.local_python_executor")
    walker, evaluate = local.LocalPythonExecutor, local.evaluate_python_code

    def make(cls: type, *arguments: Any, **keywords: Any) -> Any:
        if cls is walker:
            return _value(_NAMES["LocalPythonExecutor"])(*arguments, **keywords)
        return object.__new__(cls)

    walker.__new__ = make

    @functools.wraps(evaluate)
    def evaluate_python_code(*arguments: Any, **keywords: Any) -> Any:
        return _value(f"{_LOCAL}:evaluate_python_code")(*arguments, **keywords)

    # Every module that has imported upstream's by name.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != _PACKAGE:
            continue
        if vars(module).get("evaluate_python_code") is evaluate:
            vars(module)["evaluate_python_code"] = evaluate_python_code
        if name == _PACKAGE:
            _defer(module, *_NAMES)
        elif vars(module).get("LocalPythonExecutor") is walker:
            _defer(module, "LocalPythonExecutor")


def _hook_agent_class(agent_class: type) -> None:
    """Let the environment decide where a program names no executor, and give its classes.

    ``create_python_executor`` makes the fork's executors, also for subclasses that extend it. Those
    find it in a release without the method, too.
    """
    # None says that the caller names no executor.
    _set_default(vars(agent_class)["__init__"], "executor_type", None)
    creation = getattr(agent_class, "create_python_executor", _refuse_executor_type)
    agent_class.create_python_executor = _with_built_in(creation)  # type: ignore[attr-defined]


def _refuse_executor_type(agent: Any) -> Any:
    raise ValueError(f"Unsupported executor type: {agent.executor_type}")


def _with_built_in(creation: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(creation)
    def create_python_executor(self: Any) -> Any:
        from .selection import built_in_executor

        built_in = built_in_executor(self)
        return creation(self) if built_in is None else built_in

    return create_python_executor


def _set_default(function: Any, name: str, value: object) -> None:
    """Set the default of a parameter, whether a release takes it by place or by keyword only."""
    parameters = inspect.signature(function).parameters.values()
    by_place = [
        parameter.name
        for parameter in parameters
        if parameter.default is not parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
    ]
    if name in by_place:
        defaults = list(function.__defaults__)
        defaults[by_place.index(name)] = value
        function.__defaults__ = tuple(defaults)
    elif name in (function.__kwdefaults__ or {}):
        function.__kwdefaults__[name] = value
    else:
        raise AttributeError(f"{function.__qualname__} has no parameter {name!r} with a default")


_replace()
_hook_agent_class(CodeAgent)
