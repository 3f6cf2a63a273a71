"""Tools of code that runs in the host process: called directly, with a stub's signature."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

from .. import telemetry
from ..awaitables import complete
from ..codec.rpc import make_binding, signature_of
from ..errors import ConfigurationError
from ..text.short_texts import limited_text
from .call_record import CallRecord
from .signatures import StubSpec, describe, make_callable

__all__ = ["directly"]


def directly(
    name: str,
    target: Callable[..., Any],
    before_call: Callable[[str, Mapping[str, Any]], None] | None = None,
    after_call: Callable[[CallRecord], None] | None = None,
) -> Callable[..., Any]:
    """Wrap ``target`` for code that runs in the host process.

    A ``Tool`` or an agent is called by its name, accepts the same arguments as through the bridge,
    and looks the same in ``help()``. A plain function or a class is returned unchanged unless
    calls are asked about, and so is a target that cannot have a stub.

    Args:
        before_call: called with name and arguments by parameter before ``target`` is; what it
            raises is raised in the code, and ``target`` is not called.
        after_call: called with a record of each call that was made.
    """
    if isinstance(target, type) and before_call is None:
        return target
    try:
        spec = describe(name, target)
    except ConfigurationError:
        return target
    make_callable(target)
    if spec.unpack or spec.closed or before_call is not None:
        return DirectCall(spec, target, before_call, after_call)
    return target


class DirectCall:
    """Wrapper of a ``Tool`` or an agent that binds arguments like a stub in a sandbox."""

    def __init__(
        self,
        spec: StubSpec,
        target: Callable[..., Any],
        before_call: Callable[[str, Mapping[str, Any]], None] | None,
        after_call: Callable[[CallRecord], None] | None,
    ) -> None:
        parameters = [list(parameter) for parameter in spec.parameters]
        self._spec = spec
        self._target = target
        self._before_call = before_call
        self._after_call = after_call
        self._bind = make_binding(spec.name, parameters, spec.unpack)
        self.__name__ = self.name = spec.name
        self.__doc__ = spec.doc
        self.__signature__ = signature_of(parameters)
        self.description = getattr(target, "description", None)
        # A copy, so that a program cannot change the tool.
        self.inputs = copy.deepcopy(getattr(target, "inputs", None))
        self.output_type = getattr(target, "output_type", None)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the target.

        Raises:
            TypeError: the arguments do not match; worded as by Python, with the tool's name.
        """
        positional, named = self._spec.as_read(*self._bind(*args, **kwargs))
        self._spec.refuse_reserved(named)
        if self._before_call is not None:
            self._before_call(self.name, self._spec.arguments(positional, named))
        problem: str | None = None
        started = time.monotonic()
        try:
            with telemetry.tool_call(self.name):
                return complete(self._target(*positional, **named))
        except BaseException as error:
            problem = f"{type(error).__name__}: {limited_text(error)}"
            raise
        finally:
            if self._after_call is not None:
                self._after_call(CallRecord(self.name, time.monotonic() - started, problem))

    def interrupt(self) -> None:
        """Ask the target to stop, if it supports that."""
        stop = getattr(self._target, "interrupt", None)
        if callable(stop):
            stop()
