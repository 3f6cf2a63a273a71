"""Tools and managed agents of the host as programs see them: something to call, and no more.

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

__all__ = ["ToolHandle", "handle"]


class ToolHandle:
    """A host's tool or agent as programs see it: something to call, that describes itself.

    The tool itself stays out of reach: its attributes may hold clients, keys or modules. What a
    program gets of its description is a copy at every reading.
    """

    __slots__ = ("_call", "_described")

    def __init__(self, name: str, tool: Callable[..., Any], call: Callable[..., Any]) -> None:
        self._call = call
        self._described = {
            "name": name,
            "description": str(getattr(tool, "description", "") or ""),
            "inputs": getattr(tool, "inputs", None),
            "output_type": getattr(tool, "output_type", None),
        }

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        return self._call(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "description", "inputs", "output_type"):
            return copy.deepcopy(self._described[name])
        if name in ("__name__", "__qualname__"):
            return self._described["name"]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return ["__call__", "__doc__", "__name__", "description", "inputs", "name", "output_type"]

    def __copy__(self) -> ToolHandle:
        return self

    def __deepcopy__(self, _memo: Any) -> ToolHandle:
        return self

    def __repr__(self) -> str:
        return f"<tool {self._described['name']}>"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return str(self._described["description"])


def handle(name: str, tool: Any, guards: Any) -> Any:
    """``tool`` as it may be handed to a program.

    Args:
        name: what the program calls it by.
        tool: a function, a tool object, a class or a plain value.
        guards: of the interpreter it is handed to.
    """
    if isinstance(tool, (type, ToolHandle)) or not callable(tool):
        return tool
    if isinstance(tool, types.BuiltinFunctionType) and tool.__module__ in ("math", "builtins"):
        return tool  # upstream's functions that need no import
    function = isinstance(tool, types.FunctionType)
    if function and tool.__globals__ is guards.globals:
        return tool

    def call(*arguments: Any, **keywords: Any) -> Any:
        return guards._vet(guards.host.call(tool, arguments, keywords))

    if not function:
        return ToolHandle(name, tool, call)
    # What the function keeps beside its name and its text is the host's: functools.wraps would
    # hand out its attributes, and the function itself.
    call.__name__, call.__qualname__ = tool.__name__, tool.__qualname__
    call.__doc__ = tool.__doc__
    call.__module__ = tool.__module__
    call.__annotations__ = dict(getattr(tool, "__annotations__", None) or {})
    return call
