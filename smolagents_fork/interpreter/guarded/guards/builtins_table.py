"""The builtins of a program: harmless ones as they are, guarded ones, tools; and the guards.

Decides nothing: binds each name to what decides.
"""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import operator
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


#: Class of an operator's node -> what an augmented assignment does with it.
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "MatMult": operator.imatmul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "RShift": operator.irshift,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
}


def _refused(name: str) -> Callable[..., Any]:
    """Make what stands for a builtin that is refused."""
    advice = policy.REFUSED_BUILTINS[name]

    def refuse(*_arguments: Any, **_keywords: Any) -> Any:
        raise ProgramRefusedError(
            f"Forbidden function evaluation: {name!r} is not among the explicitly allowed "
            f"tools or defined/imported in the preceding code: {advice}"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _refuse(message: str) -> Any:
    raise ProgramRefusedError(message)


def _refuse_attribute(message: str) -> Any:
    raise AttributeRefusedError(message)


@functools.lru_cache(512)
def _in_standard_form(text: str) -> str:
    return ast.unparse(ast.parse(text))


def _source(text: str) -> Callable[[Any], Any]:
    """Make the innermost decorator that keeps a function's source where upstream keeps it."""
    text = _in_standard_form(text)

    def mark(function: Any) -> Any:
        if isinstance(function, types.FunctionType):
            function.__source__ = text  # type: ignore[attr-defined]
        elif type(function) is type:
            type.__setattr__(function, "__source__", text)
        return function  # a metaclass may have made anything at all

    return mark


def _of_scope(namespace: Mapping[str, Any]) -> Callable[[Any, Any, bool], Any]:
    """Make what carries out a call without arguments of one of policy.OF_THE_SCOPE."""
    meant = {id(namespace[name]): name for name in policy.OF_THE_SCOPE}

    def of_scope(function: Any, names: Any, in_class: bool) -> Any:
        name = meant.get(id(function))
        if name is None:
            return function()  # the name means something else
        shown = names if in_class else {k: v for k, v in names.items() if k[:1] != "@"}
        return sorted(shown) if name == "dir" else shown

    return of_scope


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
        "getattr": attributes.getattr_,
        "hasattr": attributes.hasattr_,
        "setattr": attributes.setattr_,
        "delattr": attributes.delattr_,
        "vars": attributes.vars_,
        "dir": attributes.dir_,
        **sizes.builtins(),
        "__build_class__": builtins.__build_class__,
        "__debug__": True,
    }
    for name, made in {**guarded, "print": tools.get("print")}.items():
        # Python's own errors about a call name the function.
        function = getattr(made, "__func__", made)
        if isinstance(function, types.FunctionType):
            function.__name__ = function.__qualname__ = name
            function.__module__ = "builtins"
    refused = {name: _refused(name) for name in policy.REFUSED_BUILTINS}
    # For C code, which imports what it needs; the name in a program means another function.
    refused["__import__"] = builtins.__import__
    return {**harmless, **raised, **refused, **guarded, **tools}


def program_guards(
    attributes: AttributeGuard,
    classes: ProgramClasses,
    sizes: Sizes,
    meter: Meter,
    namespace: Mapping[str, Any],
) -> dict[str, Any]:
    """Make the guards that rewritten code calls, by name.

    Args:
        attributes: the attribute guard.
        classes: the registry of the program's classes.
        sizes: checks estimates.
        meter: counts.
        namespace: the builtins of the program.
    """
    bound: dict[Any, str] = {
        meter: "ticks while_exceeded",
        attributes: "read writable called attribute_part item_part",
        classes: "make_class mark_namespace note_class finish_class",
        sizes: "multiply imultiply power ipower shift ishift",
    }
    return {
        **{name: getattr(one, name) for one, names in bound.items() for name in names.split()},
        **{f"i{node}": function for node, function in _IN_PLACE.items()},
        "compress": itertools.compress,
        "islice": itertools.islice,
        "next": next,
        "type": type,
        "id": id,
        "locals": locals,
        "own": classes.identities,
        "scratch": threading.local(),
        "sized_call": sizes.call,
        "source": _source,
        "of_scope": _of_scope(namespace),
        "refuse": _refuse,
        "refuse_attribute": _refuse_attribute,
        "__import__": _refused("__import__"),
        # A value in the form that a value pattern may have.
        "keep": lambda value: types.SimpleNamespace(value=value),
    }
