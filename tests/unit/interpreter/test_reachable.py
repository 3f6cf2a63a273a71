"""No forbidden object is reachable from anything a program starts with.

Walks the graph of everything a program can get by reading: builtins, views of the default modules,
a tool, and from there every attribute that the plain road or the attribute guard hands out, and
every item of every container. Calls are not walked; what they give is the hostile corpus's part.
"""

from __future__ import annotations

import builtins
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from smolagents_fork.interpreter import DEFAULT_IMPORTS, Interpreter, policy

FORBIDDEN_TYPES = (types.FrameType, types.CodeType, types.TracebackType, types.CellType)
FORBIDDEN_BUILTINS = {
    id(getattr(builtins, name)): name
    for name in ("exec", "eval", "compile", "open", "__import__", "globals", "locals", "input")
}
FORBIDDEN_OWNERS = frozenset(
    {
        *("os", "posix", "nt", "sys", "subprocess", "_posixsubprocess", "shutil", "socket"),
        *("_socket", "ctypes", "_ctypes", "importlib", "_imp", "_frozen_importlib", "pickle"),
        *("_pickle", "marshal", "inspect", "gc", "signal", "multiprocessing", "code", "pathlib"),
    }
)

#: Made anew at every read, and all alike: test_methods_lead_nowhere looks at one of each.
METHODS = (
    types.MethodType,
    types.BuiltinMethodType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


class Host:
    """A tool with things to hide."""

    name = "search"
    description = "Finds things."
    secret_module = sys

    def __call__(self, query: str) -> str:
        return query


def started(*imports: str) -> Interpreter:
    interpreter = Interpreter(imports)
    interpreter.send_tools({"search": Host(), "plain": lambda x: x, "final_answer": lambda x: x})
    return interpreter


def roots(interpreter: Interpreter, modules: Iterator[str] | frozenset[str]) -> Iterator[Any]:
    for name, value in interpreter._namespace().items():
        if not name.startswith("@") and name not in ("__build_class__", "__import__"):
            yield f"builtins.{name}", value
    for name in sorted(modules):
        yield name, interpreter.modules.import_(name, True)


def read(interpreter: Interpreter, value: Any, name: str) -> Any:
    """What ``value.name`` gives in a program."""
    listed = policy.GUARDED_ATTRIBUTES | policy.DATA_ATTRIBUTES | policy.SIZED_METHODS
    guarded = name.startswith("_") or name in listed
    return interpreter.guards.read(value, name) if guarded else getattr(value, name)


def steps(interpreter: Interpreter, path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (str, bytes, int, float, complex, range, *METHODS)):
        return
    if (getattr(value, "__module__", None) or "").startswith("smolagents_fork") and isinstance(
        value, types.FunctionType
    ):
        return  # a guard's own closure, made anew at every read
    for name in dir(value):
        try:
            yield f"{path}.{name}", read(interpreter, value, name)
        except Exception:
            continue
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield f"{path}[{key!r}]", item
            yield f"{path}.keys()[{key!r}]", key
    elif isinstance(value, (list, tuple, set, frozenset)):
        for number, item in enumerate(value):
            yield f"{path}[{number}]", item


def verdict(interpreter: Interpreter, value: Any, namespaces: dict[int, str]) -> str | None:
    """Why a program must not hold ``value``; ``None`` if it may."""
    if isinstance(value, types.ModuleType) and not interpreter.modules.is_view(value):
        return "a raw module"
    if isinstance(value, FORBIDDEN_TYPES):
        return f"a {type(value).__name__}"
    if id(value) in FORBIDDEN_BUILTINS:
        return f"the builtin {FORBIDDEN_BUILTINS[id(value)]}"
    if isinstance(value, dict) and id(value) in namespaces:
        return f"the namespace of {namespaces[id(value)]}"
    owner = getattr(value, "__module__", None)
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)) and (
        isinstance(owner, str) and owner.split(".")[0] in FORBIDDEN_OWNERS
    ):
        return f"a member of {owner}"
    if isinstance(value, Host):
        return "the tool itself"
    return None


CONTAINERS = (list, dict, set, bytearray, deque)
NO_STATE = (type, types.FunctionType, types.BuiltinFunctionType, str, bytes, int, float, tuple)


