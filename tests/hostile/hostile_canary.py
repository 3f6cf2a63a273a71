"""Targets of hostile programs: a secret, tools, shared objects; and a check of leaks.

The module is in ``sys.modules`` of the host process and never authorised. A program that obtains
``__import__``, ``sys``, ``os`` or a function's globals can reach it. It proves that by one of:

- calling ``trip()`` (also a tool for programs that must be stopped before they call it);
- setting the environment variable ``HOSTILE_CANARY``;
- making ``SECRET`` appear in what it prints, returns or raises;
- passing an object that no program may have to ``leak()``;
- changing an object that the host shares (compared before and after).
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from typing import Any

from guarded_modules import WATCHED

SECRET = "canary-" + os.urandom(8).hex()
TRIPPED: list[str] = []
#: Settings that libraries keep, of which docs/executors/local.md says that the host shares them.
#: Ordinary calls such as ``random.random()`` change them.
LIBRARY_SETTINGS = {
    "calendar week",
    "decimal context",
    "decimal contexts",
    "numpy settings",
    "numpy state",
    "pandas options",
    "random state",
}

_FORBIDDEN_TYPES = (
    types.FrameType,
    types.CodeType,
    types.TracebackType,
    types.CellType,
)
_FORBIDDEN_BUILTINS = [
    getattr(builtins, name)
    for name in (
        "exec",
        "eval",
        "compile",
        "open",
        "__import__",
        "globals",
        "locals",
        "input",
        "breakpoint",
    )
]
_FORBIDDEN_OWNERS = {
    "posix",
    "nt",
    "os",
    "subprocess",
    "_posixsubprocess",
    "shutil",
    "socket",
    "_socket",
    "ctypes",
    "_ctypes",
    "importlib",
    "_frozen_importlib",
    "_frozen_importlib_external",
    "_imp",
    "sys",
    "gc",
    "pickle",
    "_pickle",
    "marshal",
    "hostile_canary",
    "_io",
    "io",
    "warnings",
    "threading",
    "tempfile",
    "pathlib",
}


def trip(how: str = "") -> str:
    """Record that the canary was reached."""
    TRIPPED.append(f"trip({how})")
    return "tripped"


# Attributes that Python itself adds to a class on access.
_LAZY = ("__slotnames__", "__annotations__", "__annotations_cache__")


def judge(value: Any) -> str:
    """Return why a program may not have this object, or the empty string."""
    kind = type(value)
    if issubclass(kind, types.ModuleType):
        # A copy with only allowed members is not a leak; the module that the host uses is one.
        real = any(value is module for module in list(sys.modules.values()))
        return "module" if real or hasattr(value, "__builtins__") else ""
    if kind in _FORBIDDEN_TYPES:
        return kind.__name__
    if kind is types.MappingProxyType and "__module__" in value:
        return "the namespace of a class"
    if any(value is one for one in _FORBIDDEN_BUILTINS):
        return f"builtin {value.__name__}"
    if kind is dict and ("__builtins__" in value or any(value is m for m in _namespaces())):
        return "a namespace"
    if kind is dict and len(value) > 50 and value is vars(builtins):
        return "the builtins"
    if kind in (list, tuple) and len(value) > 20 and all(isinstance(v, type) for v in value):
        return "a list of classes"
    if kind in (list, tuple) and any(type(v) is types.CellType for v in value):
        return "closure cells"
    owner = getattr(value, "__module__", None)
    if kind is types.FunctionType:
        # Its attributes may be copied, as a tool's proxy does; the globals of its code are real.
        owner = value.__globals__.get("__name__")
    elif isinstance(value, type):
        module = sys.modules.get(str(owner))
        if owner == __name__ or getattr(module, value.__name__, None) is not value:
            # The class of an object given to the program, or one that falsifies its name.
            owner = None
    if kind in (type, types.FunctionType, types.BuiltinFunctionType) and owner in _FORBIDDEN_OWNERS:
        if owner == __name__ and (value in TOOL_FUNCTIONS or value in vars(Thing).values()):
            return ""  # the program may have what it may call
        return f"{owner}.{getattr(value, '__name__', value)}"
    return ""


def _namespaces() -> list[dict[str, Any]]:
    return [vars(m) for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)]


def leak(value: Any) -> str:
    """Check an object that a program obtained; the canary trips if it is forbidden."""
    if why := judge(value):
        TRIPPED.append(f"leak({why})")
        return "forbidden"
    return "harmless"


def _make_search() -> Any:
    hidden = SECRET

    def search(query: str = "", *, limit: int = 3) -> str:
        """Look something up."""
        return f"{limit} results for {query!r}" if hidden else ""

    return search


search = _make_search()


class Tool:
    """Tool object like those of agents: called by the program, with the host's key inside."""

    name = "lookup"

    def __init__(self) -> None:
        self._key = SECRET
        self.calls = 0

    def __call__(self, text: str = "") -> str:
        self.calls += 1
        return text.upper()

    def __repr__(self) -> str:
        return "<Tool lookup>"


