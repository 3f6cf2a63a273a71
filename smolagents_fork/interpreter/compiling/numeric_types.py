"""Inference of expressions that can only be numbers, whose arithmetic needs no guard.

A fixpoint over the assignments of each scope: a variable is numeric when everything ever bound to
it is, supposing the others are. Only what is certain counts: locals that no other scope binds, and
globals, which the run checks in its state before it starts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from .costs import COMPREHENSIONS
from .scopes import all_arguments, bound_by

__all__ = ["ASSUMED_BUILTINS", "FLOAT", "INTEGER", "NUMBER", "infer_numeric_types"]

FLOAT, INTEGER, NUMBER = "float", "integer", "number"
#: Nothing is known against a variable yet: the bottom of the lattice.
_UNKNOWN_YET = ""
#: The pairs that ``enumerate`` gives.
_PAIRS = "pairs"

#: Builtins whose result is a number whatever they are given, unless their name is taken.
_RESULTS = {"len": INTEGER, "ord": INTEGER, "float": FLOAT, "int": INTEGER}
#: Builtins whose result is as numeric as all their arguments.
_ALIKE = frozenset({"abs", "min", "max"})
#: Every builtin whose name is taken to mean what it means in Python.
ASSUMED_BUILTINS = frozenset({*_RESULTS, *_ALIKE, "range", "enumerate"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BITWISE = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


def _join(one: str | None, other: str | None) -> str | None:
    """Join two types; ``None`` is "may be anything"."""
    if one is None or other is None:
        return None
    if one in (_UNKNOWN_YET, other):
        return other
    return one if other == _UNKNOWN_YET else NUMBER


class _ScopeNames:
    """Bindings of one scope: for each name what is bound to it, ``None`` for anything."""

    def __init__(self, parent: _ScopeNames | None, node: ast.AST) -> None:
        self.parent = parent
        self.node = node
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_comprehension = isinstance(node, COMPREHENSIONS)
        self.bound: dict[str, list[ast.expr | str | None]] = {}
        self.types: dict[str, str | None] = {}
        #: Expressions evaluated in the scope itself.
        self.expressions: list[ast.expr] = []

    def bind(self, name: str, what: ast.expr | str | None) -> None:
        self.bound.setdefault(name, []).append(what)


class _Collector:
    """Walks a program once and notes which scope binds what to which name."""

    def __init__(self, taken: frozenset[str]) -> None:
        self.taken = taken
        self.scopes: list[_ScopeNames] = []
        self.imports_all = False
        self._known_targets: set[ast.AST] = set()
        self._handlers: dict[type, Callable[[ast.AST, _ScopeNames], bool]] = {
            **dict.fromkeys(_FUNCTIONS, self._function),
            ast.ClassDef: self._class,
            **dict.fromkeys(COMPREHENSIONS, self._comprehension),
            ast.Assign: self._assignment,
            ast.AnnAssign: self._assignment,
            ast.AugAssign: self._augmented,
            ast.For: self._loop,
            ast.AsyncFor: self._loop,
            ast.NamedExpr: self._walrus,
            ast.Global: self._shared,
            ast.Nonlocal: self._shared,
        }

    def collect(self, tree: ast.Module) -> _ScopeNames:
        top = _ScopeNames(None, tree)
        self.scopes.append(top)
        self._all(tree.body, top)
        return top

    def _all(self, nodes: Iterable[ast.AST], scope: _ScopeNames) -> None:
        for node in nodes:
            self._node(node, scope)

    def _node(self, node: ast.AST, scope: _ScopeNames) -> None:
        handler = self._handlers.get(type(node))
        if isinstance(node, ast.expr):
            scope.expressions.append(node)
        if handler is not None and handler(node, scope):
            return
        if node not in self._known_targets:
            for name in bound_by(node):
                scope.bind(name, None)
                self.imports_all = self.imports_all or name == "*"
        self._all(ast.iter_child_nodes(node), scope)

    # Each handler returns whether it has walked the node's children itself.

    def _function(self, node: ast.AST, scope: _ScopeNames) -> bool:
        assert isinstance(node, _FUNCTIONS)
        if not isinstance(node, ast.Lambda):
            scope.bind(node.name, None)
            self._all(node.decorator_list, scope)
        inner = _ScopeNames(scope, node)
        self.scopes.append(inner)
        self._all([*node.args.defaults, *(d for d in node.args.kw_defaults if d)], scope)
        for argument in all_arguments(node.args):
            inner.bind(argument.arg, None)
        self._all(node.body if isinstance(node.body, list) else [node.body], inner)
        return True

    def _class(self, node: ast.AST, scope: _ScopeNames) -> bool:
        assert isinstance(node, ast.ClassDef)
        scope.bind(node.name, None)
        self._all(node.decorator_list, scope)
        inner = _ScopeNames(scope, node)
        self.scopes.append(inner)
        self._all([*node.bases, *node.keywords], scope)
        self._all(node.body, inner)
        return True

    def _comprehension(self, node: ast.AST, scope: _ScopeNames) -> bool:
        assert isinstance(node, COMPREHENSIONS)
        inner = _ScopeNames(scope, node)
        self.scopes.append(inner)
        for position, generator in enumerate(node.generators):
            self._node(generator.iter, inner if position else scope)
            self._target(generator.target, self._element(generator.iter), inner)
            self._all(generator.ifs, inner)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._all(parts, inner)
        return True

    def _assignment(self, node: ast.AST, scope: _ScopeNames) -> bool:
        assert isinstance(node, (ast.Assign, ast.AnnAssign))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            for target in targets:
                self._target(target, node.value, scope)
        return False

    def _augmented(self, node: ast.AST, scope: _ScopeNames) -> bool:
        assert isinstance(node, ast.AugAssign)
        if isinstance(node.target, ast.Name):
            read = ast.Name(id=node.target.id, ctx=ast.Load())
            self._target(node.target, ast.BinOp(left=read, op=node.op, right=node.value), scope)
        return False

    def _loop(self, node: ast.AST, scope: _ScopeNames) -> bool:
        element = self._element(node.iter) if isinstance(node, ast.For) else None
        self._target(node.target, element, scope)  # type: ignore[attr-defined]
        return False

    def _walrus(self, node: ast.AST, scope: _ScopeNames) -> bool:
        assert isinstance(node, ast.NamedExpr)
        holder = scope
        while holder.is_comprehension and holder.parent is not None:
            holder = holder.parent
        self._target(node.target, node.value, holder)
        return False

    def _shared(self, node: ast.AST, scope: _ScopeNames) -> bool:
        # Another scope's variable: its type is given up wherever it lives.
        holder: _ScopeNames | None = scope
        while holder is not None:
            for name in node.names:  # type: ignore[attr-defined]
                holder.bind(name, None)
            holder = holder.parent
        return True

    def _target(self, target: ast.expr, value: ast.expr | str | None, scope: _ScopeNames) -> None:
        if isinstance(target, ast.Name):
            self._known_targets.add(target)
            scope.bind(target.id, None if value == _PAIRS else value)
        elif isinstance(target, ast.Starred):
            self._target(target.value, None, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one, part in zip(target.elts, self._parts(target, value), strict=True):
                self._target(one, part, scope)

    @staticmethod
    def _parts(
        target: ast.Tuple | ast.List, value: ast.expr | str | None
    ) -> list[ast.expr | str | None]:
        """Match the parts of an unpacked value with its targets."""
        count = len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == count:
            starred = (isinstance(e, ast.Starred) for e in (*target.elts, *value.elts))
            if not any(starred):
                return list(value.elts)
        if value == _PAIRS and count == 2 and not isinstance(target.elts[0], ast.Starred):
            return [INTEGER, None]
        return [None] * count

    def _element(self, source: ast.expr) -> str | None:
        """Infer what a loop over ``source`` binds."""
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
            if source.func.id == "range" and "range" not in self.taken:
                return INTEGER
            counted = source.func.id == "enumerate" and "enumerate" not in self.taken
            if counted and len(source.args) == 1 and not source.keywords:
                return _PAIRS
        return None


class _Solver:
    """Finds the least types that agree with all bindings."""

    def __init__(self, taken: frozenset[str], scopes: list[_ScopeNames]) -> None:
        self._taken = taken
        self._scopes = scopes

    def solve(self) -> None:
        open_names: list[tuple[_ScopeNames, str]] = []
        for scope in self._scopes:
            for name, bound in scope.bound.items():
                if scope.is_class or None in bound:
                    scope.types[name] = None
                else:
                    scope.types[name] = _UNKNOWN_YET
                    open_names.append((scope, name))
        changed = True
        while changed:
            changed = False
            for scope, name in open_names:
                old = scope.types[name]
                if old is None:
                    continue
                new: str | None = old  # only ever up the lattice, so the loop ends
                for what in scope.bound[name]:
                    found = what if not isinstance(what, ast.AST) else self.type_of(what, scope)
                    new = _join(new, found)
                if new != old:
                    scope.types[name] = new
                    changed = True

    def _lookup(self, name: str, scope: _ScopeNames) -> str | None:
        holder: _ScopeNames | None = scope
        first = True
        while holder is not None:
            # A class's names are not seen from the functions in it.
            if name in holder.bound and (first or not holder.is_class):
                return holder.types.get(name)
            first = first and holder.is_comprehension
            holder = holder.parent
        return None

    def type_of(self, node: ast.AST, scope: _ScopeNames) -> str | None:
        kind = type(node)
        if kind is ast.Name:
            return self._lookup(node.id, scope)  # type: ignore[attr-defined]
        if kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            if type(value) in (int, bool):
                return INTEGER
            return FLOAT if type(value) is float else None
        if kind is ast.BinOp:
            return self._arithmetic(node, scope)  # type: ignore[arg-type]
        if kind is ast.Call:
            return self._called(node, scope)  # type: ignore[arg-type]
        if kind is ast.NamedExpr:
            return self.type_of(node.value, scope)  # type: ignore[attr-defined]
        return self._logical(node, scope)

    def _logical(self, node: ast.AST, scope: _ScopeNames) -> str | None:
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return INTEGER
            found = self.type_of(node.operand, scope)
            inverted = isinstance(node.op, ast.Invert) and found not in (_UNKNOWN_YET, INTEGER)
            return None if inverted else found
        if isinstance(node, ast.IfExp):
            return _join(self.type_of(node.body, scope), self.type_of(node.orelse, scope))
        if isinstance(node, ast.BoolOp):
            result: str | None = _UNKNOWN_YET
            for value in node.values:
                result = _join(result, self.type_of(value, scope))
            return result
        if isinstance(node, ast.Compare):
            simple = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            return INTEGER if len(node.ops) == 1 and isinstance(node.ops[0], simple) else None
        return None

    def _called(self, node: ast.Call, scope: _ScopeNames) -> str | None:
        if not isinstance(node.func, ast.Name) or node.func.id in self._taken or node.keywords:
            return None
        name = node.func.id
        if name in _RESULTS:
            return _RESULTS[name]
        if name in _ALIKE and len(node.args) >= (1 if name == "abs" else 2):
            result: str | None = _UNKNOWN_YET
            for argument in node.args:
                starred = isinstance(argument, ast.Starred)
                result = _join(result, None if starred else self.type_of(argument, scope))
            return result
        return None

    def _arithmetic(self, node: ast.BinOp, scope: _ScopeNames) -> str | None:
        left, right = self.type_of(node.left, scope), self.type_of(node.right, scope)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow):
            exponent = node.right
            whole = isinstance(exponent, ast.Constant) and type(exponent.value) is int
            return left if whole and exponent.value >= 0 else None  # type: ignore[attr-defined]
        if isinstance(node.op, _BITWISE):
            return INTEGER if {left, right} <= {INTEGER, _UNKNOWN_YET} else None
        if isinstance(node.op, ast.Div):
            return FLOAT
        if isinstance(node.op, _ARITHMETIC):
            return FLOAT if FLOAT in (left, right) else _join(left, right)
        return None

    def results(self) -> Iterator[tuple[ast.expr, str]]:
        for scope in self._scopes:
            for node in scope.expressions:
                found = self.type_of(node, scope)
                if found:
                    yield node, found


def infer_numeric_types(
    tree: ast.Module, taken: frozenset[str], trust_globals: bool
) -> tuple[dict[ast.AST, str], frozenset[str]]:
    """Infer which expressions of ``tree`` can only be numbers.

    Args:
        tree: the program.
        taken: names of builtins that something else may stand behind.
        trust_globals: whether variables of the top level are inferred, too.

    Returns:
        The type of each expression that has one, and the globals that were assumed to be numbers:
        the result holds only if the state has nothing but numbers under these names.
    """
    taken = taken | {
        name
        for node in ast.walk(tree)
        for name in ((node.arg,) if isinstance(node, ast.arg) else bound_by(node))
        if name in ASSUMED_BUILTINS
    }
    collector = _Collector(taken)
    top = collector.collect(tree)
    if collector.imports_all or not trust_globals:
        for name in top.bound:
            top.bind(name, None)
    solver = _Solver(taken, collector.scopes)
    solver.solve()
    assumed = frozenset(name for name, found in top.types.items() if found)
    return dict(solver.results()), assumed
