"""Rule of a program's value: that of its last statement.

It is sent to kernels as a single file, so it imports the standard library only.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["keep_last_value"]


def keep_last_value(body: list[ast.stmt], name: str) -> bool:
    """Have the last statement bind its value to a variable as well; return whether it has one.

    The statement is an expression or an assignment, or the last one of the block that ends the
    program.

    Args:
        body: statements of the program; changed.
        name: Name of the variable.
    """
    if not body:
        return False
    last: Any = body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = _copy_position(ast.Assign([_store(name)], last.value), last)
        return True
    if isinstance(last, ast.Assign):
        last.targets.insert(0, _copy_position(_store(name), last))
        return True
    if isinstance(last, (ast.AnnAssign, ast.AugAssign)):
        if not isinstance(last.target, ast.Name) or last.value is None:
            return False
        value = ast.Name(last.target.id, ast.Load())
        body.append(_copy_position(ast.Assign([_store(name)], value), last))
        return True
    blocks = [part.body for part in getattr(last, "cases", ())]
    if hasattr(last, "handlers"):  # try: its else, if it has one, ends it
        blocks = [last.orelse or last.body, *(part.body for part in last.handlers)]
    elif isinstance(last, (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith)):
        blocks = [last.body, getattr(last, "orelse", [])]
    outcomes = [keep_last_value(block, name) for block in blocks]
    return any(outcomes)


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _copy_position(node: Any, like: ast.stmt) -> Any:
    """Give a node and those below it the position of a statement, where they have none."""
    ast.copy_location(node, like)
    for below in ast.walk(node):
        if "lineno" in below._attributes and not hasattr(below, "lineno"):
            ast.copy_location(below, like)
    return node
