"""The builtins of a program: harmless ones as they are, guarded ones, tools; and the guards.

Decides nothing: binds each name to what decides.
"""

from __future__ import annotations

import builtins
import itertools
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any

from ....errors import AttributeRefusedError, ProgramRefusedError
from .. import policy
from ..meter import Meter
from .attributes import AttributeGuard
from .program_classes import ProgramClasses
from .sizes import Sizes

__all__ = ["program_builtins", "program_guards"]


def _make_refusal(name: str) -> Callable[..., Any]:
    """Make what stands for a builtin that is refused."""
    advice = policy.REFUSED_BUILTINS[name]

    def refuse(*_arguments: Any, **_keywords: Any) -> Any:
        raise ProgramRefusedError(
            f"Forbidden function evaluation: {name!r} is not among the explicitly allowed "
            f"tools or defined/imported in the preceding code: {advice}"
        )

    return refuse


def _refuse(message: str) -> Any:
    raise ProgramRefusedError(message)


def _refuse_attribute(message: str) -> Any:
    raise AttributeRefusedError(message)


def program_builtins(
    attributes: AttributeGuard,
    sizes: Sizes,
    tools: Mapping[str, Any],
) -> dict[str, Any]:
    """Make what a program finds under names that it has not bound itself.

    Args:
        attributes: the attribute guard.
        sizes: checks estimates.
        tools: what the interpreter's owner gives, by name.
    """
    harmless = {name: getattr(builtins, name) for name in policy.HARMLESS_BUILTINS}
    raised = {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    guarded: dict[str, Any] = {
        "getattr": attributes.read,
        "hasattr": attributes.hasattr_,
        "setattr": attributes.setattr_,
        "delattr": attributes.delattr_,
        "vars": attributes.vars_,
        "dir": attributes.dir_,
        "pow": sizes.pow_,
        "__build_class__": builtins.__build_class__,
        "__debug__": True,
    }
    refused = {name: _make_refusal(name) for name in policy.REFUSED_BUILTINS}
    for name, builtin in {**guarded, **refused, "print": tools.get("print")}.items():
        # Python's own errors about a call name the function.
        function = getattr(builtin, "__func__", builtin)
        if isinstance(function, types.FunctionType):
            function.__name__ = function.__qualname__ = name
            function.__module__ = "builtins"
    # For C code, which imports what it needs; the name in a program means another function.
    refused["__import__"] = builtins.__import__
    return {**harmless, **raised, **refused, **guarded, **tools}


def program_guards(
    attributes: AttributeGuard,
    classes: ProgramClasses,
    sizes: Sizes,
    meter: Meter,
) -> dict[str, Any]:
    """Make the guards that rewritten code calls, by name."""
    bound: dict[Any, str] = {
        meter: "ticks while_exceeded",
        attributes: "read writable called attribute_part item_part",
        sizes: "factor multiply imultiply power ipower shift ishift",
    }
    return {
        **{name: getattr(owner, name) for owner, names in bound.items() for name in names.split()},
        "compress": itertools.compress,
        "repeat": itertools.repeat,
        "next": next,
        "type": type,
        "int": int,
        "float": float,
        "id": id,
        "own": classes.identities,
        "scratch": threading.local(),
        "sized_call": sizes.call,
        "refuse": _refuse,
        "refuse_attribute": _refuse_attribute,
        "__import__": _make_refusal("__import__"),
    }
