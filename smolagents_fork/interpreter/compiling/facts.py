"""Facts about a program's syntax tree: numeric types and costs, found before it is rewritten."""

from __future__ import annotations

import ast

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
        taken: names of builtins that something else may stand behind.
        trust_globals: whether variables of the top level are inferred, too.
    """

    def __init__(self, tree: ast.Module, taken: frozenset[str], trust_globals: bool) -> None:
        self.costs = Costs()
        #: Globals that were assumed to be numbers; see :func:`infer_numeric_types`.
        self.numeric, self.assumed = infer_numeric_types(tree, taken, trust_globals)

    def is_number(self, node: ast.AST) -> bool:
        """Tell whether an expression can only be an integer or a float."""
        return node in self.numeric

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
        """Tell whether an expression is a sequence for certain, or a constant that is no number."""
        return isinstance(node, _DISPLAYS) or (
            isinstance(node, ast.Constant) and node not in self.numeric
        )

    @staticmethod
    def is_text(node: ast.AST) -> bool:
        """Tell whether an expression is a string for certain."""
        if isinstance(node, ast.Constant):
            return type(node.value) is str
        return isinstance(node, ast.JoinedStr)
