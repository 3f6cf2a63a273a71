"""No raw module, frame, code object, traceback or function namespace is reached by plain reading.

Walks everything a program gets by reading attributes, items included, from builtins, a tool and the
default modules. Names that go unguarded in compiled code are read unguarded here. Calls are not
walked.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from smolagents_fork.interpreter.guarded import Interpreter, policy
from smolagents_fork.interpreter.imports import DEFAULT_IMPORTS

NEVER = (types.FrameType, types.CodeType, types.TracebackType)
#: Made anew at every reading, and all alike; a program's own function is walked instead.
METHODS = (
    types.BuiltinMethodType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
PLAIN = (str, bytes, int, float, complex, range)


class Tool:
    """Keeps a module of the host's."""

    name, description, inputs, output_type = "search", "Finds things.", {}, "string"
    module = sys

    def __call__(self, query: str) -> str:
        return query


def made() -> Interpreter:
    interpreter = Interpreter()
    interpreter.send_tools({"search": Tool(), "plain": lambda x: x, "final_answer": lambda x: x})
    return interpreter


def roots(interpreter: Interpreter) -> Iterator[tuple[str, Any]]:
    for name, value in interpreter._namespace().items():
        if not name.startswith("@") and name not in ("__build_class__", "__import__"):
            yield name, value
    for name in sorted(DEFAULT_IMPORTS):
        yield name, interpreter.modules.import_module(name, True)
    interpreter.run("def f(): yield\ng = f()\nclass A: pass\na = A()\nh = lambda: 0")
    for name in ("f", "g", "A", "a", "h"):
        yield name, interpreter.state[name]


def read(interpreter: Interpreter, value: Any, name: str) -> Any:
    """Read ``value.name`` as compiled code does."""
    unguarded = policy.is_plain(name) or name in policy.ALLOWED_DUNDERS | policy.ALLOWED_UNDERSCORE
    return getattr(value, name) if unguarded else interpreter._attributes.read(value, name)


def steps(interpreter: Interpreter, path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (*PLAIN, *METHODS)):
        return
    if str(getattr(value, "__module__", None)).startswith("smolagents_fork"):
        return  # a guard, made anew at every reading
    for name in dir(value):
        try:
            yield f"{path}.{name}", read(interpreter, value, name)
        except Exception:
            continue
    if isinstance(value, (dict, types.MappingProxyType)):
        for key, item in list(value.items()):
            yield f"{path}[{key!r}]", item
    elif isinstance(value, (list, tuple, set, frozenset)):
        for number, item in enumerate(value):
            yield f"{path}[{number}]", item


def found(interpreter: Interpreter, most: int = 60_000) -> tuple[list[str], int]:
    """Walk what is reachable; give what must not be, and how much was seen."""
    namespaces = {
        id(vars(module)): name
        for name, module in list(sys.modules.items())
        if isinstance(module, types.ModuleType)
    }
    namespaces[id(interpreter.state)] = "the program"
    views = interpreter.modules
    queue, seen, wrong = deque(roots(interpreter)), {}, []
    while queue and len(seen) < most:
        path, value = queue.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # kept, so that its identity stays its own
        if isinstance(value, types.ModuleType) and not views.is_view(value):
            wrong.append(f"{path} is a raw module")
        elif isinstance(value, NEVER):
            wrong.append(f"{path} is a {type(value).__name__}")
        elif isinstance(value, dict) and id(value) in namespaces:
            wrong.append(f"{path} is the namespace of {namespaces[id(value)]}")
        elif path.count(".") + path.count("[") < 9:
            queue.extend(steps(interpreter, path, value))
    return wrong, len(seen)


def test_nothing_forbidden_is_reachable_by_reading() -> None:
    wrong, seen = found(made())
    assert wrong == []
    assert 1000 < seen < 60_000  # the whole graph, not the part that fitted


def test_the_walk_finds_what_a_missing_guard_would_leave_open() -> None:
    interpreter = made()
    tool = Tool()
    tool.description = interpreter.state  # type: ignore[assignment]
    interpreter.send_functions({"described": tool.description}, {})
    wrong, _seen = found(interpreter)
    assert "described is the namespace of the program" in wrong
