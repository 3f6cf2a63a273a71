"""Rewrites a program so that what must be guarded goes through a guard, and every block is counted.

Decides nothing about values: what policy forbids whatever the values are is collected here as
refusals, with all of a program's refusals reported together; everything else becomes a call of a
guard or an inline test that leads to one. ``guards.namespace`` binds the hidden names (``@...``).
"""

from __future__ import annotations

import ast
from typing import Any, TypeVar

from . import augmented, operators, policy
from .build import COUNTER, assign, call, const, load, place, walrus
from .rules import Refusal
from .rules_loops import LoopRules
from .rules_match import MatchRules
from .weights import block_weight, is_long

__all__ = ["Refusal", "Transformer"]

_Function = TypeVar("_Function", ast.FunctionDef, ast.AsyncFunctionDef)
_CALLING = (
    ast.Call,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Await,
    ast.Yield,
    ast.YieldFrom,
)
#: Exception names whose handlers cannot catch what ends a run; anything else is checked.
_ORDINARY_ERRORS = frozenset(
    name
    for name, value in vars(__import__("builtins")).items()
    if isinstance(value, type) and issubclass(value, Exception)
)


class Transformer(MatchRules, LoopRules):
    """Rewrites one module: all rules together."""

    # -- operators --

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.visit(node.op)
        node.left = self.visit(node.left)
        node.right = self.visit(node.right)
        return operators.binary(node, self.scope)

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.visit(node.op)
        node.value = self.visit(node.value)
        node.target.augmented = True  # type: ignore[union-attr]  # read as well as written
        node.target = self.visit(node.target)
        return augmented.augmented(node, self.scope)

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
            ast.IfExp(
                test=short,
                body=load(name),
                orelse=call("@grown", load(name), walrus(name, const(None))),
            ),
            node,
        )

    def _display(self, node: Any) -> ast.expr:
        self.generic_visit(node)
        assert isinstance(node, ast.expr)
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        stars = sum(isinstance(element, ast.Starred) for element in node.elts)  # type: ignore[attr-defined]
        return place(call("@grown", node), node) if stars else node

    visit_List = visit_Tuple = _display

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self._bare(node.value)
        self.generic_visit(node)
        return node

    def _bare(self, value: ast.expr) -> None:
        """``b = a.__class__`` at the top level, which upstream's tests say is refused."""
        if self.scope.kind == "module" and isinstance(value, ast.Attribute):
            value.bare = True  # type: ignore[attr-defined]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        self._bare(node.value)
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
        outside = [scope for scope in self.scopes if scope.kind != "comprehension"]
        if outside[-1] is not self.scope:
            # It binds around the comprehension it is in.
            self.bindable(node.target.id, node, outside[-1].kind)
        self.visit(node.target)
        return node

    # -- scopes --

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self._arguments(node.args)
        calls = any(isinstance(n, _CALLING) or is_long(n) for n in ast.walk(node.body))
        with self.inside("lambda", walrus=not self.scope.banned):
            node.body = self.visit(node.body)
            if calls:
                # Without a call a lambda is bounded by what calls it, which is counted.
                tick = place(call("@next", load("@ticks")), node)
                test = ast.IfExp(test=tick, body=node.body, orelse=const(None))
                node.body = place(test, node.body)
        return node

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
            dunder = argument.arg.startswith("__") and argument.arg.endswith("__")
            if argument.arg == "super":
                self.bindable(argument.arg, argument)
            if dunder and argument.arg not in self.generated:
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
        body: list[ast.stmt] = []
        with self.inside(
            "function", walrus=True, temporaries=iter(range(1 << 30)), receiver=receiver
        ) as inner:
            body = self.statements(node.body)
        start: list[ast.stmt] = []
        if not leaf:
            start.append(place(ast.Nonlocal(names=[COUNTER]), node))
            start.append(self.counted(weight, node.body[0], function=True))
        if inner.receiver_used:
            mine = ast.Compare(
                left=call("@id", call("@type", load(receiver or ""))),
                ops=[ast.In()],
                comparators=[load("@own")],
            )
            start.append(place(assign("@mine", mine), node.body[0]))
        at: int = 1 if documentation else 0
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
            answers = self.hardens and any(map(self._answers, ast.walk(node)))
            node.body = self.statements(node.body)
            if answers:
                settled = call("@settle", call("@locals"))
                node.body.append(place(ast.Expr(value=settled), node.body[-1]))
        # The guards' names are no business of the namespace that a metaclass prepares.
        hidden = {
            inner.id
            for statement in node.body
            for inner in ast.walk(statement)
            if isinstance(inner, ast.Name) and inner.id.startswith("@")
        }
        names = sorted(name for name in hidden if name != COUNTER and not name[1:].isdigit())
        if names:
            at = 1 if documentation else 0
            node.body.insert(at, place(ast.Global(names=names), node))
        return node

    @staticmethod
    def _answers(node: ast.AST) -> bool:
        """Whether a class may get a hook here that answers for its objects' attributes."""
        name = getattr(node, "id", None) or getattr(node, "name", None)
        return name in ("__getattr__", "__getattribute__", "_internal_names_set")

    # -- statements --

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

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.pattern:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call):
            # What a guard gives, in the form a pattern may have.
            holder = call("@keep", node.value)
            node.value = place(ast.Attribute(value=holder, attr="value", ctx=ast.Load()), node)
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
