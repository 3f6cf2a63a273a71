"""How many operations a block of code is, in upstream's count: one per syntax-tree node evaluated.

Upstream counts while it walks. Compiled code cannot, so a block is weighed once, before it runs:
the nodes that run whenever the block runs. A branch weighs as much as its heavier side, short
circuits count in full. Straight code comes out at upstream's figure; see docs/executors/local.md
for the factor elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

__all__ = ["block_weight", "expression_weight", "is_long", "iteration_weight", "mark_leaves"]

_UNCOUNTED = (
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.keyword,
    ast.arguments,
    ast.arg,
    ast.comprehension,
    ast.withitem,
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def expression_weight(node: ast.AST | None) -> int:
    """Nodes of one expression; what runs later or repeatedly is left out."""
    if node is None:
        return 0
    if isinstance(node, ast.Lambda):
        return 1
    if isinstance(node, _COMPREHENSIONS):
        return 1 + expression_weight(node.generators[0].iter)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            own = 1
        elif isinstance(node.func, ast.Attribute):
            own = 1 + expression_weight(node.func.value)
        else:
            own = 1 + expression_weight(node.func)
        own += getattr(node, "leaf_weight", 0)
        return own + _total(node.args) + _total(k.value for k in node.keywords)
    own = 0 if isinstance(node, _UNCOUNTED) else 1
    return own + _total(ast.iter_child_nodes(node))


def _total(nodes: Iterable[ast.AST | None]) -> int:
    return sum(expression_weight(node) for node in nodes)


def iteration_weight(node: ast.AST) -> int:
    """Nodes one round of a comprehension's innermost loop evaluates."""
    if isinstance(node, ast.DictComp):
        elements = expression_weight(node.key) + expression_weight(node.value)
    else:
        elements = expression_weight(node.elt)  # type: ignore[attr-defined]
    return max(1, elements)


def block_weight(statements: Iterable[ast.stmt]) -> int:
    """Nodes that run when a list of statements runs once, loops' bodies left out."""
    return sum(_statement_weight(statement) for statement in statements)


def _targets(targets: Iterable[ast.AST]) -> int:
    # A name as a target is not evaluated; what a subscript or an attribute hangs on is.
    return sum(0 if isinstance(t, ast.Name) else expression_weight(t) - 1 for t in targets)


def _statement_weight(node: ast.stmt) -> int:
    if getattr(node, "hidden", False):
        return 0  # the interpreter's own, such as the one that keeps the last value
    if isinstance(node, ast.Assign):
        return 1 + expression_weight(node.value) + _targets(node.targets)
    if isinstance(node, ast.AnnAssign):
        return 1 + expression_weight(node.value) + _targets([node.target])
    if isinstance(node, ast.If):
        return (
            1
            + expression_weight(node.test)
            + max(block_weight(node.body), block_weight(node.orelse))
        )
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return 1 + expression_weight(node.iter) + block_weight(node.orelse)
    if isinstance(node, ast.While):
        return 1 + expression_weight(node.test) + block_weight(node.orelse)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return 1 + _total(node.decorator_list) + _total(node.args.defaults)
    if isinstance(node, ast.ClassDef):
        return 1 + _total(node.bases) + _total(node.decorator_list) + block_weight(node.body)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return 1 + _total(i.context_expr for i in node.items) + block_weight(node.body)
    if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
        return 1 + sum(block_weight(getattr(node, f)) for f in ("body", "orelse", "finalbody"))
    if isinstance(node, ast.Match):
        return 1 + expression_weight(node.subject) + max(block_weight(c.body) for c in node.cases)
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
        return 1
    if isinstance(node, ast.Delete):
        return 1 + _targets(node.targets)
    return 1 + _total(ast.iter_child_nodes(node))


#: What can run other code of the program, or take its time.
_DISPATCHING = (
    ast.BinOp,
    ast.Compare,
    ast.Attribute,
    ast.Subscript,
    ast.UnaryOp,
    ast.AugAssign,
    ast.FormattedValue,
    ast.BoolOp,
    ast.IfExp,
    ast.If,
)
_LEAF_STATEMENTS = (ast.Return, ast.Expr, ast.Assign, ast.AugAssign, ast.Pass, ast.Nonlocal)
_LEAF_EXPRESSIONS = (
    ast.BinOp,
    ast.Compare,
    ast.Attribute,
    ast.Subscript,
    ast.UnaryOp,
    ast.Name,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Dict,
)


def is_long(node: ast.AST) -> bool:
    """Whether an operation that calls nothing may take long all the same: it goes over items."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        plain = any(isinstance(side, ast.Constant) for side in sides)
        return not plain or any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
    return isinstance(node, ast.Slice)


def mark_leaves(tree: ast.Module) -> None:
    """Find functions so small that the blocks that call them can count them.

    A leaf calls nothing, and does at most one thing that could run other code of the program, so
    that a chain of leaves is no longer than the stack is deep. Its weight is added to calls of it
    by name; a function that can do more counts itself.
    """
    weights: dict[str, int | None] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        inner = [one for statement in node.body for one in ast.walk(statement)]
        leaf = not node.decorator_list and all(
            isinstance(one, _LEAF_STATEMENTS)
            if isinstance(one, ast.stmt)
            else not isinstance(one, ast.expr) or isinstance(one, _LEAF_EXPRESSIONS)
            for one in inner
        )
        leaf = leaf and not any(is_long(one) for one in inner)
        leaf = leaf and sum(isinstance(one, _DISPATCHING) for one in inner) <= 1
        targets = [t for one in inner if isinstance(one, ast.Assign) for t in one.targets]
        leaf = leaf and all(isinstance(target, ast.Name) for target in targets)
        if leaf:
            node.leaf = True  # type: ignore[attr-defined]
            weights[node.name] = None if node.name in weights else block_weight(node.body)
        else:
            weights[node.name] = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            node.leaf_weight = weights.get(node.func.id) or 0  # type: ignore[attr-defined]
