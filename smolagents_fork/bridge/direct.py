"""Tools of code that runs in the host's own process: called directly, with a stub's signature."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..codec.rpc import RUN_ENDED, make_binding, signature_of
from ..errors import ConfigurationError
from .signatures import StubSpec, describe, make_callable

__all__ = ["ToolGate", "directly"]


class ToolGate:
    """Whether code may call tools now: while it runs, and has given no final answer."""

    def __init__(self) -> None:
        self.open = False

    def check(self) -> None:
        """Refuse a call of a tool when the gate is closed.

        Raises:
            RuntimeError: the run has answered, or has ended.
        """
        if not self.open:
            raise RuntimeError(RUN_ENDED)

    def guarded(self, tools: Mapping[str, Any]) -> dict[str, Any]:
        """``tools`` that can be called while the gate is open; ``final_answer`` closes it.

        Classes, functions of :mod:`math`, builtins and what cannot be called stay as they are.
        """
        return {name: self._guarded(name, tool) for name, tool in tools.items()}

    def _guarded(self, name: str, tool: Any) -> Any:
        of_c = isinstance(tool, types.BuiltinFunctionType)
        plain = of_c and tool.__module__ in ("math", "builtins")
        if plain or isinstance(tool, type) or not callable(tool):
            return tool
        call = self._final(tool) if name == "final_answer" else self._ordinary(tool)
        if isinstance(tool, types.FunctionType):
            call = functools.wraps(tool)(call)
            call.__signature__ = inspect.signature(tool)  # type: ignore[attr-defined]
            return call
        return GuardedTool(tool, call)

    def _ordinary(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.open:
                raise RuntimeError(RUN_ENDED)
            return tool(*args, **kwargs)

        return call

    def _final(self, tool: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.check()
            value = tool(*args, **kwargs)
            self.open = False
            return value

        return call


class GuardedTool:
    """A tool object, called through a gate; its attributes are the tool's own."""

    def __init__(self, tool: Callable[..., Any], call: Callable[..., Any]) -> None:
        self.__wrapped__ = tool
        self.__doc__ = tool.__doc__
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)


def directly(name: str, target: Callable[..., Any]) -> Callable[..., Any]:
    """``target`` as code in the host's own process is given it.

    A ``Tool`` or an agent is called by its name, takes what it takes through the bridge, and shows
    the same to ``help()``; a plain function, and what no stub could be made for, stays as it is.
    """
    try:
        spec = describe(name, target)
    except ConfigurationError:
        return target
    make_callable(target)
    return DirectCall(spec, target) if spec.unpack or spec.closed else target


class DirectCall:
    """Stands for a ``Tool`` or an agent, and binds arguments as a stub in a sandbox does."""

    def __init__(self, spec: StubSpec, target: Callable[..., Any]) -> None:
        parameters = [list(parameter) for parameter in spec.parameters]
        self._target = target
        self._bind = make_binding(spec.name, parameters, spec.unpack)
        self.__name__ = self.name = spec.name
        self.__doc__ = spec.doc
        self.__signature__ = signature_of(parameters)
        self.description = getattr(target, "description", None)
        # A copy: what a program does to it must not change the tool.
        self.inputs = copy.deepcopy(getattr(target, "inputs", None))
        self.output_type = getattr(target, "output_type", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the target.

        Raises:
            TypeError: the arguments do not fit; in Python's words, under the tool's name.
        """
        more = {_SANITIZE: kwargs.pop(_SANITIZE)} if _SANITIZE in kwargs else {}
        positional, named = self._bind(*args, **kwargs)
        return self._target(*positional, **named, **more)

    def interrupt(self) -> None:
        """Ask the target to stop, if it can be asked."""
        stop = getattr(self._target, "interrupt", None)
        if callable(stop):
            stop()


# Upstream's Tool.__call__ takes this beside the tool's own arguments.
_SANITIZE = "sanitize_inputs_outputs"
