"""Scopes of a program while it is rewritten, and the names its top level binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from .ast_builders import node_types

__all__ = ["BINDING_NODES", "Scope", "all_arguments", "bound_by", "mangled"]

#: Nodes that may bind a name themselves.
BINDING_NODES = frozenset(
    node_types(
        "Name FunctionDef AsyncFunctionDef ClassDef Import ImportFrom ExceptHandler MatchAs"
        " MatchStar MatchMapping arg"
    )
)


@dataclass
class Scope:
    """One scope of the program while it is rewritten.

    Args:
        kind: ``module``, ``function``, ``class``, ``lambda``, ``comprehension`` or ``annotation``.
        class_name: the innermost class around, for private names.
        walrus: whether ``:=`` may bind a hidden name here: not where it would land in a class's
            namespace, nor where the grammar forbids it.
        banned: whether the grammar forbids ``:=`` however deep inside, as in comprehension sources.
        receiver: the name of a method's first argument, which the method never binds anew.
        receiver_uses: how many accesses ask whether the receiver is of a class of the program.
        numbers: where the next hidden name comes from; shared by scopes of one function.
    """

    kind: str
    class_name: str | None = None
    walrus: bool = True
    banned: bool = False
    receiver: str | None = None
    receiver_uses: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1 << 30)))

    def temporary(self) -> str:
        """Give a hidden name that nothing else uses in this function."""
        return f"@{next(self.numbers)}"


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


def bound_by(node: ast.AST) -> list[str]:
    """List the names that one node binds itself; its children may bind more."""
    if isinstance(node, ast.Name):
        return [] if isinstance(node.ctx, ast.Load) else [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []
