"""Tools and managed agents of the host as programs see them, and the calls of them.

A program gets something to call that describes itself, and no more: the attributes of a tool may be
clients, keys or modules. While a tool works the program's clock stands still.
"""

from __future__ import annotations

import copy
import threading
import types
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..meter import Meter

__all__ = ["ToolCaller", "ToolProxy"]


class ToolProxy:
    """A tool or agent as programs see it: something to call, that describes itself.

    What a program gets of the description is a copy at every reading.

    Args:
        name: what the program calls it by.
        tool: the tool.
        call: calls the tool.
    """

    __slots__ = ("_call", "_description")

    def __init__(self, name: str, tool: Callable[..., Any], call: Callable[..., Any]) -> None:
        if hasattr(self, "_call"):
            raise TypeError("a tool is made by the host")
        self._call = call
        self._description = {
            "name": name,
            "description": str(getattr(tool, "description", "") or ""),
            "inputs": getattr(tool, "inputs", None),
            "output_type": getattr(tool, "output_type", None),
        }

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        return self._call(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "description", "inputs", "output_type"):
            return copy.deepcopy(self._description[name])
        if name in ("__name__", "__qualname__"):
            return self._description["name"]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return ["__call__", "__doc__", "__name__", "description", "inputs", "name", "output_type"]

    def __copy__(self) -> ToolProxy:
        return self

    def __deepcopy__(self, _memo: Any) -> ToolProxy:
        return self

    def __repr__(self) -> str:
        return f"<tool {self._description['name']}>"

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return str(self._description["description"])


class HostStreams(Protocol):
    """The streams that a tool writes to."""

    def suspended(self) -> AbstractContextManager[None]:
        """Let this thread write to the host's own streams."""
        ...


class ToolCaller:
    """Calls tools for one interpreter's programs.

    Args:
        meter: stops the clock while a tool works, and refuses calls of a run that is over.
        globals: the program's state; its functions have it as their globals.
        vet: gives a tool's result as a program may have it.
        streams: what a tool prints is not the program's output.
    """

    def __init__(
        self,
        meter: Meter,
        globals: dict[str, Any],
        vet: Callable[[Any], Any],
        streams: HostStreams,
    ) -> None:
        self._meter = meter
        self._globals = globals
        self._vet = vet
        self._streams = streams
        self._working: dict[object, Callable[..., Any]] = {}

    def call(
        self, tool: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> Any:
        """Call ``tool`` for the program, unless its run is over.

        Raises:
            ProgramStop: a limit is spent, or the program was interrupted while the tool worked.
            FinalAnswer: the run has its answer.
            RuntimeError: there is no run, or it is one without tools.
        """
        meter, token = self._meter, object()
        number = meter.pause()
        try:
            self._working[token] = tool
            with self._streams.suspended():
                result = tool(*arguments, **keywords)
        finally:
            self._working.pop(token, None)
            meter.resume(number)
            if threading.get_ident() in meter.threads:
                meter.check_thread()
            # Also when it raised: that may be how it ended because of the interruption.
            meter.check_interrupted()
        return self._vet(result)

    def interrupt(self) -> None:
        """Ask every tool at work that has an ``interrupt()``, as agents have, to stop."""
        for tool in list(self._working.values()):
            stop = getattr(tool, "interrupt", None)
            if callable(stop):
                stop()

    def proxy(self, name: str, tool: Any) -> Any:
        """Give ``tool`` as it may be handed to a program.

        Args:
            name: what the program calls it by.
            tool: a function, a tool object, a class or a plain value.
        """
        if isinstance(tool, (type, ToolProxy)) or not callable(tool):
            return tool
        if isinstance(tool, types.BuiltinFunctionType) and tool.__module__ in ("math", "builtins"):
            return tool  # upstream's functions that need no import
        function = isinstance(tool, types.FunctionType)
        if function and tool.__globals__ is self._globals:
            return tool

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self.call(tool, arguments, keywords)

        if not function:
            return ToolProxy(name, tool, call)
        # What the function keeps beside its name and its text is the host's.
        call.__name__, call.__qualname__ = tool.__name__, tool.__qualname__
        call.__doc__, call.__module__ = tool.__doc__, tool.__module__
        call.__annotations__ = dict(getattr(tool, "__annotations__", None) or {})
        return call
