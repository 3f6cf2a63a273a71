"""Rule of a program's value: that of its last statement.

It is sent to kernels as a single file, so it imports the standard library only.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["keep_last_value"]


def keep_last_value(body: list[ast.stmt], name: str) -> None:
    """Have the last statement bind its value to a variable as well.

    The statement is an expression or an assignment, or the last one of the block that ends the
    program.

    Args:
        body: statements of the program; changed.
        name: of the variable.
    """
    if not body:
        return
    last = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = _placed(ast.Assign([_store(name)], last.value), last)
    elif isinstance(last, ast.Assign):
        last.targets.insert(0, _placed(_store(name), last))
    elif isinstance(last, (ast.AnnAssign, ast.AugAssign)):
        if isinstance(last.target, ast.Name) and last.value is not None:
            value = ast.Name(last.target.id, ast.Load())
            body.append(_placed(ast.Assign([_store(name)], value), last))
    elif isinstance(last, ast.Match) or hasattr(last, "handlers"):
        parts: list[Any] = getattr(last, "cases", None) or last.handlers
        for part in parts:
            keep_last_value(part.body, name)
        if not isinstance(last, ast.Match):
            keep_last_value(last.orelse or last.body, name)  # type: ignore[attr-defined]
    elif isinstance(last, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
        keep_last_value(last.body, name)
        keep_last_value(getattr(last, "orelse", []), name)


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _placed(node: Any, like: ast.stmt) -> Any:
    """Give a node and those below it the position of a statement, where they have none."""
    ast.copy_location(node, like)
    for below in ast.walk(node):
        if "lineno" in below._attributes and not hasattr(below, "lineno"):
            ast.copy_location(below, like)
    return node
