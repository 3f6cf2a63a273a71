"""Builders of syntax-tree nodes, and the constants that stand for guards until code is bound.

A guard is a constant of the code object that calls it. No namespace has it, so neither a program
nor a library that looks at names, closures or globals of a function finds one.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from ....errors import ProgramRefusedError
from .. import policy

__all__ = [
    "assign",
    "call",
    "check_nodes",
    "const",
    "guard",
    "load",
    "place",
    "place_of",
    "store",
    "walk",
]

NodeT = TypeVar("NodeT", bound=ast.AST)
_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_LOAD, _STORE = ast.Load(), ast.Store()


def place_of(name: str) -> frozenset[frozenset[str]]:
    """Return the constant that stands for a guard: no literal of a program is a set of sets."""
    return frozenset({frozenset({name})})


def guard(name: str) -> ast.Constant:
    """Build a read of the guard ``name``."""
    return ast.Constant(value=place_of(name))  # type: ignore[arg-type]


def call(name: str, *args: ast.expr) -> ast.Call:
    """Build a call of the guard ``name``."""
    return ast.Call(func=guard(name), args=list(args), keywords=[])


def load(name: str) -> ast.Name:
    """Build a read of the variable ``name``."""
    return ast.Name(id=name, ctx=_LOAD)


def store(name: str) -> ast.Name:
    """Build a target that binds ``name``."""
    return ast.Name(id=name, ctx=_STORE)


def const(value: object) -> ast.Constant:
    """Build a constant."""
    return ast.Constant(value=value)  # type: ignore[arg-type]


def assign(name: str, value: ast.expr) -> ast.Assign:
    """Build ``name = value``."""
    return ast.Assign(targets=[store(name)], value=value)


def _below(node: ast.AST) -> list[ast.AST]:
    """List the nodes directly below ``node``, without contexts: faster than ``ast`` does."""
    children: list[ast.AST] = []
    for field in policy.NODES[type(node)].parts:
        value = getattr(node, field, None)
        if type(value) is list:
            children += [part for part in value if isinstance(part, ast.AST)]
        elif value is not None:
            children.append(value)
    return children


def walk(*roots: ast.AST) -> list[ast.AST]:
    """List ``roots`` and all nodes below them."""
    nodes = list(roots)
    for node in nodes:
        nodes += _below(node)
    return nodes


def check_nodes(tree: ast.AST) -> None:
    """Refuse syntax without a rule, such as that of a later Python.

    Raises:
        ProgramRefusedError: the class, a field or the shape of a node is not in the table.
    """
    nodes = [tree]
    for node in nodes:
        node_class = type(node)
        rule = policy.NODES.get(node_class)
        if rule is None:
            raise _refuse_node(node, node_class.__name__)
        for field in rule.required:
            if getattr(node, field) is None:
                raise _refuse_node(node, f"{node_class.__name__} without {field}")
        nodes += _below(node)


def _refuse_node(node: ast.AST, what: str) -> ProgramRefusedError:
    return ProgramRefusedError(f"{what} is not supported. (line {getattr(node, 'lineno', 1)})")


def place(node: NodeT, like: ast.AST) -> NodeT:
    """Give ``node`` and every new node in it the source position of ``like``."""
    known = like.__dict__
    position = {name: known[name] for name in _POSITION}
    stack: list[ast.AST] = [node]
    for subnode in stack:
        if "lineno" not in subnode.__dict__:
            subnode.__dict__.update(position)
        elif subnode is not node:
            continue
        stack += _below(subnode)
    return node
