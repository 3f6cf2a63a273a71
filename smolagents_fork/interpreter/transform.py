"""Rewrites a program so that what must be guarded goes through a guard, and every block is counted.

Decides nothing about values: what policy forbids whatever the values are is collected here as
refusals, with all of a program's refusals reported together; everything else becomes a call of a
guard or an inline test that leads to one. Hidden names (``@...``) are bound by ``guards.namespace``.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from . import operators, policy
from .build import COUNTER, assign, call, const, load, place, store, walrus
from .scopes import Scope, mangled
from .weights import block_weight, expression_weight, iteration_weight

__all__ = ["Refusal", "Transformer"]

_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)
#: What makes a round of a loop take long.
_HEAVY = (ast.Call, ast.Await, ast.In, ast.NotIn, ast.Slice)
_LIGHT_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.Pass, ast.Continue)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: Exception names whose handlers cannot catch what ends a run; anything else is checked.
_ORDINARY_ERRORS = frozenset(
    name
    for name, value in vars(__import__("builtins")).items()
    if isinstance(value, type) and issubclass(value, Exception)
)


class Refusal:
    """One thing policy forbids: a message and its place."""

    def __init__(self, message: str, node: ast.AST) -> None:
        self.message = message
        self.line: int = getattr(node, "lineno", 1)
        self.column: int = getattr(node, "col_offset", 0)


def _is_object_or_super(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "super"
    return isinstance(node, ast.Name) and node.id == "object"


class Transformer(ast.NodeTransformer):
    """Rewrites one module.

    Args:
        protected: names of tools, which may not be bound at the top level.
        extra_dunders: dunder attributes allowed on top of policy.
        max_while: iterations one ``while`` loop may make.
    """

    def __init__(
        self, protected: frozenset[str], extra_dunders: frozenset[str], max_while: int
    ) -> None:
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

    def counted(self, weight: int, like: ast.AST) -> ast.stmt:
        """A statement that counts a block."""
        test = ast.Compare(left=self.lower(weight), ops=[ast.Lt()], comparators=[const(0)])
        refill = ast.Expr(value=call("@refill"))
        return place(ast.If(test=test, body=[refill], orelse=[]), like)

    # -- names and attributes --

    def bindable(self, name: str | None, node: ast.AST) -> None:
        """Refuse to bind what the top level may not bind, in any form of binding."""
        if name is None:
            return
        name = unicodedata.normalize("NFKC", name)
        if name.startswith("__") and name.endswith("__"):
            in_class = self.scope.kind == "class"
            if not in_class and name not in policy.ALLOWED_DUNDER_NAMES:
                self.refuse(f"Cannot assign to name '{name}': it belongs to the interpreter", node)
        elif self.scope.kind == "module" and name in self.protected:
            self.refuse(
                f"Cannot assign to name '{name}': doing this would erase the existing tool!", node
            )
        elif name in ("_print_outputs", "_operations_count") and self.scope.kind == "module":
            self.refuse(f"Cannot assign to name '{name}': it belongs to the interpreter", node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            self.bindable(node.id, node)
        elif node.id == "__import__" and node.id not in self.protected:
            return place(load("@__import__"), node)
        elif node.id in policy.SIZED_TYPES and not getattr(node, "described", False):
            return place(call("@sized_type", node), node)
        elif node.id.startswith("__") and node.id.endswith("__"):
            known = policy.ALLOWED_DUNDER_NAMES | policy.WRITABLE_DUNDERS | self.protected
            if node.id not in known and node.id not in policy.REFUSED_BUILTINS:
                self.refuse(f"Forbidden access to name: {node.id}", node)
        return node

    def _refused_dunder(self, name: str, node: ast.AST, called: bool) -> None:
        if called:
            self.refuse(f"Forbidden call to dunder function: {name}", node)
        hint = {"__class__": "; use type(x)", "__dict__": "; use vars(x)"}.get(name, "")
        self.refuse(f"Forbidden access to dunder attribute: {name}{hint}", node)

    def attribute(self, node: ast.Attribute, called: bool = False) -> ast.expr:
        name = unicodedata.normalize("NFKC", node.attr)
        dunder = name.startswith("__") and name.endswith("__")
        described = getattr(node, "described", False)
        if isinstance(node.value, ast.Name):
            node.value.described = True  # type: ignore[attr-defined]  # bytes.fromhex
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return self._written_attribute(node, name, dunder)
        if dunder:
            if name in policy.ALLOWED_DUNDERS or name in self.extra_dunders:
                return node
            if name == "__class__" and (described or called):
                return node
            if name == "__getattribute__" and not _is_object_or_super(node.value):
                self._refused_dunder(name, node, called)
            if name in policy.GUARDED_DUNDERS:
                return place(call("@getattr", node.value, const(name)), node)
            self._refused_dunder(name, node, called)
            return node
        if name.startswith("_"):
            private = mangled(name, self.scope.class_name)
            node.value = self._vetted(node.value, private, "@private")
            return node
        if name in policy.GUARDED_ATTRIBUTES:
            return place(call("@called" if called else "@getattr", node.value, const(name)), node)
        if name in policy.SIZED_METHODS and not called:
            return place(call("@getattr", node.value, const(name)), node)
        return node

    def _vetted(self, value: ast.expr, name: str, guard: str) -> ast.expr:
        """``value`` if its class is the program's own, else what the guard makes of it."""
        if isinstance(value, ast.Name):
            own: ast.expr
            if value.id == self.scope.receiver:
                # The class of a method's first argument is looked at once a call.
                self.scope.receiver_used = True
                own = load("@mine")
                decide = call(guard, load(value.id), const(name))
                return place(ast.IfExp(test=own, body=value, orelse=decide), value)
            own = ast.Compare(
                left=call("@type", load(value.id)), ops=[ast.In()], comparators=[load("@own")]
            )
            decide = call(guard, load(value.id), const(name))
            return place(ast.IfExp(test=own, body=value, orelse=decide), value)
        return place(call(guard, value, const(name)), value)

    def _written_attribute(self, node: ast.Attribute, name: str, dunder: bool) -> ast.expr:
        verb = "assign to" if isinstance(node.ctx, ast.Store) else "delete"
        if dunder and name not in policy.WRITABLE_DUNDERS:
            self.refuse(f"Cannot {verb} dunder attribute: {name}", node)
        node.value = self._vetted(node.value, mangled(name, self.scope.class_name), "@writable")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Attribute) and not node.attr.startswith("__"):
            node.value.described = True  # type: ignore[attr-defined]  # x.__class__.public
        elif isinstance(node.value, ast.Attribute) and node.attr in ("__name__", "__qualname__"):
            node.value.described = True  # type: ignore[attr-defined]
        return self.attribute(node)

    def _source(self, node: ast.expr) -> ast.expr:
        """What a counted loop goes over: a call of ``range`` needs no guard there."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "range":
                self.generic_arguments(node)
                return node
        result: ast.expr = self.visit(node)
        return result

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        for side in (node.left, *node.comparators):
            if isinstance(side, (ast.Attribute, ast.Name)):
                side.described = True  # type: ignore[attr-defined]  # a.__class__ is b.__class__
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Attribute):
            name = function.attr
            if name in policy.SIZED_METHODS and not self._small_call(node):
                receiver = self.visit(function.value)
                self.generic_arguments(node)
                node.func = place(load("@sized_call"), function)
                node.args = [receiver, place(const(name), function), *node.args]
                return node
            if isinstance(function.value, ast.Attribute):
                function.value.described = True  # type: ignore[attr-defined]
            node.func = self.attribute(function, called=True)
        elif isinstance(function, ast.Name) and function.id == "type":
            # type(x) only reads; type(name, bases, namespace) makes a class, which must be known.
            if len(node.args) != 1 or isinstance(node.args[0], ast.Starred) or node.keywords:
                node.func = place(load("@make_class"), function)
            self.generic_arguments(node)
            return node
        elif isinstance(function, ast.Name) and function.id in policy.SIZED_TYPES:
            node.func = place(load("@make"), function)
            self.generic_arguments(node)
            node.args.insert(0, function)
            return node
        else:
            node.func = self.visit(function)
        self.generic_arguments(node)
        return node

    def generic_arguments(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            for argument in node.args:
                for inner in ast.walk(argument):
                    inner.described = True  # type: ignore[attr-defined]
        node.args = [self.visit(argument) for argument in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]

    @staticmethod
    def _small_call(node: ast.Call) -> bool:
        """Whether a call of a sized method can only give a result as small as its arguments say."""
        assert isinstance(node.func, ast.Attribute)
        if node.keywords or any(not isinstance(a, ast.Constant) for a in node.args):
            return False
        values = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if node.func.attr in ("ljust", "rjust", "center", "zfill", "expandtabs"):
            return not values or (type(values[0]) is int and values[0] <= 1000)
        if node.func.attr == "replace" and len(values) >= 2:
            old, new = values[:2]
            return isinstance(old, str) and isinstance(new, str) and 0 < len(old) >= len(new)
        return node.func.attr == "to_bytes" and type(values[0]) is int and values[0] <= 1000

    # -- operators --

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        node.left = self.visit(node.left)
        node.right = self.visit(node.right)
        return operators.binary(node, self.scope)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        node.value = self.visit(node.value)
        node.target = self.visit(node.target)
        return operators.augmented(node, self.scope)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        if getattr(node, "is_specification", False):
            self.generic_visit(node)
            return node
        values = sum(isinstance(part, ast.FormattedValue) for part in node.values)
        self.generic_visit(node)
        if values < 2:
            return node  # one value, and a constant beside it: nothing doubles
        if not self.scope.walrus:
            return place(call("@grown", node), node)
        name = self.hidden()
        length = call("@len", walrus(name, node))
        short = ast.Compare(left=length, ops=[ast.Lt()], comparators=[const(4096)])
        return place(
            ast.IfExp(test=short, body=load(name), orelse=call("@grown", load(name))), node
        )

    def _display(self, node: Any) -> ast.expr:
        self.generic_visit(node)
        assert isinstance(node, ast.expr)
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        stars = sum(isinstance(element, ast.Starred) for element in node.elts)  # type: ignore[attr-defined]
        return place(call("@grown", node), node) if stars else node

    visit_List = visit_Tuple = _display

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        node.value = self.visit(node.value)
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice):
                node.value = place(call("@addend", node.value), node)
                break
        node.targets = [self.visit(target) for target in node.targets]
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        node.value = self.visit(node.value)
        specification = node.format_spec
        if specification is None:
            return node
        assert isinstance(specification, ast.JoinedStr)
        specification.is_specification = True  # type: ignore[attr-defined]
        parts = specification.values
        if len(parts) == 1 and isinstance(parts[0], ast.Constant):
            digits = "".join(c if c.isdigit() else " " for c in str(parts[0].value)).split()
            if all(len(number) < 5 for number in digits):
                return node
        specification = self.visit(specification)
        # The specification goes through the guard, then to the format it is meant for.
        vetted = place(call("@specification", specification), node)
        node.format_spec = place(
            ast.JoinedStr(
                values=[ast.FormattedValue(value=vetted, conversion=-1, format_spec=None)]
            ),
            node,
        )
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = self.visit(node.value)
        self.visit(node.target)
        return node

    # -- scopes --

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._arguments(node.args)
        calls = any(
            isinstance(inner, (ast.Call, *_COMPREHENSIONS, ast.Await, ast.Yield, ast.YieldFrom))
            for inner in ast.walk(node.body)
        )
        with self.inside("lambda", walrus=not self.scope.banned):
            node.body = self.visit(node.body)
            if calls:
                # Without a call a lambda is bounded by what calls it, which is counted.
                tick = place(call("@next", load("@ticks")), node)
                test = ast.IfExp(test=tick, body=node.body, orelse=const(None))
                node.body = place(test, node.body)
        return node

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

    def _arguments(self, arguments: ast.arguments) -> None:
        """Defaults and annotations, which belong to the scope around."""
        arguments.defaults = [self.visit(default) for default in arguments.defaults]
        arguments.kw_defaults = [
            None if default is None else self.visit(default) for default in arguments.kw_defaults
        ]
        for argument in (
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            *(a for a in (arguments.vararg, arguments.kwarg) if a),
        ):
            if argument.arg.startswith("__") and argument.arg.endswith("__"):
                self.refuse(f"Cannot use '{argument.arg}' as the name of a parameter", argument)
            argument.annotation = self._annotation(argument.annotation)

    def _annotation(self, annotation: ast.expr | None) -> ast.expr | None:
        if annotation is None:
            return None
        with self.inside("annotation", walrus=False, banned=True):
            for inner in ast.walk(annotation):
                inner.described = True  # type: ignore[attr-defined]  # types named, not used
            result: ast.expr = self.visit(annotation)
        return result

    def _function(self, node: _Function) -> _Function:
        self.bindable(node.name, node)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        self._arguments(node.args)
        node.returns = self._annotation(node.returns)
        for parameter in getattr(node, "type_params", []):
            with self.inside("annotation", walrus=False, banned=True):
                self.generic_visit(parameter)
        weight = max(1, block_weight(node.body))
        documentation = ast.get_docstring(node, clean=False) is not None
        if documentation:
            weight = max(1, weight - 2)
        receiver = self._receiver(node) if self.scope.kind == "class" else None
        leaf = getattr(node, "leaf", False)
        with self.inside(
            "function", walrus=True, temporaries=iter(range(1 << 30)), receiver=receiver
        ) as inner:
            body = self.statements(node.body)
        start: list[ast.stmt] = []
        if not leaf:
            start.append(place(ast.Nonlocal(names=[COUNTER]), node))
            start.append(self.counted(weight, node.body[0]))
        if inner.receiver_used:
            mine = ast.Compare(
                left=call("@type", load(receiver or "")), ops=[ast.In()], comparators=[load("@own")]
            )
            start.append(place(assign("@mine", mine), node.body[0]))
        at = 1 if documentation else 0
        node.body = [*body[:at], *start, *body[at:]]
        return node

    @staticmethod
    def _receiver(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
        """The name of a method's first argument, if nothing in the method binds it anew."""
        first = [*node.args.posonlyargs, *node.args.args][:1]
        if not first:
            return None
        name = first[0].arg
        for inner in ast.walk(node):
            rebound = isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load)
            if rebound and inner.id == name:  # type: ignore[attr-defined]
                return None
            if isinstance(inner, (ast.Nonlocal, ast.Global, ast.ExceptHandler, ast.MatchAs)):
                return None
            if isinstance(inner, (ast.Import, ast.ImportFrom)):
                return None
            if isinstance(inner, (ast.FunctionDef, ast.ClassDef)) and inner.name == name:
                return None
        return name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        self.bindable(node.name, node)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        for base in node.bases:
            for inner in ast.walk(base):
                inner.described = True  # type: ignore[attr-defined]
        node.bases = [self.visit(base) for base in node.bases]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        for parameter in getattr(node, "type_params", []):
            with self.inside("annotation", walrus=False, banned=True):
                self.generic_visit(parameter)
        documentation = ast.get_docstring(node, clean=False) is not None
        with self.inside("class", class_name=node.name, walrus=False):
            node.body = self.statements(node.body)
        at = 1 if documentation else 0
        node.body.insert(at, place(ast.Nonlocal(names=[COUNTER]), node))
        return node

    # -- statements --

    @contextmanager
    def loop(self, body: list[ast.stmt], weight: int) -> Iterator[tuple[str, str, int]]:
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

    def _round(self, rounds: tuple[str, str, int], portion: str, again: ast.expr) -> ast.stmt:
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
            node.iter = place(call("@counted", node.iter, const(weight)), node.iter)
            node.body = self.statements(node.body)
            node.orelse = self.statements(node.orelse)
            return node
        portion = self._portion(ast.Module(body=node.body, type_ignores=[]))
        with self.loop(node.body, weight) as rounds:
            count = self._round(
                rounds, portion, call("@round", load(rounds[1]), const(weight), load(portion))
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
        portion = self._portion(ast.Module(body=[node.test, *node.body], type_ignores=[]))
        node.test = self.visit(node.test)
        first = node.body[0]
        total = self.hidden()
        with self.loop(node.body, weight) as rounds:
            again = call("@while", load(rounds[1]), const(weight), load(portion), load(total))
            count = self._round(rounds, portion, again)
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
        finished = self.hidden()
        leave: list[ast.stmt] = [assign(finished, const(True)), ast.Break()]
        negated = ast.UnaryOp(op=ast.Not(), operand=test)
        # A for loop over a bounded repeat() counts rounds in C; running it dry is the limit.
        loop = ast.For(
            target=ast.Tuple(elts=[], ctx=ast.Store()),
            iter=call("@empties"),
            body=[place(ast.If(test=negated, body=leave, orelse=[]), node.test), *body],
            orelse=[ast.Expr(value=call("@while_exceeded"))],
            type_comment=None,
        )
        after: list[ast.stmt] = [ast.Delete(targets=[ast.Name(id=finished, ctx=ast.Del())])]
        if orelse:
            after.insert(0, ast.If(test=load(finished), body=orelse, orelse=[]))
        whole: list[ast.stmt] = [assign(finished, const(False)), loop, *after]
        return [place(statement, node) for statement in whole]

    def visit_Try(self, node: Any) -> ast.stmt:
        node.body = self.statements(node.body)
        node.handlers = [self._handler(handler) for handler in node.handlers]
        node.orelse = self.statements(node.orelse)
        if node.finalbody:
            like = node.finalbody[0]
            node.finalbody = [self.counted(1, like), *self.statements(node.finalbody)]
        assert isinstance(node, ast.stmt)
        return node

    visit_TryStar = visit_Try

    def _handler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        ordinary = all(isinstance(k, ast.Name) and k.id in _ORDINARY_ERRORS for k in kinds)
        self.bindable(node.name, node)
        if node.type is not None:
            node.type = self.visit(node.type)
        weight = max(1, block_weight(node.body))
        start = [self.counted(weight, node.body[0])]
        if not ordinary:
            start.append(place(ast.Expr(value=call("@caught")), node.body[0]))
        node.body = [*start, *self.statements(node.body)]
        return node

    def visit_With(self, node: ast.With | ast.AsyncWith) -> list[ast.stmt]:
        for item in node.items:
            item.context_expr = self.visit(item.context_expr)
            if item.optional_vars is not None:
                item.optional_vars = self.visit(item.optional_vars)
        node.body = self.statements(node.body)
        # __exit__ may have swallowed what ends the run.
        return [node, place(ast.Expr(value=call("@caught")), node)]

    visit_AsyncWith = visit_With

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        node.annotation = self._annotation(node.annotation) or node.annotation
        if node.value is not None:
            node.value = self.visit(node.value)
        node.target = self.visit(node.target)
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.pattern:
        node.cls.described = True  # type: ignore[attr-defined]
        for name in node.kwd_attrs:
            normal = unicodedata.normalize("NFKC", name)
            if normal.startswith("_") or normal in policy.GUARDED_ATTRIBUTES:
                self.refuse(f"Forbidden access to attribute in a class pattern: {name}", node)
        self.generic_visit(node)
        if node.patterns:
            # Positional patterns read what __match_args__ names. The class is looked at before the
            # match, and the very class that was looked at is what the pattern uses.
            held = self.hidden()
            guard = place(assign(held, call("@match_class", node.cls)), node.cls)
            self.scope.match_classes.append((held, guard))
            node.cls = place(load(held), node)
        return node

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        outer, self.scope.match_classes = self.scope.match_classes, []
        node.subject = self.visit(node.subject)
        for case in node.cases:
            case.pattern = self.visit(case.pattern)
            if case.guard is not None:
                case.guard = self.visit(case.guard)
        held, self.scope.match_classes = self.scope.match_classes, outer
        for case in node.cases:
            case.body = self.statements(case.body)
        result: list[ast.stmt] = [*(guard for _name, guard in held), node]
        if held and self.scope.kind == "class":
            names: list[ast.expr] = [ast.Name(id=name, ctx=ast.Del()) for name, _guard in held]
            result.append(place(ast.Delete(targets=names), node))
        return result

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.pattern:
        self.bindable(node.name, node)
        self.generic_visit(node)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.pattern:
        self.bindable(node.name, node)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.pattern:
        self.bindable(node.rest, node)
        self.generic_visit(node)
        return node

    # -- imports --

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self.bindable(name, node)
            what = call("@import", const(alias.name), const(alias.asname is not None))
            result.append(place(assign(name, what), node))
        return result

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        if node.level:
            self.refuse("Relative imports are not possible here: there is no package", node)
            return []
        module = node.module or ""
        if module == "__future__":
            return [node]
        result: list[ast.stmt] = []
        for alias in node.names:
            if alias.name == "*":
                what = ast.Expr(value=call("@import_all", const(module)))
                result.append(place(what, node))
                continue
            name = alias.asname or alias.name
            self.bindable(name, node)
            value = call("@import_from", const(module), const(alias.name))
            result.append(place(assign(name, value), node))
        return result

    def visit_Global(self, node: ast.Global) -> ast.stmt | None:
        for name in node.names:
            if name in self.protected:
                self.refuse(
                    f"Cannot assign to name '{name}': doing this would erase the existing tool!",
                    node,
                )
            elif name.startswith("__") and name not in policy.ALLOWED_DUNDER_NAMES:
                self.refuse(f"Forbidden access to name: {name}", node)
        # At the top level every name is global already.
        return None if self.scope.kind == "module" else node
