"""Modules of Python run anew for one interpreter: what they keep is not the host's.

``logging`` keeps loggers and handlers, ``weakref`` finalizers; ``argparse`` and ``inspect`` read
and write attributes by names that a program chooses. A copy has its own state, and finds guarded
builtins in place of Python's. Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import builtins
import importlib.util
from collections.abc import Mapping
from typing import Any

from .replaced import REFUSED

__all__ = ["Instead", "private_copy", "public"]


class Instead:
    """A module as a copy sees it.

    Args:
        real: the module itself; ``None`` for none.
        members: what is found in place of its own.
    """

    def __init__(self, real: Any, **members: Any) -> None:
        self._real = real
        vars(self).update(members)

    def __getattr__(self, name: str) -> Any:
        if self._real is None:
            raise AttributeError(name)
        return getattr(self._real, name)


def private_copy(
    name: str, own_builtins: Mapping[str, Any], imports: Mapping[str, Any]
) -> dict[str, Any]:
    """The namespace of a module of the standard library that was run anew.

    Args:
        name: the module.
        own_builtins: names that mean something else in the copy.
        imports: modules that it gets in place of those it imports, by name.
    """

    def import_(wanted: str, *arguments: Any, **keywords: Any) -> Any:
        found = imports.get(wanted)
        return builtins.__import__(wanted, *arguments, **keywords) if found is None else found

    spec: Any = importlib.util.find_spec(name)
    space: dict[str, Any] = {
        "__name__": name,
        "__file__": spec.origin,
        "__path__": list(spec.submodule_search_locations or ()),
        "__builtins__": {**vars(builtins), **own_builtins, "__import__": import_},
    }
    exec(spec.loader.get_code(name), space)
    return space


def public(space: Mapping[str, Any], name: str, *refused: str) -> dict[str, Any]:
    """Members of a copy as a program may have them; the rest of the module it may not.

    Args:
        space: the copy.
        name: the module.
        refused: members that are not handed out.
    """
    real = vars(importlib.import_module(name))
    return {
        one: REFUSED if one in refused or one not in space else space[one]
        for one in (*real, *space)
        if not one.startswith("_") and not _is_module(space.get(one, real.get(one)))
    }


def _is_module(value: Any) -> bool:
    return isinstance(value, (type(importlib), Instead))
