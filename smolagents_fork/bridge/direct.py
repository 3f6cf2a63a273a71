"""Tools of code that runs in the host's own process: called directly, with a stub's signature."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..codec.rpc import make_binding, signature_of
from ..errors import ConfigurationError
from .signatures import StubSpec, describe, make_callable

__all__ = ["directly"]


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
