"""Rules for loops and comprehensions: every round is counted, most of them in local variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .build import COUNTER, assign, call, const, load, place, store, walrus
from .kinds import kind_of
from .rules import Rules
from .weights import block_weight, expression_weight, iteration_weight

__all__ = ["LoopRules"]

#: What makes a round of a loop take long.
_HEAVY = (ast.Call, ast.Await, ast.In, ast.NotIn, ast.Slice)
_LIGHT_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.Pass, ast.Continue)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class LoopRules(Rules):
    """Loops and comprehensions."""

    def _source(self, node: ast.expr) -> ast.expr:
        """What a counted loop goes over: a call of ``range`` needs no guard there."""
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "range"
        ):
            node.args = [self.visit(argument) for argument in node.args]
            node.keywords = [self.visit(keyword) for keyword in node.keywords]
            return node
        result: ast.expr = self.visit(node)
        return result

    @contextmanager
    def loop(self, weight: int) -> Iterator[tuple[str, str, int]]:
        names = (self.hidden(), self.hidden(), weight)
        self.scope.loops.append(names)
        try:
            yield names
        finally:
            self.scope.loops.pop()

    def _portion(self, node: ast.AST) -> str:
        """Rounds between two looks at the clock: few where a round may take long."""
        return "@few" if any(isinstance(n, _HEAVY) for n in ast.walk(node)) else "@many"

    @staticmethod
    def _is_light(body: list[ast.stmt]) -> bool:
        """Whether a loop's body is short, always runs in full and calls nothing."""
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.stmt) and not isinstance(node, _LIGHT_STATEMENTS):
                    return False
                if isinstance(node, (*_HEAVY, *_COMPREHENSIONS, ast.Lambda, ast.Starred)):
                    return False
        return True

    @staticmethod
    def _may_grow(body: list[ast.stmt]) -> bool:
        """Whether a light body may add to the list it goes over: with ``+=`` alone."""
        return any(
            isinstance(node, ast.AugAssign)
            and isinstance(node.op, ast.Add)
            and kind_of(node.value) is None
            and kind_of(node.target) is None
            for statement in body
            for node in ast.walk(statement)
        )

    def _round(self, rounds: tuple[str, str, int], again: ast.expr) -> ast.stmt:
        """``if (left := left - 1) < 1: left = given = <again>``"""
        left, given, _weight = rounds
        lower = walrus(left, ast.BinOp(left=load(left), op=ast.Sub(), right=const(1)))
        test = ast.Compare(left=lower, ops=[ast.Lt()], comparators=[const(1)])
        refill = ast.Assign(targets=[store(left), store(given)], value=again)
        return ast.If(test=test, body=[refill], orelse=[])

    def _book_rounds(self, rounds: tuple[str, str, int]) -> ast.stmt:
        """Count the rounds made since the last refill, when the loop is left."""
        left, given, weight = rounds
        made = ast.BinOp(left=load(given), op=ast.Sub(), right=load(left))
        used = ast.BinOp(left=made, op=ast.Mult(), right=const(weight))
        lower = walrus(COUNTER, ast.BinOp(left=load(COUNTER), op=ast.Sub(), right=used))
        test = ast.Compare(left=lower, ops=[ast.Lt()], comparators=[const(0)])
        return ast.If(test=test, body=[ast.Expr(value=call("@refill"))], orelse=[])

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        if node.value is not None:
            node.value = self.visit(node.value)
        return [*(place(self._book_rounds(r), node) for r in self.scope.loops), node]

    def visit_For(self, node: ast.For | ast.AsyncFor) -> ast.stmt | list[ast.stmt]:
        weight = max(1, block_weight(node.body))
        node.iter = self._source(node.iter)
        node.target = self.visit(node.target)
        first = node.body[0]
        if self.scope.kind == "class":
            node.body = [self.counted(weight, first), *self.statements(node.body)]
            node.orelse = self.statements(node.orelse)
            return node
        light = isinstance(node, ast.For) and self._is_light(node.body)
        if light and not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            guard = "@counted_growing" if self._may_grow(node.body) else "@counted"
            node.iter = place(call(guard, node.iter, const(weight)), node.iter)
            node.body = self.statements(node.body)
            node.orelse = self.statements(node.orelse)
            return node
        portion = self._portion(node)
        with self.loop(weight) as rounds:
            count = self._round(
                rounds, call("@round", load(rounds[1]), const(weight), load(portion))
            )
            node.body = [place(count, first), *self.statements(node.body)]
        node.orelse = self.statements(node.orelse)
        start = ast.Assign(targets=[store(rounds[0]), store(rounds[1])], value=load(portion))
        return [place(start, node), node, place(self._book_rounds(rounds), node)]

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        weight = max(1, expression_weight(node.test) + block_weight(node.body))
        if self.scope.kind == "class":
            return self._while_in_class(node, weight)
        portion = self._portion(node)
        node.test = self.visit(node.test)
        first = node.body[0]
        total = self.hidden()
        with self.loop(weight) as rounds:
            again = call("@while", load(rounds[1]), const(weight), load(portion), load(total))
            count = self._round(rounds, again)
            add = ast.AugAssign(target=store(total), op=ast.Add(), value=load(rounds[1]))
            assert isinstance(count, ast.If)
            count.body.insert(0, add)
            node.body = [place(count, first), *self.statements(node.body)]
        node.orelse = self.statements(node.orelse)
        handed = ast.IfExp(
            test=ast.Compare(
                left=load(portion), ops=[ast.Lt()], comparators=[const(self.max_while)]
            ),
            body=load(portion),
            orelse=const(self.max_while + 1),
        )
        start = ast.Assign(
            targets=[store(rounds[0]), store(rounds[1])],
            value=load(portion) if self.max_while > 1000 else handed,
        )
        return [
            place(start, node),
            place(assign(total, const(0)), node),
            node,
            place(self._book_rounds(rounds), node),
        ]

    def _while_in_class(self, node: ast.While, weight: int) -> list[ast.stmt]:
        """A loop in a class body, where hidden names would land in the class's namespace."""
        test = self.visit(node.test)
        body = [self.counted(weight, node.body[0]), *self.statements(node.body)]
        orelse = self.statements(node.orelse)
        # Where "else" may run in the loop it needs no name, which would land in the namespace.
        kept = any(isinstance(n, (ast.Break, ast.Continue)) for s in orelse for n in ast.walk(s))
        finished = self.hidden()
        leave: list[ast.stmt] = [ast.Break()]
        leave = [assign(finished, const(True)), *leave] if kept else [*orelse, *leave]
        negated = ast.UnaryOp(op=ast.Not(), operand=test)
        # A for loop over a bounded repeat() counts rounds in C; running it dry is the limit.
        loop = ast.For(
            target=ast.Tuple(elts=[], ctx=ast.Store()),
            iter=call("@empties"),
            body=[place(ast.If(test=negated, body=leave, orelse=[]), node.test), *body],
            orelse=[ast.Expr(value=call("@while_exceeded"))],
            type_comment=None,
        )
        whole: list[ast.stmt] = [loop]
        if kept:
            drop = ast.Delete(targets=[ast.Name(id=finished, ctx=ast.Del())])
            other = ast.If(test=load(finished), body=orelse, orelse=[])
            whole = [assign(finished, const(False)), loop, other, drop]
        return [place(statement, node) for statement in whole]

    def visit_ListComp(self, node: Any) -> ast.expr:
        generators: list[ast.comprehension] = node.generators
        lazy = isinstance(node, ast.GeneratorExp)
        heavy = self._portion(node) == "@few"
        rules = {"walrus": False, "banned": True}
        for position, generator in enumerate(generators):
            # Only the first source is evaluated in the scope around.
            if position == 0:
                with self.inside("comprehension source", **rules):
                    generator.iter = self._source(generator.iter)
        in_class = self.scope.kind == "class"
        with self.inside("comprehension", walrus=self.scope.walrus and not in_class):
            for position, generator in enumerate(generators):
                own = sum(expression_weight(test) for test in generator.ifs)
                if position + 1 < len(generators):
                    own += expression_weight(generators[position + 1].iter)
                else:
                    own += iteration_weight(node)
                if position:
                    with self.inside("comprehension source", **rules):
                        generator.iter = self._source(generator.iter)
                generator.target = self.visit(generator.target)
                generator.ifs = [self.visit(test) for test in generator.ifs]
                if generator.is_async:
                    generator.ifs.insert(0, place(call("@next", load("@ticks")), node))
                    continue
                guard = "@each_heavy" if heavy else "@each_lazy" if lazy else "@each"
                generator.iter = place(call(guard, generator.iter, const(max(1, own))), node)
            if isinstance(node, ast.DictComp):
                node.key = self.visit(node.key)
                node.value = self.visit(node.value)
            else:
                node.elt = self.visit(node.elt)
        assert isinstance(node, ast.expr)
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp
