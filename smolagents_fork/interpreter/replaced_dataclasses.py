"""``dataclasses``: the methods it writes are the program's own code, guarded and counted as such.

Part of the boundary that guards.py decides by. The standard library pastes field names into text
and runs it with its own rights: a name that is an expression would be run, and a method that reads
or writes a field would do so on any object it is called with.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from . import replaced
from .data_memory import settle
from .program import generated
from .rebinding import rebound
from .sized_types import plain_type

__all__ = ["MAKERS"]

#: Names dataclasses itself reads and writes on the class it makes, which programs do not.
_READ = frozenset(
    {
        "__weakrefoffset__",
        "__dictoffset__",
        "__dictrefoffset__",
        "__annotate__",
        "__generated_by_dataclasses__",
    }
)
_WRITTEN = frozenset({"__match_args__", "__annotate__"})


def _is_its_own(name: Any, also: frozenset[str]) -> bool:
    return type(name) is str and (name.startswith("__dataclass_") or name in also)


def _namespace(modules: Any) -> dict[str, Any]:
    """The private copy of the module that works with the program's rights."""
    guards = modules.guards

    def run_text(text: str, _globals: Any = None, found: Any = None) -> None:
        code = generated(str(text), guards.extra_dunders)
        program = types.FunctionType(code, guards.globals, "<module>", None, (modules.meter.cell,))
        found["__create_fn__"] = program()

    def read(value: Any, name: str, *default: Any) -> Any:
        if _is_its_own(name, _READ):
            return getattr(value, name, *default)
        return guards.getattr_(value, name, *default)

    def write(value: Any, name: str, new: Any) -> None:
        if _is_its_own(name, _WRITTEN):
            setattr(guards.writable(value, name), name, new)
        else:
            guards.setattr_(value, name, new)

    def new_class(*arguments: Any, **keywords: Any) -> Any:
        made = _new_class(*arguments, **keywords)
        guards.adopt(made)
        return made

    overrides = {
        "exec": run_text,
        "types": types.SimpleNamespace(**{**vars(types), "new_class": new_class}),
        "getattr": read,
        "setattr": write,
        "delattr": guards.delattr_,
        "inspect": _Signatures(),
        "copy": types.SimpleNamespace(**replaced.members("copy", modules)),
    }
    return rebound(dataclasses, overrides, ["_FuncBuilder"])


def _new_class(name: str, bases: Any = (), kwds: Any = None, exec_body: Any = None) -> Any:
    """``types.new_class``, its namespace made harmless before there is a class."""

    def fill(space: Any) -> None:
        if exec_body is not None:
            exec_body(space)
        settle(space)

    return types.new_class(name, tuple(map(plain_type, bases)), kwds, fill)


class _Signatures:
    """The one function dataclasses needs of ``inspect``, which elsewhere evaluates text."""

    def __getattr__(self, name: str) -> Any:
        if name == "signature":
            return self._signature
        return getattr(inspect, name)

    @staticmethod
    def _signature(cls: type) -> Any:
        start = cls.__init__  # type: ignore[misc]
        if type(start) is not types.FunctionType:
            return "()"
        # A twin without the attributes that would say something else.
        twin = types.FunctionType(start.__code__, {}, "", start.__defaults__, start.__closure__)
        twin.__kwdefaults__ = start.__kwdefaults__
        twin.__annotations__ = dict(start.__annotations__)
        found = inspect.Signature.from_callable(twin, follow_wrapped=False)
        return found.replace(parameters=list(found.parameters.values())[1:])


def _dataclasses(modules: Any) -> dict[str, Any]:
    guards = modules.guards
    made_by: dict[str, Any] = _namespace(modules)

    def dataclass(cls: Any = None, /, **keywords: Any) -> Any:
        def decorate(one: Any) -> Any:
            if not guards.is_own_class(one):
                guards.writable(one, "__init__")
            made = made_by["dataclass"](one, **keywords)
            guards.adopt(made)
            return made

        return decorate if cls is None else decorate(cls)

    def make_dataclass(cls_name: str, fields: Any, **keywords: Any) -> Any:
        if sys.version_info >= (3, 12):
            keywords.setdefault("module", guards.globals.get("__name__", "__main__"))
        made = made_by["make_dataclass"](cls_name, fields, **keywords)
        guards.adopt(made)
        return made

    def named(function: Callable[..., Any]) -> Any:
        def call(*arguments: Any, **keywords: Any) -> Any:
            return function(*arguments, **keywords)

        call.__name__ = call.__qualname__ = function.__name__
        return call

    others = ("fields", "asdict", "astuple", "replace", "is_dataclass")
    result = {name: named(made_by[name]) for name in others}
    return {**result, "dataclass": dataclass, "make_dataclass": make_dataclass}


MAKERS = {"dataclasses": _dataclasses}
