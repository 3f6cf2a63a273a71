"""How many operations a block of code is, in upstream's count: one per syntax-tree node evaluated.

Upstream counts while it walks. Compiled code cannot, so a block is weighed once, before it runs:
the nodes that run whenever the block runs. A branch weighs as much as its heavier side, short
circuits count in full. Straight code comes out at upstream's figure; see docs/executors/local.md
for the factor elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

__all__ = ["block_weight", "expression_weight", "iteration_weight"]

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
    """Nodes of one expression; what runs later (lambda) or repeatedly (comprehension) is left out."""
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
