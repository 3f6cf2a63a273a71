"""Uses of private names of others, which a library may change in any release."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["ALLOWED", "DOCUMENTED", "private_name_violations"]

#: Names that begin with an underscore and are documented all the same.
DOCUMENTED = frozenset({"_exit", "_fields", "_getframe", "_replace"})
#: Files that use others, each with the reason.
ALLOWED: dict[str, str] = {
    "codec/types/record_values.py": "its own records; importing dataclasses is expensive",
    "executors/agents/lifecycle.py": "the fork's own agents",
    "executors/agents/saving.py": "the fork's own agents",
    "executors/agents/selection.py": "the fork's own agents",
    "executors/local.py": "the fork's own executor",
    "interpreter/guarded/modules/event_loops.py": "asyncio has no public name for the running loop",
    "interpreter/last_value.py": "ast has no other list of a node's positions",
    "jupyter/kernel/agent.py": "to do: ipykernel's and IPython's",
    "interpreter/plain/plain_engine.py": "asyncio has no public name for the running loop",
    "jupyter/kernel/kernel_loop.py": "asyncio has no public name for the running loop",
    "jupyter/kernel/kernel_process.py": "to do: ipykernel's",
    "jupyter/websocket.py": "to do: websocket-client's",
    "wasm/wasm_worker.py": "asyncio has no public name for the running loop",
}
_BY_NAME = frozenset({"getattr", "setattr", "hasattr", "delattr"})


def private_name_violations(package: Path) -> list[str]:
    """List private attributes of other objects than the module's own classes and instances.

    Args:
        package: the folder of ``smolagents_fork``.

    Returns:
        One line each: file, line and the expression; and files of the table that need it no longer.
    """
    found: list[str] = []
    used: set[str] = set()
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package).as_posix()
        uses = list(_uses(ast.parse(path.read_text("utf-8"))))
        if uses and relative in ALLOWED:
            used.add(relative)
            continue
        found += [f"{package.name}/{relative}:{line}: {text} is private" for line, text in uses]
    return found + [
        f"tools/private_names.py: {relative} uses no private name: take it out of the table"
        for relative in ALLOWED
        if (package / relative).exists() and relative not in used
    ]


def _uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    # "other" is the second operand of a comparison, whose class the method has tested.
    known = {"self", "cls", "other"}
    known |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner, name = node.value, node.attr
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in _BY_NAME
            and len(node.args) > 1
        ):
            owner, name = node.args[0], _text(node.args[1])
        elif isinstance(node, ast.Subscript) and _is_call(node.value, "vars"):
            owner, name = node.value, _text(node.slice)
        else:
            continue
        if not name.startswith("_") or name.startswith("__") or name in DOCUMENTED:
            continue
        if not (isinstance(owner, ast.Name) and owner.id in known) and not _is_call(owner, "super"):
            yield node.lineno, ast.unparse(node)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
