"""Scopes of a program while it is rewritten, and the names of the language."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Scope", "all_arguments", "binds", "mangled", "normal"]


@dataclass
class Scope:
    """One scope of the program while it is rewritten.

    Args:
        kind: ``module``, ``function``, ``class``, ``lambda`` or ``comprehension``.
        class_name: the innermost class around, for private names.
        receiver: the name of a method's first argument, which the method never binds anew.
        receiver_uses: how many accesses ask whether the receiver is of a class of the program.
        loops: how many loops of this scope are around.
        numbers: where the next hidden variable comes from; shared by scopes of one function.
    """

    kind: str
    class_name: str | None = None
    receiver: str | None = None
    receiver_uses: int = 0
    loops: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1 << 30)))


def normal(name: str) -> str:
    """Give ``name`` as the parser reads it (PEP 3131)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def mangled(name: str, class_name: str | None) -> str:
    """Give ``name`` as the compiler stores it inside a class (language reference, 6.2.1)."""
    if class_name is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    stripped = class_name.lstrip("_")
    return f"_{stripped}{name}" if stripped else name


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """List the parameters of a function."""
    plain = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return [*plain, *(a for a in (arguments.vararg, arguments.kwarg) if a)]


def binds(node: ast.AST, name: str) -> bool:
    """Tell whether a node may bind ``name`` itself, whatever its children do."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.split(".")[0]) == name
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return name in node.names
    return name in (getattr(node, "name", None), getattr(node, "rest", None))
