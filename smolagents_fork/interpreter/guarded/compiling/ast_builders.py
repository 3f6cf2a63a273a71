"""Builders of syntax-tree nodes, and the hidden names that no program can spell.

A hidden name begins with ``@``. The parser gives no program such a name and the compiler accepts
any string, so hidden names need no escaping and collide with nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "FIELDS",
    "TYPE_CONSTANTS",
    "assign",
    "call",
    "children",
    "const",
    "expression",
    "function_definition",
    "if_else",
    "load",
    "node_types",
    "place",
    "statement",
    "store",
    "ticks_name",
    "tree_below",
    "walk",
]

NodeT = TypeVar("NodeT", bound=ast.AST)
#: Types that compiled code compares with, by the constants that stand for them until it is
#: compiled: the compiler takes no types, and no literal of a program is a set of sets.
TYPE_CONSTANTS: dict[Any, type] = {
    frozenset({frozenset({kind.__name__})}): kind for kind in (int, float, str, list)
}
_KINDS = frozenset(f"_{kind.__name__}" for kind in TYPE_CONSTANTS.values())
#: Fields that contain no nodes that anything asks about.
_LEAVES = frozenset("ctx id attr kind type_comment level module asname is_async simple".split())


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The other fields, by node type."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = self[kind] = tuple(name for name in kind._fields if name not in _LEAVES)
        return found


#: The fields of each node type that may contain nodes.
FIELDS = _Fields({ast.Constant: ()})
_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_LOAD, _STORE = ast.Load(), ast.Store()


def ticks_name(cost: int) -> str:
    """Give the hidden name of the ticks for blocks of ``cost`` operations."""
    return f"@t{cost}"


def load(name: str) -> ast.Name:
    """Build a read of ``name``."""
    return ast.Name(id=name, ctx=_LOAD)


def store(name: str) -> ast.Name:
    """Build a target that binds ``name``."""
    return ast.Name(id=name, ctx=_STORE)


def const(value: object) -> ast.Constant:
    """Build a constant."""
    return ast.Constant(value=value)  # type: ignore[arg-type]


def call(name: str, *args: ast.expr) -> ast.Call:
    """Build a call of the hidden name ``name``."""
    return ast.Call(func=load(name), args=list(args), keywords=[])


def assign(name: str, value: ast.expr) -> ast.Assign:
    """Build ``name = value``."""
    return ast.Assign(targets=[store(name)], value=value)


def if_else(test: ast.expr, body: ast.expr, orelse: ast.expr) -> ast.IfExp:
    """Build ``body if test else orelse``."""
    return ast.IfExp(test=test, body=body, orelse=orelse)


def node_types(names: str) -> tuple[type[Any], ...]:
    """Give the node types of ``names``, those that this Python has."""
    return tuple(getattr(ast, name) for name in names.split() if hasattr(ast, name))


def expression(text: str) -> Callable[..., ast.expr]:
    """Make a builder of the expression ``text``.

    ``_name`` in it stands for the hidden name ``@name``, or for one of :data:`TYPE_CONSTANTS`.
    Names that it binds are new hidden names, which the builder's first argument gives. Every other
    name is a keyword of the builder, which takes a hidden name or an expression.
    """
    tree = ast.parse(text, mode="eval").body
    new = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    made: Callable[..., ast.expr] = _builder(tree, new)
    return made


def statement(text: str) -> Callable[..., ast.stmt]:
    """Make a builder of the statement ``text``; names that it binds are keywords, too."""
    return _builder(ast.parse(text).body[0], set())


def _builder(tree: ast.AST, new: set[str]) -> Callable[..., Any]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - new
    parameters = ["temporary"] * bool(new) + sorted(name for name in names if name[0] != "_")
    # Written out once as Python: as fast as constructors written by hand.
    source = f"lambda {', '.join(parameters)}: {_constructor(tree, new)}"
    types = {kind.__name__: value for value, kind in TYPE_CONSTANTS.items()}
    scope = {
        **vars(ast),
        "load": lambda x: load(x) if type(x) is str else x,
        "store": store,
        "kinds": lambda name: ast.Constant(value=types[name]),
    }
    return eval(source, scope)  # type: ignore[no-any-return]


def _constructor(node: object, new: set[str]) -> str:
    """Write the construction of ``node``; ``new`` are names whose first binding is to come."""
    if isinstance(node, ast.Name):
        if node.id in _KINDS:
            return f"kinds({node.id[1:]!r})"
        name = repr("@" + node.id[1:]) if node.id[0] == "_" else node.id
        if isinstance(node.ctx, ast.Load):
            return f"load({name})"
        first = node.id in new
        new.discard(node.id)
        return f"store({name} := temporary())" if first else f"store({name})"
    if isinstance(node, list):
        return f"[{', '.join(_constructor(part, new) for part in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = [_constructor(getattr(node, field), new) for field in node._fields]
    return f"{type(node).__name__}({', '.join(parts)})"


def function_definition(
    name: str, body: list[ast.stmt], *, is_async: bool = False
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """Build a function without parameters."""
    kind = ast.AsyncFunctionDef if is_async else ast.FunctionDef
    arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    made = kind(
        name=name, args=arguments, body=body, decorator_list=[], returns=None, type_comment=None
    )
    if "type_params" in ast.FunctionDef._fields:
        made.type_params = []  # type: ignore[union-attr]
    return made


def children(node: ast.AST) -> list[ast.AST]:
    """List the nodes directly below ``node``, without contexts: faster than ``ast`` does."""
    found: list[ast.AST] = []
    for field in FIELDS[type(node)]:
        value = getattr(node, field, None)
        if type(value) is list:
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def tree_below(root: ast.AST) -> dict[ast.AST, list[ast.AST]]:
    """Map ``root`` and every node below it to its children."""
    found: dict[ast.AST, list[ast.AST]] = {}
    nodes = [root]
    for node in nodes:
        found[node] = inner = children(node) if FIELDS[type(node)] else []
        nodes += inner
    return found


def walk(*roots: ast.AST) -> list[ast.AST]:
    """List ``roots`` and all nodes below them."""
    found = list(roots)
    for node in found:
        if FIELDS[type(node)]:
            found += children(node)
    return found


def place(node: NodeT, like: ast.AST) -> NodeT:
    """Give ``node`` and every new node in it the source position of ``like``."""
    known = like.__dict__
    position = {name: known[name] for name in _POSITION}
    stack: list[ast.AST] = [node]
    for one in stack:
        if "lineno" not in one.__dict__:
            one.__dict__.update(position)
        elif one is not node:
            continue
        if FIELDS[type(one)]:
            stack += children(one)
    return node
