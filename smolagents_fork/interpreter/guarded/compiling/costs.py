"""The number of operations of a block, in upstream's count: one per syntax-tree node evaluated.

Upstream counts while it walks. Compiled code cannot, so each block is priced once, before it runs:
the nodes that run whenever the block runs. A branch costs as much as its dearer side, and a short
circuit counts in full. Straight code comes out at upstream's figure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from .ast_builders import node_types

__all__ = ["COMPREHENSIONS", "Costs", "goes_over_items"]

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_UNCOUNTED = node_types(
    "expr_context operator unaryop boolop cmpop keyword arguments arg comprehension withitem"
)


def goes_over_items(node: ast.AST) -> bool:
    """Tell whether an operation that calls nothing may take long all the same."""
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        plain = any(isinstance(side, ast.Constant) for side in sides)
        return not plain or any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops)
    return isinstance(node, ast.Slice)


class Costs:
    """Prices the blocks of one program.

    Args:
        below: its nodes, and the children of each.
    """

    def __init__(self, below: Mapping[ast.AST, list[ast.AST]]) -> None:
        self._below = below
        self._expressions: dict[ast.AST, int] = {}

    def expression(self, node: ast.AST | None) -> int:
        """Count the nodes of one expression; what runs later or repeatedly is left out."""
        if node is None:
            return 0
        found = self._expressions.get(node)
        if found is None:
            found = self._expressions[node] = self._expression(node)
        return found

    def _expression(self, node: ast.AST) -> int:
        kind = type(node)
        if kind is ast.Name or kind is ast.Constant or kind is ast.Lambda:
            return 1
        if kind is ast.Call:
            assert isinstance(node, ast.Call)
            own = 1
            if isinstance(node.func, ast.Attribute):
                own += self.expression(node.func.value)
            elif not isinstance(node.func, ast.Name):
                own += self.expression(node.func)
            return own + self.total(node.args) + self.total(k.value for k in node.keywords)
        if isinstance(node, COMPREHENSIONS):
            return 1 + self.expression(node.generators[0].iter)
        own = 0 if isinstance(node, _UNCOUNTED) else 1
        return own + self.total(self._below[node])

    def total(self, nodes: Iterable[ast.AST | None]) -> int:
        """Sum the costs of several expressions."""
        return sum(map(self.expression, nodes))

    def iteration(self, node: ast.AST) -> int:
        """Price one round of a comprehension's innermost loop."""
        if isinstance(node, ast.DictComp):
            return self.expression(node.key) + self.expression(node.value)
        return max(1, self.expression(node.elt))  # type: ignore[attr-defined]

    def block(self, statements: Iterable[ast.stmt]) -> int:
        """Count the nodes that run when a block runs once; bodies of loops are left out."""
        return sum(map(self._statement, statements))

    def _targets(self, targets: Iterable[ast.AST]) -> int:
        # A name as a target is not evaluated; what a subscript or an attribute hangs on is.
        return sum(0 if isinstance(t, ast.Name) else self.expression(t) - 1 for t in targets)

    def _statement(self, node: ast.stmt) -> int:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return 1 + self.expression(node.value) + self._targets(targets)
        if isinstance(node, (ast.Expr, ast.Return)):
            return 1 + self.expression(node.value)
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal)):
            return 1
        if isinstance(node, ast.Delete):
            return 1 + self._targets(node.targets)
        return self._compound(node)

    def _compound(self, node: ast.stmt) -> int:
        if isinstance(node, ast.If):
            branches = max(self.block(node.body), self.block(node.orelse))
            return 1 + self.expression(node.test) + branches
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            if not isinstance(node, ast.While):
                return 1 + self.expression(node.iter) + self.block(node.orelse)
            # The test takes a tick each time, the last time without the body.
            last = 0 if isinstance(node.test, ast.Constant) else self.block(node.body)
            return 1 + self.block(node.orelse) - last
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return 1 + self.total(node.decorator_list) + self.total(node.args.defaults)
        if isinstance(node, ast.ClassDef):
            made_of = self.total(node.bases) + self.total(node.decorator_list)
            return 1 + made_of + self.block(node.body)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return 1 + self.total(i.context_expr for i in node.items) + self.block(node.body)
        if isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            return 1 + sum(self.block(getattr(node, f)) for f in ("body", "orelse", "finalbody"))
        if isinstance(node, ast.Match):
            return 1 + self.expression(node.subject) + max(self.block(c.body) for c in node.cases)
        return 1 + self.total(self._below[node])