class Thing:
    """Host object sent as a variable."""

    kind = "thing"

    def __init__(self) -> None:
        self.size = 3

    def grow(self, by: int = 1) -> int:
        self.size += by
        return self.size

    def fail(self) -> None:
        """Raise inside the host's code, so that the traceback contains the host's frames."""
        secret_local = SECRET
        raise ValueError(f"refused {len(secret_local)}")


lookup = Tool()
thing = Thing()
TOOL_FUNCTIONS = [trip, leak, search]


def final_answer(answer: Any = None) -> Any:
    """Receive the final answer; no tool may be called after it."""
    return answer


def tools() -> dict[str, Any]:
    return {
        "trip": trip,
        "leak": leak,
        "search": search,
        "lookup": lookup,
        "final_answer": final_answer,
    }


def variables() -> dict[str, Any]:
    return {"thing": thing}


def fingerprint() -> dict[str, Any]:
    """Return the state of objects that the host shares and programs must not change."""
    marks: dict[str, Any] = {}
    for late in ("ForwardRef", "Pattern", "Match"):
        getattr(sys.modules.get("typing"), late, None)  # some Pythons create it on first access
    for name in WATCHED:
        module = sys.modules.get(name)
        if module is None:
            continue
        for key, value in list(vars(module).items()):
            if key == "__warningregistry__" or isinstance(value, types.ModuleType):
                continue  # a submodule that is imported later is not a change
            marks[f"{name}.{key}"] = id(value)
            if isinstance(value, type) and value.__module__.split(".")[0] == name:
                for attribute, member in list(vars(value).items()):
                    if not attribute.startswith("_abc_") and attribute not in _LAZY:
                        marks[f"{name}.{key}.{attribute}"] = id(member)
            elif type(value) is dict and name in ("copy", "string", "random", "json"):
                marks[f"{name}.{key}.len"] = len(value)
            elif isinstance(value, types.FunctionType):
                marks[f"{name}.{key}()"] = (
                    id(value.__code__),
                    id(value.__defaults__),
                    len(vars(value)),
                )
    for name, function in (("trip", trip), ("leak", leak), ("search", search)):
        marks[f"tool {name}"] = (
            sorted(vars(function)),
            id(function.__code__),
            function.__defaults__,
            str(function.__kwdefaults__),
            function.__doc__,
            function.__name__,
        )
    for cls in (Tool, Thing):
        members = vars(cls).items()
        marks[cls.__name__] = {k: id(value) for k, value in members if k not in _LAZY}
    marks["lookup"] = sorted(vars(lookup)), lookup._key
    marks.update(_settings())
    marks["environment"] = sorted(os.environ.items())
    marks["argv"] = list(sys.argv)
    marks["path"] = list(sys.path)
    marks["recursion"] = sys.getrecursionlimit()
    return marks


def _settings() -> dict[str, Any]:
    """Return settings of libraries for the whole process, or for the thread."""
    marks: dict[str, Any] = {}
    for name in WATCHED:
        module = sys.modules.get(name)
        for key, value in list(vars(module).items()) if module is not None else ():
            if type(value) in (list, dict, set) and not key.startswith("_") and len(value) < 500:
                marks[f"{name}.{key}="] = sorted(map(id, value)), len(value)
                if type(value) is list:
                    marks[f"{name}.{key}="] = list(map(id, value))
    if decimal := sys.modules.get("decimal"):
        contexts = ("DefaultContext", "BasicContext", "ExtendedContext")
        marks["decimal context"] = repr(decimal.getcontext())
        marks["decimal contexts"] = [repr(getattr(decimal, name)) for name in contexts]
    if calendar := sys.modules.get("calendar"):
        marks["calendar week"] = calendar.firstweekday()
        marks["calendar lists"] = str(calendar.mdays), str(calendar.HTMLCalendar.cssclasses)
    if random := sys.modules.get("random"):
        marks["random state"] = hash(random.getstate())
    if numpy := sys.modules.get("numpy"):
        marks["numpy state"] = numpy.random.get_state()[1].tobytes(), numpy.random.get_state()[2]
        marks["numpy ma"] = str(numpy.ma.masked_print_option)
        marks["numpy settings"] = str(numpy.geterr()), str(numpy.get_printoptions())
    if pandas := sys.modules.get("pandas"):
        display = ("max_rows", "max_columns", "width", "precision")
        marks["pandas options"] = [pandas.get_option(f"display.{name}") for name in display]
    marks["streams"] = id(sys.stdout), id(sys.stderr)
    return marks


def changed(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the changed names; a module imported meanwhile is not a change."""
    fresh = {key.split(".")[0] for key in after} - {key.split(".")[0] for key in before}
    return [
        key
        for key in sorted(set(before) | set(after))
        if key.split(".")[0] not in fresh and before.get(key) != after.get(key)
    ]
