"""Members of modules about code and objects: sys, importlib, builtins, typing, copy, functools ...

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import abc
import collections.abc
import copy
import dataclasses
import enum
import functools
import json
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import ProgramRefusedError
from .build import words
from .data_memory import refuse_protocols
from .replaced import REFUSED
from .sized_types import plain_type

__all__ = ["MAKERS", "FrameStandIn"]


class _LoadedModules(Mapping[str, Any]):
    """``sys.modules``, every module in it as a view or refused."""

    def __init__(self, modules: Any) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> Any:
        return self._modules.view(sys.modules[name])

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in sys.modules if self._modules.allows(name)])

    def __len__(self) -> int:
        return len(list(iter(self)))


class _Members(Mapping[str, Any]):
    """A module's namespace, read through its view."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getitem__(self, name: str) -> Any:
        return getattr(self._view, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name in dir(self._view) if not name.startswith("_")])

    def __len__(self) -> int:
        return len(list(iter(self)))


class FrameStandIn:
    """What ``sys._getframe()`` gives where ``sys`` is authorised: no frame at all."""

    def __init__(self, modules: Any) -> None:
        self._modules = modules

    @property
    def f_builtins(self) -> Any:
        return _Members(self._modules.view(sys.modules["builtins"]))


def _sys(modules: Any) -> dict[str, Any]:
    refused = words(
        "settrace setprofile gettrace getprofile setrecursionlimit setswitchinterval exc_info "
        "_current_frames _current_exceptions last_traceback last_value exception meta_path "
        "path_hooks path_importer_cache displayhook excepthook unraisablehook breakpointhook "
        "addaudithook audit call_tracing monitoring activate_stack_trampoline stdin "
        "set_asyncgen_hooks set_int_max_str_digits set_coroutine_origin_tracking_depth exit path "
        "setdlopenflags "
    )
    result: dict[str, Any] = dict.fromkeys(refused, REFUSED)
    del result["exit"]
    result["modules"] = _LoadedModules(modules)
    result["path"] = tuple(sys.path)
    result["_getframe"] = lambda _depth=0: FrameStandIn(modules)
    return result


def _importlib(modules: Any) -> dict[str, Any]:
    return {"import_module": modules.import_by_name, "reload": REFUSED}


def _builtins(modules: Any) -> dict[str, Any]:
    given = modules.namespace()
    result = {n: v for n, v in given.items() if not n.startswith(("@", "_"))}
    for name in ("exec", "eval", "compile", "globals", "locals", "open", "input", "breakpoint"):
        if name not in modules.tools:
            result.pop(name, None)
    if "__import__" in modules.tools:
        result["__import__"] = modules.import_by_name
    return result


#: The exact types whose ``__args__`` are read to evaluate an annotation.
_ALIASES = frozenset(
    {
        types.GenericAlias,
        types.UnionType,
        type(collections.abc.Callable[[], None]),
        *(
            one
            for one in vars(typing).values()
            if isinstance(one, type) and issubclass(one, typing._GenericAlias)  # type: ignore[attr-defined]
        ),
    }
)
_ALIAS_BASES = (types.GenericAlias, types.UnionType, typing._GenericAlias)  # type: ignore[attr-defined]
#: Classes of which a metaclass of the program's could tell two readers two things.
_METACLASSES = frozenset({type, abc.ABCMeta, type(enum.Enum), type(typing.Protocol)})
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)


def _no_strings(annotated: Any) -> None:
    """Refuse annotations that are strings, at any depth: reading them runs them.

    What is looked at here is read once more by :mod:`typing`, so only objects are let by that
    answer both readers alike.
    """
    if type(annotated) in _METACLASSES:
        for one in type.mro(annotated):
            namespace = type.__dict__["__dict__"].__get__(one)
            found = namespace.get("__annotations__")
            if found is None and sys.version_info >= (3, 14):
                found = getattr(one, "__annotations__", None)
            _no_strings_in(found)
    elif type(annotated) in _FUNCTIONS:
        _no_strings_in(getattr(annotated, "__annotations__", None))
    elif type(annotated) not in _ALIASES:
        raise ProgramRefusedError(
            f"Forbidden: the annotations of a {type(annotated).__name__!r} object; those of "
            "functions and of ordinary classes can be read"
        )