def results(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """What a member of a module gives when it is called with nothing."""
    if path.count(".") == 1 and callable(value) and not path.startswith("builtins."):
        try:
            yield f"{path}()", value()
        except Exception:
            return


def everything(interpreter: Interpreter, modules: list[str]) -> dict[int, tuple[str, Any]]:
    """All that is reachable by reading and by calling with nothing, by identity."""
    queue = deque(roots(interpreter, frozenset(modules)))
    seen: dict[int, tuple[str, Any]] = {}
    while queue:
        path, value = queue.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = path, value
        if path.count(".") + path.count("[") < 6:
            queue.extend(steps(interpreter, path, value))
            queue.extend(results(path, value))
            metaclass = type(value)
            if isinstance(value, type) and metaclass is not type:
                queue.append((f"type({path})", metaclass))
    return seen


def changeable(interpreter: Interpreter, value: Any) -> str:
    """How a program could change ``value``, or the empty string."""
    if isinstance(value, CONTAINERS):
        return f"a {type(value).__name__}"
    if isinstance(value, (type, types.FunctionType)):
        try:
            interpreter.guards.writable(value, "evil")
        except Exception:
            return ""
        return f"a {type(value).__name__}"
    if isinstance(value, (*NO_STATE, *METHODS, types.ModuleType)):
        return ""
    try:
        interpreter.guards.setattr_(value, "evil", 1)
        del value.evil
    except Exception:
        return ""
    return f"an object of {type(value).__name__}"


def shared(modules: list[str]) -> list[str]:
    """What two interpreters reach, the very same, and either could change."""
    one, other = started(*modules), started(*modules)
    first, second = everything(one, modules), everything(other, modules)
    found = []
    for identity in first.keys() & second.keys():
        path, value = first[identity]
        if how := changeable(one, value):
            found.append(f"{path} is {how}")
    return sorted(found)


def walk(interpreter: Interpreter, modules: Any, most: int = 60_000) -> tuple[list[str], int]:
    namespaces = {
        id(vars(module)): name
        for name, module in list(sys.modules.items())
        if isinstance(module, types.ModuleType) and not interpreter.modules.is_view(module)
    }
    queue = deque(roots(interpreter, modules))
    seen: dict[int, Any] = {}
    found: list[str] = []
    while queue and len(seen) < most:
        path, value = queue.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # kept alive, so that its id stays its own
        reason = verdict(interpreter, value, namespaces)
        if reason is not None:
            found.append(f"{path} is {reason}")
            continue
        if path.count(".") + path.count("[") < 9:
            queue.extend(steps(interpreter, path, value))
    return found, len(seen)


def test_nothing_forbidden_is_reachable_from_builtins_tools_and_default_modules() -> None:
    found, seen = walk(started(), DEFAULT_IMPORTS)
    assert found == []
    assert 1000 < seen < 60_000  # the whole graph, not the part that fitted


AUTHORISED = [
    "abc",
    "asyncio",
    "base64",
    "bisect",
    "calendar",
    "collections.abc",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "json",
    "numbers",
    "operator",
    "string",
    "textwrap",
    "typing",
    "uuid",
    "zlib",
]


@pytest.mark.parametrize("module", AUTHORISED)
def test_nothing_forbidden_is_reachable_from_an_authorised_module(module: str) -> None:
    found, _seen = walk(started(module), [module])
    assert found == []


def test_methods_lead_nowhere() -> None:
    interpreter = started()
    namespaces: dict[int, str] = {}
    samples = [[].append, "".join, len, int.__add__, (1).__add__, str.join, dict.fromkeys]
    samples += [type.__dict__["__doc__"], interpreter.guards.read, dict.__dict__["fromkeys"]]
    for sample in samples:
        for path, value in [*_attributes(interpreter, sample)]:
            assert verdict(interpreter, value, namespaces) is None, path


def _attributes(interpreter: Interpreter, value: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(value):
        try:
            yield f"{value!r}.{name}", read(interpreter, value, name)
        except Exception:
            continue


def test_the_walk_finds_what_a_missing_guard_would_leave_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test of the test: without the view's filter, raw modules and their functions appear."""
    interpreter = started()
    interpreter.modules.import_("random", True).__dict__["os_module"] = sys.modules["os"]
    found, _seen = walk(interpreter, ["random"])
    assert "random.os_module is a raw module" in found


def test_nothing_that_interpreters_share_can_be_changed() -> None:
    assert shared([*AUTHORISED, *DEFAULT_IMPORTS]) == []


def test_the_comparison_finds_what_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test of the test: a list of a module, and a class that anybody may write into."""
    monkeypatch.setattr("smolagents_fork.interpreter.modules._copied", lambda value: value)
    assert "calendar.mdays is a list" in shared(["calendar"])
