"""Executors that ``smolagents`` exports under upstream's names: patch ``executor-names``.

``smolagents`` itself imports this module last. Its names become the fork's on first use (PEP 562),
so that ``import smolagents`` imports no executor. ``smolagents.remote_executors`` keeps upstream's
own classes.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from ...upstream import DockerExecutor as UpstreamDockerExecutor

__all__ = ["UpstreamDockerExecutor"]

_PACKAGE = "smolagents"
_LOCAL = f"{_PACKAGE}.local_python_executor"
# Name -> module of the fork.
_EXECUTORS = {
    "BlaxelExecutor": "hosted",
    "DockerExecutor": "docker",
    "E2BExecutor": "hosted",
    "LocalPythonExecutor": "local",
    "ModalExecutor": "hosted",
}


def _value(name: str) -> Any:
    """Import an executor, or the function of the local one."""
    from ..registry import imported

    return imported(f"smolagents_fork.executors.{_EXECUTORS.get(name, 'local')}:{name}")


def _defer(module: types.ModuleType, names: frozenset[str]) -> None:
    """Remove ``names`` from an imported module, and look them up when they are used.

    Functions of the module do not find a removed name, so none may need it.
    """
    own = vars(module)
    for name in names:
        own.pop(name, None)

    def public() -> list[str]:
        return sorted({*(name for name in own if name[0] != "_"), *names})

    def __getattr__(name: str) -> Any:
        if name in names:
            own[name] = value = _value(name)
            return value
        if name == "__all__":  # of ``from module import *``
            return public()
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*own, *names})

    own.update(__getattr__=__getattr__, __dir__=__dir__)


def _replace() -> None:
    local = sys.modules[_LOCAL]
    walker, evaluate = local.LocalPythonExecutor, local.evaluate_python_code

    @functools.wraps(evaluate)
    def evaluate_python_code(*arguments: Any, **keywords: Any) -> Any:
        return _value("evaluate_python_code")(*arguments, **keywords)

    # Every module that has imported upstream's by name.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != _PACKAGE:
            continue
        if vars(module).get("evaluate_python_code") is evaluate:
            vars(module)["evaluate_python_code"] = evaluate_python_code
        if name == _PACKAGE:
            _defer(module, frozenset(_EXECUTORS))
        elif vars(module).get("LocalPythonExecutor") is walker:
            _defer(module, frozenset({"LocalPythonExecutor"}))


_replace()