def _no_strings_in(annotations: Any) -> None:
    if annotations is None or isinstance(annotations, types.GetSetDescriptorType):
        return
    if type(annotations) is not dict:
        raise ProgramRefusedError("Forbidden: annotations that are no plain dict")
    for annotation in annotations.values():
        _no_string(annotation, False)


def _no_string(annotation: Any, literal: bool) -> None:
    if isinstance(annotation, typing.ForwardRef) or (isinstance(annotation, str) and not literal):
        raise ProgramRefusedError(
            f"Forbidden: annotation {str(annotation)!r} is a string, which would be run "
            "as code. Write the annotation as an expression"
        )
    if isinstance(annotation, (list, tuple)):
        for one in annotation:
            _no_string(one, literal)
    elif isinstance(annotation, _ALIAS_BASES):
        if type(annotation) not in _ALIASES:
            raise ProgramRefusedError("Forbidden: an annotation of a kind the program has made")
        for one in annotation.__args__:
            _no_string(one, typing.get_origin(annotation) is typing.Literal)


def _typing(_modules: Any) -> dict[str, Any]:
    def get_type_hints(obj: Any, **_namespaces: Any) -> Any:
        _no_strings(obj)
        return typing.get_type_hints(obj)

    return {
        "get_type_hints": get_type_hints,
        "evaluate_forward_ref": REFUSED,
        "ForwardRef": REFUSED,
        "io": REFUSED,
        "re": REFUSED,
    }


def _copy(modules: Any) -> dict[str, Any]:
    meter = modules.meter

    def deepcopy(x: Any, memo: Any = None, _nil: Any = ()) -> Any:
        meter.look()
        if isinstance(x, (list, tuple, dict, set)):
            meter.charge(4 * len(x))
        return copy.deepcopy(x, memo)

    return {"deepcopy": deepcopy, "dispatch_table": REFUSED, "copyreg": REFUSED, "weakref": REFUSED}


def _functools(modules: Any) -> dict[str, Any]:
    guards = modules.guards

    def update_wrapper(
        wrapper: Any,
        wrapped: Any,
        assigned: Any = functools.WRAPPER_ASSIGNMENTS,
        updated: Any = functools.WRAPPER_UPDATES,
    ) -> Any:
        # Names the standard library copies by default are harmless; others are written by name.
        if tuple(assigned) != functools.WRAPPER_ASSIGNMENTS:
            for name in assigned:
                guards.check_written_name(name)
        if tuple(updated) not in ((), functools.WRAPPER_UPDATES):
            raise ProgramRefusedError("Forbidden argument of functools.update_wrapper(): updated")
        guards.writable(wrapper, "__wrapped__")
        refuse_protocols(getattr(wrapped, "__dict__", ()))
        if not guards.is_own(wrapped):
            # The wrapper of a host's function must not lead to its attributes.
            for name in assigned:
                if hasattr(wrapped, name):
                    setattr(wrapper, name, getattr(wrapped, name))
            return wrapper
        return functools.update_wrapper(wrapper, wrapped, assigned, updated)

    def wraps(
        wrapped: Any,
        assigned: Any = functools.WRAPPER_ASSIGNMENTS,
        updated: Any = functools.WRAPPER_UPDATES,
    ) -> Any:
        return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)

    def total_ordering(cls: Any) -> Any:
        guards.writable(cls, "__lt__")
        return functools.total_ordering(cls)

    def singledispatch(func: Any) -> Any:
        made = functools.singledispatch(func)
        register = made.register

        def registering(cls: Any, func: Any = None) -> Any:
            cls = plain_type(cls)
            _no_strings(cls)
            return register(cls, func)

        made.register = registering  # type: ignore[method-assign]
        return made

    def reduce(function: Any, iterable: Any, /, *initial: Any) -> Any:
        return functools.reduce(function, modules.meter.called_back(iterable), *initial)

    return {
        "reduce": reduce,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
        "total_ordering": total_ordering,
        "singledispatch": singledispatch,
        "singledispatchmethod": _method_dispatch(),
    }


