"""Members of modules about code and objects: sys, importlib, builtins, typing, copy, functools ...

Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .build import words
from .replaced import REFUSED

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
    "collections": _collections,
    # Its methods read attributes by name; str.format does the same behind the guard.
    "string": _refuse_all("Formatter"),
    "csv": _csv,
    "json": _json,
    "types": _types,
    # Registries of the process, and files.
    "codecs": _refuse_all("open", "register", "register_error", "unregister"),
    "copyreg": _refuse_all(
        "add_extension", "clear_extension_cache", "constructor", "pickle", "remove_extension"
    ),
    "linecache": _refuse_all(
        "checkcache", "clearcache", "getline", "getlines", "lazycache", "updatecache"
    ),
    "ast": _refuse_all("main"),
}
