"""Facts about a program's syntax tree: numeric types and costs, found before it is rewritten."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .ast_builders import node_types
from .costs import Costs
from .numeric_types import FLOAT, infer_numeric_types

__all__ = ["Facts"]

_NEVER_SUM_OF_SEQUENCES = node_types(
    "Sub Div FloorDiv Pow LShift RShift BitAnd BitOr BitXor MatMult"
)
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr)


class Facts:
    """Facts about one program, by node of its tree as written.

    Args:
        tree: the program.
        below: its nodes, and the children of each.
        taken: names of builtins that something else may stand behind.
        written: globals that functions of earlier programs may bind.
        trust_globals: whether variables of the top level are inferred, too.
    """

    def __init__(
        self,
        tree: ast.Module,
        below: Mapping[ast.AST, list[ast.AST]],
        taken: frozenset[str],
        written: frozenset[str],
        trust_globals: bool,
    ) -> None:
        self.costs = Costs(below)
        #: Names that functions declare global, and those that another scope or an expression binds.
        self.written: set[str] = set()
        self.shared = set(written)
        for node in below:
            kind = type(node)
            if kind is ast.Global or kind is ast.Nonlocal:
                self.shared.update(node.names)  # type: ignore[attr-defined]
                if kind is ast.Global:
                    self.written.update(node.names)  # type: ignore[attr-defined]
            elif kind is ast.NamedExpr:
                self.shared.add(node.target.id)  # type: ignore[attr-defined]
        #: The types of operands, and the globals that were assumed to be numbers.
        self.numeric, self.assumed, self._bound = infer_numeric_types(
            tree, below, taken, written, trust_globals
        )
        #: Names that the top level binds, or that a function shares with it.
        self.module_names = set(self._bound[tree]) - {"*"}

    def is_bound_once(self, name: str, function: ast.AST) -> bool:
        """Tell whether nothing binds a parameter of ``function`` anew."""
        return name not in self.shared and self._bound[function][name] == 1

    def is_number(self, node: ast.AST) -> bool:
        """Tell whether an expression can only be an integer or a float."""
        return node in self.numeric

    def is_small(self, node: ast.AST) -> bool:
        """Tell whether an expression can only be an integer of few bits."""
        return isinstance(self.numeric.get(node), int)

    def is_float(self, node: ast.AST) -> bool:
        """Tell whether arithmetic with this operand can only give a float or an error."""
        return self.numeric.get(node) == FLOAT

    def is_scalar(self, node: ast.AST) -> bool:
        """Tell whether a value can have no ``+`` or ``*`` of a built-in sequence."""
        if node in self.numeric:
            return True
        if not isinstance(node, ast.BinOp):
            return False
        if isinstance(node.op, ast.Add):
            return self.is_scalar(node.left) or self.is_scalar(node.right)
        if isinstance(node.op, ast.Mult):
            return self.is_scalar(node.left) and self.is_scalar(node.right)
        if isinstance(node.op, ast.Mod):
            return self.is_scalar(node.left)
        return isinstance(node.op, _NEVER_SUM_OF_SEQUENCES)

    def is_sequence(self, node: ast.AST) -> bool:
        """Tell whether an expression is surely a sequence, or a constant that is not a number."""
        return isinstance(node, _DISPLAYS) or (
            isinstance(node, ast.Constant) and node not in self.numeric
        )
