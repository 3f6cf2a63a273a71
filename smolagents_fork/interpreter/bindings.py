"""The builtins of a program: harmless ones as they are, guarded ones, hidden ones, tools.

Decides nothing: binds each name to what decides, which is in guards.py.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Mapping
from typing import Any

from . import data_memory, formats, policy

__all__ = ["program_builtins"]


def program_builtins(guards: Any, tools: Mapping[str, Any]) -> dict[str, Any]:
    """What a program of ``guards``' interpreter finds under names that it has not bound itself.

    Args:
        guards: the guards of one interpreter.
        tools: what the interpreter's owner gives, by name.
    """
    meter = guards.meter
    harmless = {name: getattr(builtins, name) for name in formats.HARMLESS_BUILTINS}
    errors = {
        name: value
        for name, value in vars(builtins).items()
        if isinstance(value, type) and issubclass(value, BaseException)
    }
    guarded: dict[str, Any] = {
        "getattr": guards.getattr_,
        "hasattr": guards.hasattr_,
        "setattr": guards.setattr_,
        "delattr": guards.delattr_,
        "vars": guards.vars_,
        "dir": guards.dir_,
        **guards.sizes.builtins(),
        "__build_class__": guards.build_class,
        "__debug__": True,
    }
    hidden: dict[str, Any] = {
        "@refill": meter.refill,
        "@charge": meter.charge,
        "@caught": meter.caught,
        "@while_exceeded": meter.while_exceeded,
        "@round": meter.round,
        "@while": meter.while_round,
        "@few": 32,
        "@many": 200,
        "@counted": meter.counted,
        "@counted_growing": meter.counted_growing,
        "@fed": meter.fed,
        "@each": meter.each,
        "@each_lazy": meter.each_lazy,
        "@each_heavy": meter.each_heavy,
        "@ticks": meter.ticks(),
        "@__import__": guards.refused("__import__"),
        "@next": next,
        "@match_class": guards.match_class,
        "@keep": lambda value: types.SimpleNamespace(value=value),
        "@own": guards.own,
        "@id": id,
        "@getattr": guards.read,
        "@proxied": guards.proxied,
        "@called": guards.called,
        "@private": guards.private,
        "@writable": guards.writable,
        "@augmentable": guards.augmentable,
        "@make_class": guards.make_class,
        "@constructed": guards.constructed,
        "@source": guards.source,
        "@held": guards.held,
        "@settle": data_memory.settle,
        "@locals": locals,
        **guards.sizes.hidden(),
        "@sized_type": guards.sized_type,
    }
    for name, made in {**guarded, "print": tools.get("print")}.items():
        # Python's own errors about a call name the function.
        function = getattr(made, "__func__", made)
        if isinstance(function, types.FunctionType):
            function.__qualname__, function.__module__ = name, "builtins"
    refused = {name: guards.refused(name) for name in policy.REFUSED_BUILTINS}
    refused["__import__"] = guards.imported_by_c
    return {**harmless, **errors, **refused, **guarded, **tools, **hidden}
