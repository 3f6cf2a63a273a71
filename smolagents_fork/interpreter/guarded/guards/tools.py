"""Tools and managed agents of the host as programs see them, and the calls of them.

A program gets a function that describes itself, and no more: the attributes of a tool may be
clients, keys or modules. While a tool works the program's clock stands still.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import types
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ....awaitables import complete
from ....codec.rpc import show_default, signature_of
from ..meter import Meter

__all__ = ["ToolCaller"]

#: Attributes of a tool or agent that describe it.
_DESCRIBING = ("name", "description", "inputs", "output_type")


class ToolCaller:
    """Calls tools for one interpreter's programs.

    Args:
        meter: stops the clock while a tool works, and refuses calls of a run that is over.
        owns: tells whether a function is the program's.
        check: gives a tool's result as a program may have it.
        suspended: lets this thread write to the host's own streams while a tool works.
    """

    def __init__(
        self,
        meter: Meter,
        owns: Callable[[Any], bool],
        check: Callable[[Any], Any],
        suspended: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._meter = meter
        self._owns = owns
        self._check = check
        self._suspended = suspended
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
            with self._suspended():
                result = complete(tool(*arguments, **keywords))
        except (SystemExit, GeneratorExit) as error:
            # It would end the program; in a sandbox it is this error, too.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        finally:
            self._working.pop(token, None)
            meter.resume(number)
            meter.check_thread()
            # Also when it raised: that may be how it ended because of the interruption.
            meter.check_interrupted()
        return self._check(result)

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
        if isinstance(tool, type) or not callable(tool):
            return tool
        builtin = isinstance(tool, types.BuiltinFunctionType)
        if builtin and tool.__module__ in ("math", "builtins") and tool is not input:
            return tool  # upstream's functions that need no import
        if isinstance(tool, types.FunctionType) and self._owns(tool):
            return tool

        def call(*arguments: Any, **keywords: Any) -> Any:
            return self.call(tool, arguments, keywords)

        call.__name__ = call.__qualname__ = str(getattr(tool, "__name__", name))
        call.__doc__, call.__module__ = tool.__doc__, tool.__module__
        call.__annotations__ = dict(getattr(tool, "__annotations__", None) or {})
        for attribute in _DESCRIBING:
            if hasattr(tool, attribute):
                # A copy: what a program does to it does not change the tool.
                setattr(call, attribute, copy.deepcopy(getattr(tool, attribute)))
        with contextlib.suppress(Exception):  # some have none; a tool may raise anything
            parameters = inspect.signature(tool, follow_wrapped=False).parameters.values()
            call.__signature__ = signature_of(  # type: ignore[attr-defined]
                [[p.name, p.kind.name, show_default(p.default)] for p in parameters]
            )
        return call