def _method_dispatch() -> Any:
    class singledispatchmethod(functools.singledispatchmethod):  # type: ignore[type-arg]
        def register(self, cls: Any, method: Any = None) -> Any:
            cls = plain_type(cls)
            _no_strings(cls)
            return super().register(cls, method)

    return singledispatchmethod


def _dataclasses(modules: Any) -> dict[str, Any]:
    guards = modules.guards

    def dataclass(cls: Any = None, /, **keywords: Any) -> Any:
        def decorate(one: Any) -> Any:
            if not guards.is_own_class(one):
                guards.writable(one, "__init__")
            made = dataclasses.dataclass(one, **keywords)
            guards.adopt(made)
            return made

        return decorate if cls is None else decorate(cls)

    def make_dataclass(cls_name: str, fields: Any, **keywords: Any) -> Any:
        made = dataclasses.make_dataclass(cls_name, fields, **keywords)
        guards.adopt(made)
        return made

    return {"dataclass": dataclass, "make_dataclass": make_dataclass}


def _collections(modules: Any) -> dict[str, Any]:
    import collections

    guards = modules.guards

    def namedtuple(typename: str, field_names: Any, **keywords: Any) -> Any:
        made = collections.namedtuple(typename, field_names, **keywords)  # type: ignore[misc]
        made.__module__ = guards.globals.get("__name__", "__main__")
        guards.adopt(made)
        return made

    return {"namedtuple": namedtuple}


def _csv(_modules: Any) -> dict[str, Any]:
    return dict.fromkeys(("register_dialect", "unregister_dialect", "field_size_limit"), REFUSED)


def _json(modules: Any) -> dict[str, Any]:
    meter = modules.meter

    def dumps(obj: Any, **keywords: Any) -> str:
        meter.look()
        indent, separators = keywords.get("indent"), keywords.get("separators") or ()
        for between in (indent, *separators):
            width = len(between) if isinstance(between, str) else between
            if isinstance(width, int) and width > 1000:
                # Written before every item, and nobody knows how many there are.
                meter.too_large(
                    f"json.dumps() with an indent or separator of {width} characters; at most 1000"
                )
        return modules.sizes.grown(json.dumps(obj, **keywords))  # type: ignore[no-any-return]

    return {"dumps": dumps, "detect_encoding": REFUSED}


def _types(_modules: Any) -> dict[str, Any]:
    allowed = [
        "SimpleNamespace",
        "MappingProxyType",
        "GenericAlias",
        "UnionType",
        "NoneType",
        "EllipsisType",
    ]
    return {
        name: REFUSED for name in vars(types) if not name.startswith("_") and name not in allowed
    }


def _refuse_all(*names: str) -> Callable[[Any], dict[str, Any]]:
    return lambda _modules: dict.fromkeys(names, REFUSED)


MAKERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "sys": _sys,
    "importlib": _importlib,
    "builtins": _builtins,
    "typing": _typing,
    "copy": _copy,
    "functools": _functools,
    "dataclasses": _dataclasses,
    "collections": _collections,
    # Its methods read attributes by name; str.format does the same behind the guard.
    "string": _refuse_all("Formatter"),
    "csv": _csv,
    "json": _json,
    "types": _types,
    "abc": _refuse_all("update_abstractmethods"),
    "locale": _refuse_all("setlocale"),
    "decimal": _refuse_all("setcontext"),
}
