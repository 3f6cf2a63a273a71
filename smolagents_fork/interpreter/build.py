"""Small makers of syntax-tree nodes, and the names that only the interpreter can spell.

A hidden name begins with ``@``. The parser gives no program such a name, and the compiler takes any
string, so hidden names need no escaping and can collide with nothing.
"""

from __future__ import annotations

import ast
from typing import TypeVar

__all__ = [
    "COUNTER",
    "NodeT",
    "assign",
    "call",
    "const",
    "is_type",
    "load",
    "place",
    "store",
    "walrus",
    "words",
]

#: The closure variable every block counts down.
COUNTER = "@n"

NodeT = TypeVar("NodeT", bound=ast.AST)


def words(text: str) -> list[str]:
    """The words of ``text``: a long list, as one reads it."""
    return text.split()


def load(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Store())


def const(value: object) -> ast.Constant:
    return ast.Constant(value=value)  # type: ignore[arg-type]


def call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=load(name), args=list(args), keywords=[])


def assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[store(name)], value=value)


def walrus(name: str, value: ast.expr) -> ast.NamedExpr:
    return ast.NamedExpr(target=store(name), value=value)


def is_type(subject: ast.expr, name: str) -> ast.Compare:
    """``type(subject) is <hidden type>``"""
    return ast.Compare(left=call("@type", subject), ops=[ast.Is()], comparators=[load(name)])


def place(node: NodeT, like: ast.AST) -> NodeT:
    """``node`` and all new nodes in it get the place of ``like`` in the source."""
    line, column = like.lineno, like.col_offset  # type: ignore[attr-defined]
    end_line = getattr(like, "end_lineno", None) or line
    end_column = getattr(like, "end_col_offset", None) or column
    stack: list[ast.AST] = [node]
    while stack:
        one = stack.pop()
        if "lineno" in one._attributes and not hasattr(one, "lineno"):
            one.lineno, one.col_offset = line, column  # type: ignore[attr-defined]
            one.end_lineno, one.end_col_offset = end_line, end_column  # type: ignore[attr-defined]
            stack.extend(ast.iter_child_nodes(one))
        elif one is node or "lineno" not in one._attributes:
            stack.extend(ast.iter_child_nodes(one))
    return node
