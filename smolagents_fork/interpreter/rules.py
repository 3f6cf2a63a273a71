"""What all rewriting rules share: refusals, scopes, hidden names and counted blocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import policy
from .build import COUNTER, call, const, load, place, walrus
from .scopes import Scope

__all__ = ["Refusal", "Rules"]


class Refusal:
    """One thing policy forbids: a message and its place."""

    def __init__(self, message: str, node: ast.AST) -> None:
        self.message = message
        self.line: int = getattr(node, "lineno", 1)
        self.column: int = getattr(node, "col_offset", 0)


class Rules(ast.NodeTransformer):
    """Base of the rules.

    Args:
        protected: names of tools, which may not be bound at the top level.
        extra_dunders: dunder attributes allowed on top of policy.
        max_while: iterations one ``while`` loop may make.
        hardens: whether classes as values are to be held; see held_classes.
        generated: dunder names of functions and parameters in text the standard library wrote.
    """

    def __init__(
        self,
        protected: frozenset[str],
        extra_dunders: frozenset[str],
        max_while: int,
        generated: frozenset[str] = frozenset(),
        hardens: bool = False,
    ) -> None:
        self.hardens = hardens
        self.generated = generated - {"__builtins__", "__build_class__", "__import__"}
        self.protected = protected
        self.extra_dunders = extra_dunders
        self.max_while = max_while
        self.refusals: list[Refusal] = []
        self.scopes: list[Scope] = [Scope("module")]

    # -- bookkeeping --

    def refuse(self, message: str, node: ast.AST) -> None:
        self.refusals.append(Refusal(message, node))

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    @contextmanager
    def inside(self, kind: str, **changes: Any) -> Iterator[Scope]:
        """A new scope; without ``changes`` it continues the rules of the one around it."""
        outer = self.scope
        new = Scope(kind, outer.class_name, outer.walrus, outer.banned)
        new.temporaries = outer.temporaries
        for name, value in changes.items():
            setattr(new, name, value)
        self.scopes.append(new)
        try:
            yield new
        finally:
            self.scopes.pop()

    def visit(self, node: ast.AST) -> Any:
        if type(node) not in policy.ALLOWED_NODES:
            self.refuse(f"{type(node).__name__} is not supported.", node)
            return node
        return super().visit(node)

    def statements(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for node in nodes:
            new = self.visit(node)
            if isinstance(new, list):
                result.extend(new)
            elif new is not None:
                result.append(new)
        return result

    def hidden(self) -> str:
        return f"@{next(self.scope.temporaries)}"

    # -- counting --

    def lower(self, weight: int) -> ast.expr:
        """``(counter := counter - weight)``"""
        difference = ast.BinOp(left=load(COUNTER), op=ast.Sub(), right=const(weight))
        return walrus(COUNTER, difference)

    def counted(self, weight: int, like: ast.AST, function: bool = False) -> ast.stmt:
        """A statement that counts a block; ``function``: of a function's own scope."""
        if self.scope.kind == "class" and not function:
            # A class body reads closure variables through its namespace, which may be the
            # program's own mapping and answer what it likes.
            return place(ast.Expr(value=call("@charge", const(weight))), like)
        test = ast.Compare(left=self.lower(weight), ops=[ast.Lt()], comparators=[const(0)])
        refill = ast.Expr(value=call("@refill"))
        return place(ast.If(test=test, body=[refill], orelse=[]), like)
