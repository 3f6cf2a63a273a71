"""Which expressions can only be numbers, so that their arithmetic needs no guard.

A fixpoint over the assignments of each scope: a variable is numeric when everything ever bound to
it is, supposing the others are. Wrong guesses would be holes, so only what is certain counts:
locals that no other scope binds, and globals of which :func:`annotate` reports that the run must
check that the state holds no other value when it starts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["FLOAT", "INTEGER", "NUMBER", "SUPPOSED_BUILTINS", "annotate", "kind_of"]

FLOAT, INTEGER, NUMBER = "float", "integer", "number"

#: Builtins whose result is a number whatever they are given, if nobody has taken their name.
_RESULTS = {"len": INTEGER, "ord": INTEGER, "float": FLOAT, "int": INTEGER}
#: Builtins whose result is as numeric as all their arguments.
_ALIKE = frozenset({"abs", "min", "max"})
#: All builtins whose name is taken to mean what it means in Python.
SUPPOSED_BUILTINS = frozenset({*_RESULTS, *_ALIKE, "range", "enumerate"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _note(node: ast.AST, kind: str | None) -> None:
    node.kind_found = kind  # type: ignore[attr-defined]


def kind_of(node: ast.AST) -> str | None:
    """The kind :func:`annotate` found for an expression; ``None`` when it may be anything."""
    return getattr(node, "kind_found", None)


class _Names:
    """Bindings of one scope: for each name what is bound to it, ``None`` for anything."""

    def __init__(self, parent: _Names | None, node: ast.AST) -> None:
        self.parent = parent
        self.node = node
        self.bound: dict[str, list[ast.expr | str | None]] = {}
        self.kinds: dict[str, str | None] = {}
        self.outer: set[str] = set()

    def bind(self, name: str, what: ast.expr | str | None) -> None:
        self.bound.setdefault(name, []).append(what)


class _Collector:
    def __init__(self, taken: frozenset[str]) -> None:
        self.taken = taken
        self.scopes: dict[ast.AST, _Names] = {}
        self.star = False

    # -- which scope binds what --

    def collect(self, tree: ast.Module) -> None:
        top = _Names(None, tree)
        self.scopes[tree] = top
        self.body(tree.body, top)

    def body(self, nodes: Iterable[ast.AST], scope: _Names) -> None:
        for node in nodes:
            self.node(node, scope)

    def node(self, node: ast.AST, scope: _Names) -> None:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            self._nested(node, scope)
            return
        if isinstance(node, _COMPREHENSIONS):
            inner = _Names(scope, node)
            self.scopes[node] = inner
            for position, generator in enumerate(node.generators):
                self.node(generator.iter, inner if position else scope)
                self.target(generator.target, self._element(generator.iter), inner)
                self.body(generator.ifs, inner)
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            self.body(parts, inner)
            return
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if node.value is not None:
                    self.target(target, node.value, scope)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                read = ast.Name(id=node.target.id, ctx=ast.Load())
                whole = ast.BinOp(left=read, op=node.op, right=node.value)
                node.whole = whole  # type: ignore[attr-defined]
                self.target(node.target, whole, scope)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            element = self._element(node.iter) if isinstance(node, ast.For) else None
            self.target(node.target, element, scope)
        elif isinstance(node, ast.NamedExpr):
            holder = scope
            while isinstance(holder.node, _COMPREHENSIONS) and holder.parent is not None:
                holder = holder.parent
            self.target(node.target, node.value, holder)
        else:
            self._other(node, scope)
        self.body(ast.iter_child_nodes(node), scope)

    def _nested(self, node: ast.AST, scope: _Names) -> None:
        if not isinstance(node, ast.Lambda):
            scope.bind(node.name, None)  # type: ignore[attr-defined]
            self.body(node.decorator_list, scope)  # type: ignore[attr-defined]
        inner = _Names(scope, node)
        self.scopes[node] = inner
        if isinstance(node, ast.ClassDef):
            self.body([*node.bases, *node.keywords], scope)
            self.body(node.body, inner)
            return
        assert isinstance(node, _FUNCTIONS)
        arguments = node.args
        self.body([*arguments.defaults, *(d for d in arguments.kw_defaults if d)], scope)
        for argument in ast.walk(arguments):
            if isinstance(argument, ast.arg):
                inner.bind(argument.arg, None)
        self.body(node.body if isinstance(node.body, list) else [node.body], inner)

    def _other(self, node: ast.AST, scope: _Names) -> None:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            # Another scope's variable: give up on it wherever it lives.
            holder: _Names | None = scope
            while holder is not None:
                for name in node.names:
                    holder.bind(name, None)
                holder = holder.parent
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self.star = self.star or alias.name == "*"
                scope.bind(alias.asname or alias.name.split(".")[0], None)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            if not getattr(node, "target_known", False):
                scope.bind(node.id, None)
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            scope.bind(node.name, None)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            scope.bind(node.rest, None)

    def target(self, target: ast.expr, value: ast.expr | str | None, scope: _Names) -> None:
        if isinstance(target, ast.Name):
            target.target_known = True  # type: ignore[attr-defined]
            scope.bind(target.id, value)
        elif (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(target.elts) == len(value.elts)
            and not any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts))
        ):
            for one, part in zip(target.elts, value.elts, strict=True):
                self.target(one, part, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            counted = value == "enumerated" and len(target.elts) == 2
            for position, one in enumerate(target.elts):
                self.target(one, INTEGER if counted and position == 0 else None, scope)
        elif isinstance(target, ast.Starred):
            self.target(target.value, None, scope)

    def _element(self, source: ast.expr) -> str | None:
        """What a loop over ``source`` binds."""
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
            if source.func.id == "range" and "range" not in self.taken:
                return INTEGER
            counted = source.func.id == "enumerate" and "enumerate" not in self.taken
            if counted and len(source.args) == 1 and not source.keywords:
                return "enumerated"
        return None

    # -- the fixpoint --

    def solve(self) -> None:
        for scope in self.scopes.values():
            usable = not isinstance(scope.node, ast.ClassDef)
            for name, bound in scope.bound.items():
                numeric = usable and None not in bound and "enumerated" not in bound
                scope.kinds[name] = "" if numeric else None  # "": nothing known against it yet
        changed = True
        while changed:
            changed = False
            for scope in self.scopes.values():
                for name, kind in scope.kinds.items():
                    if kind is None:
                        continue
                    new = self._joined(scope, name)
                    if new != kind:
                        scope.kinds[name] = new
                        changed = True

    def _joined(self, scope: _Names, name: str) -> str | None:
        result: str | None = ""
        for bound in scope.bound[name]:
            kind = bound if isinstance(bound, str) or bound is None else self.kind(bound, scope)
            result = _join(result, kind)
        # Only ever up: "" < float, integer < number < None, so that the loop ends.
        return _join(scope.kinds[name], result)

    def lookup(self, name: str, scope: _Names) -> str | None:
        holder: _Names | None = scope
        first = True
        while holder is not None:
            # A class's names are not seen from the functions in it.
            if name in holder.bound and (first or not isinstance(holder.node, ast.ClassDef)):
                return holder.kinds.get(name)
            first = first and isinstance(holder.node, _COMPREHENSIONS)
            holder = holder.parent
        return None

    def kind(self, node: ast.AST, scope: _Names) -> str | None:
        if isinstance(node, ast.Constant):
            if type(node.value) in (int, bool):
                return INTEGER
            return FLOAT if type(node.value) is float else None
        if isinstance(node, ast.Name):
            return self.lookup(node.id, scope)
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node, scope)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return INTEGER
            kind = self.kind(node.operand, scope)
            return (
                (kind if kind in ("", INTEGER) else None)
                if isinstance(node.op, ast.Invert)
                else kind
            )
        if isinstance(node, ast.IfExp):
            return _join(self.kind(node.body, scope), self.kind(node.orelse, scope))
        if isinstance(node, ast.BoolOp):
            result: str | None = ""
            for value in node.values:
                result = _join(result, self.kind(value, scope))
            return result
        if isinstance(node, ast.Compare):
            simple = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            return INTEGER if len(node.ops) == 1 and isinstance(node.ops[0], simple) else None
        if isinstance(node, ast.NamedExpr):
            return self.kind(node.value, scope)
        if isinstance(node, ast.Call):
            return self._called(node, scope)
        return None

    def _called(self, node: ast.Call, scope: _Names) -> str | None:
        if not isinstance(node.func, ast.Name) or node.func.id in self.taken or node.keywords:
            return None
        name = node.func.id
        if name in _RESULTS:
            return _RESULTS[name]
        if name in _ALIKE and len(node.args) >= (1 if name == "abs" else 2):
            result: str | None = ""
            for argument in node.args:
                starred = isinstance(argument, ast.Starred)
                result = _join(result, None if starred else self.kind(argument, scope))
            return result
        return None

    def _arithmetic(self, node: ast.BinOp, scope: _Names) -> str | None:
        left, right = self.kind(node.left, scope), self.kind(node.right, scope)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Pow):
            exponent = node.right
            whole = isinstance(exponent, ast.Constant) and type(exponent.value) is int
            return left if whole and exponent.value >= 0 else None  # type: ignore[attr-defined]
        if isinstance(node.op, (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)):
            return INTEGER if {left, right} <= {INTEGER, ""} else None
        if isinstance(node.op, ast.Div):
            return FLOAT
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)):
            if FLOAT in (left, right):
                return FLOAT
            return _join(left, right)
        return None

    # -- results --

    def mark(self) -> None:
        for scope_node, scope in self.scopes.items():
            for node in _own_nodes(scope_node):
                if isinstance(node, ast.expr):
                    found = self.kind(node, scope)
                    if found:
                        node.kind_found = found  # type: ignore[attr-defined]
                whole = getattr(node, "whole", None)
                if whole is not None and isinstance(node, ast.AugAssign):
                    _note(node.target, self.kind(node.target, scope))
                    _note(node.value, self.kind(node.value, scope))


def _own_nodes(scope_node: ast.AST) -> Iterator[ast.AST]:
    """Nodes evaluated in a scope itself."""
    if isinstance(scope_node, _COMPREHENSIONS):
        parts: list[ast.AST] = [
            *(
                [scope_node.key, scope_node.value]
                if isinstance(scope_node, ast.DictComp)
                else [scope_node.elt]
            ),
            *(test for g in scope_node.generators for test in g.ifs),
            *(g.iter for g in scope_node.generators[1:]),
        ]
    elif isinstance(scope_node, ast.Lambda):
        parts = [scope_node.body]
    else:
        parts = list(scope_node.body)  # type: ignore[attr-defined]
    stack = parts
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            stack.extend([*node.decorator_list, *node.args.defaults])
        elif isinstance(node, ast.ClassDef):
            stack.extend([*node.decorator_list, *node.bases])
        elif isinstance(node, ast.Lambda):
            stack.extend(node.args.defaults)
        elif isinstance(node, _COMPREHENSIONS):
            stack.append(node.generators[0].iter)
        else:
            stack.extend(ast.iter_child_nodes(node))


def _join(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return None
    if one == "" or one == other:
        return other
    return one if other == "" else NUMBER


def annotate(tree: ast.Module, taken: frozenset[str]) -> frozenset[str]:
    """Note on every expression of ``tree`` what :func:`kind_of` is to say of it.

    Args:
        tree: the program.
        taken: builtin names that something else may stand behind.

    Returns:
        Globals that were supposed to be numbers: it holds only if the state holds nothing but
        integers and floats under these names when the program starts.
    """
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    }
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    bound |= {
        n.name
        for n in ast.walk(tree)
        if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
    }
    bound |= {
        (a.asname or a.name)
        for n in ast.walk(tree)
        if isinstance(n, (ast.Import, ast.ImportFrom))
        for a in n.names
    }
    collector = _Collector(taken | bound)
    collector.collect(tree)
    if collector.star:
        top = collector.scopes[tree]
        for name in top.bound:
            top.bind(name, None)
    if "*" in taken:
        # The state contradicts what was supposed last time: suppose nothing about globals.
        top = collector.scopes[tree]
        for name in top.bound:
            top.bind(name, None)
    collector.solve()
    collector.mark()
    return frozenset(name for name, kind in collector.scopes[tree].kinds.items() if kind)
