"""Inference of expressions that can only be numbers, whose arithmetic needs no guard.

A fixpoint over the assignments of each scope: a variable is numeric when everything ever bound to
it is, supposing the others are. Only what is certain counts: locals that no other scope binds, and
globals, which the run checks in its state before it starts. A type is ``FLOAT``, ``INTEGER``,
``NUMBER`` (one of them) or the bits that an integer has at most.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from .costs import COMPREHENSIONS
from .scopes import BINDING_NODES, all_arguments, bound_by

__all__ = ["ASSUMED_BUILTINS", "FLOAT", "NumericType", "infer_numeric_types", "is_word"]

NumericType = str | int

FLOAT, INTEGER, NUMBER = "float", "integer", "number"
#: Nothing is known against a variable yet: the bottom of the lattice.
_UNKNOWN_YET = ""
#: The pairs that ``enumerate`` gives.
_PAIRS = "pairs"
#: Bits of what a constant, a length or a global of an earlier run has at most.
WORD = 64
#: Integers of more bits count as unbounded.
_MOST_BITS = 512
#: Bits that a variable gains by additions to itself: it takes years to do more of them.
_SUMMED = 41
#: Rounds of the fixpoint after which an integer that still grows counts as unbounded.
_ROUNDS = 8

#: Builtins whose result is a number whatever they are given, unless their name is taken.
_RESULTS: dict[str, NumericType] = {"len": WORD, "ord": WORD, "float": FLOAT, "int": INTEGER}
#: Builtins whose result is as numeric as all their arguments.
_ALIKE = frozenset({"abs", "min", "max"})
#: Every builtin whose name is taken to mean what it means in Python.
ASSUMED_BUILTINS = frozenset({*_RESULTS, *_ALIKE, "range", "enumerate"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BITWISE = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


#: Bits of the result, from those of two integers.
_BITS: dict[type[ast.operator], Callable[[int, int], int]] = {
    **dict.fromkeys(
        (ast.Add, ast.Sub, ast.BitAnd, ast.BitOr, ast.BitXor), lambda a, b: max(a, b) + 1
    ),
    ast.Mult: lambda a, b: a + b,
    ast.FloorDiv: lambda a, _b: a + 1,
    ast.RShift: lambda a, _b: a,
    ast.Mod: lambda _a, b: b,
}
#: What is bound to a name; a list has the arguments of the range that a loop goes over.
_Bound = ast.expr | list[ast.expr] | NumericType | None


def _join(one: NumericType | None, other: NumericType | None) -> NumericType | None:
    """Join two types; ``None`` is "may be anything"."""
    if one is None or other is None:
        return None
    if one in (_UNKNOWN_YET, other):
        return other
    if other == _UNKNOWN_YET:
        return one
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return NUMBER if FLOAT in (one, other) or NUMBER in (one, other) else INTEGER


def is_word(value: object) -> bool:
    """Tell whether a global may be assumed to be a number."""
    kind = type(value)
    if kind is int:
        return -(1 << WORD) < value < 1 << WORD  # type: ignore[operator]
    return kind is float or kind is bool


def _bits(most: int) -> NumericType:
    """Give the type of integers of at most ``most`` bits."""
    return most if most <= _MOST_BITS else INTEGER


class _ScopeNames:
    """Bindings of one scope: for each name what is bound to it, ``None`` for anything."""

    def __init__(self, parent: _ScopeNames | None, node: ast.AST) -> None:
        self.parent = parent
        self.node = node
        self.is_class = isinstance(node, ast.ClassDef)
        self.is_comprehension = isinstance(node, COMPREHENSIONS)
        self.bound: dict[str, list[_Bound]] = {}
        self.types: dict[str, NumericType | None] = {}
        #: Operators of the scope itself, and their operands.
        self.expressions: list[ast.expr] = []

    def bind(self, name: str, what: _Bound) -> None:
        self.bound.setdefault(name, []).append(what)


class _Collector:
    """Walks a program once and notes which scope binds what to which name."""

    def __init__(self, taken: frozenset[str], below: Mapping[ast.AST, list[ast.AST]]) -> None:
        self.taken = taken
        self._below = below
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
        kind = type(node)
        if isinstance(node, ast.BinOp):
            scope.expressions += (node, node.left, node.right)
        handler = self._handlers.get(kind)
        if handler is not None and handler(node, scope):
            return
        if kind in BINDING_NODES and node not in self._known_targets:
            for name in bound_by(node):
                scope.bind(name, None)
                self.imports_all = self.imports_all or name == "*"
        for child in self._below[node]:
            self._node(child, scope)

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
        scope.expressions += (node.target, node.value)
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

    def _target(self, target: ast.expr, value: _Bound, scope: _ScopeNames) -> None:
        if isinstance(target, ast.Name):
            self._known_targets.add(target)
            scope.bind(target.id, None if value == _PAIRS else value)
        elif isinstance(target, ast.Starred):
            self._target(target.value, None, scope)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for one, part in zip(target.elts, self._parts(target, value), strict=True):
                self._target(one, part, scope)

    @staticmethod
    def _parts(target: ast.Tuple | ast.List, value: _Bound) -> list[_Bound]:
        """Match the parts of an unpacked value with its targets."""
        count = len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == count:
            starred = (isinstance(e, ast.Starred) for e in (*target.elts, *value.elts))
            if not any(starred):
                return list(value.elts)
        if value == _PAIRS and count == 2 and not isinstance(target.elts[0], ast.Starred):
            return [WORD, None]
        return [None] * count

    def _element(self, source: ast.expr) -> _Bound:
        """Infer what a loop over ``source`` binds."""
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
            if source.func.id == "range" and "range" not in self.taken:
                return source.args
            counted = source.func.id == "enumerate" and "enumerate" not in self.taken
            if counted and len(source.args) == 1 and not source.keywords:
                return _PAIRS
        return None


def _whole(node: ast.expr) -> int | None:
    """Give the value of a constant that is a natural number."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int and value >= 0 else None


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
        changed, rounds = True, 0
        while changed:
            changed, rounds = False, rounds + 1
            for scope, name in open_names:
                old = scope.types[name]
                if old is None:
                    continue
                new: NumericType | None = old  # only ever up the lattice, so the loop ends
                for what in scope.bound[name]:
                    new = _join(new, self._bound_type(what, name, scope))
                if rounds > _ROUNDS and isinstance(new, int) and new != old:
                    new = INTEGER
                if new != old:
                    scope.types[name] = new
                    changed = True

    def _bound_type(self, what: _Bound, name: str, scope: _ScopeNames) -> NumericType | None:
        if isinstance(what, list):
            result: NumericType | None = _UNKNOWN_YET
            for argument in what:
                result = _join(result, self.type_of(argument, scope))
            return result if isinstance(result, int) or result == _UNKNOWN_YET else INTEGER
        if not isinstance(what, ast.AST):
            return what
        if isinstance(what, ast.BinOp) and isinstance(what.op, (ast.Add, ast.Sub)):
            left = what.left
            if isinstance(left, ast.Name) and left.id == name:
                added = self.type_of(what.right, scope)
                before = scope.types[name]
                if isinstance(added, int) and (isinstance(before, int) or before == _UNKNOWN_YET):
                    return _bits(added + _SUMMED)
        return self.type_of(what, scope)

    def _lookup(self, name: str, scope: _ScopeNames) -> NumericType | None:
        holder: _ScopeNames | None = scope
        first = True
        while holder is not None:
            # A class's names are not seen from the functions in it.
            if name in holder.bound and (first or not holder.is_class):
                return holder.types.get(name)
            first = first and holder.is_comprehension
            holder = holder.parent
        return None

    def type_of(self, node: ast.AST, scope: _ScopeNames) -> NumericType | None:
        kind = type(node)
        if kind is ast.Name:
            return self._lookup(node.id, scope)  # type: ignore[attr-defined]
        if kind is ast.Constant:
            value = node.value  # type: ignore[attr-defined]
            if isinstance(value, int):
                return _bits(max(WORD, value.bit_length()))
            return FLOAT if type(value) is float else None
        if kind is ast.BinOp:
            return self._arithmetic(node, scope)  # type: ignore[arg-type]
        if kind is ast.Call:
            return self._called(node, scope)  # type: ignore[arg-type]
        if kind is ast.NamedExpr:
            return self.type_of(node.value, scope)  # type: ignore[attr-defined]
        return self._logical(node, scope)

    def _logical(self, node: ast.AST, scope: _ScopeNames) -> NumericType | None:
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return WORD
            found = self.type_of(node.operand, scope)
            if isinstance(node.op, ast.Invert) and found != _UNKNOWN_YET:
                return _bits(found + 1) if isinstance(found, int) else found and INTEGER
            return found
        if isinstance(node, ast.IfExp):
            return _join(self.type_of(node.body, scope), self.type_of(node.orelse, scope))
        if isinstance(node, ast.BoolOp):
            result: NumericType | None = _UNKNOWN_YET
            for value in node.values:
                result = _join(result, self.type_of(value, scope))
            return result
        if isinstance(node, ast.Compare):
            simple = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
            return WORD if len(node.ops) == 1 and isinstance(node.ops[0], simple) else None
        return None

    def _called(self, node: ast.Call, scope: _ScopeNames) -> NumericType | None:
        if not isinstance(node.func, ast.Name) or node.func.id in self._taken or node.keywords:
            return None
        name = node.func.id
        if name in _RESULTS:
            return _RESULTS[name]
        if name in _ALIKE and len(node.args) >= (1 if name == "abs" else 2):
            result: NumericType | None = _UNKNOWN_YET
            for argument in node.args:
                starred = isinstance(argument, ast.Starred)
                result = _join(result, None if starred else self.type_of(argument, scope))
            return result
        return None

    def _arithmetic(self, node: ast.BinOp, scope: _ScopeNames) -> NumericType | None:
        left, right = self.type_of(node.left, scope), self.type_of(node.right, scope)
        if left is None or right is None:
            return None
        if _UNKNOWN_YET in (left, right):
            return _UNKNOWN_YET
        whole = _whole(node.right)
        if isinstance(left, int) and isinstance(right, int):
            if bits := _BITS.get(type(node.op)):
                return _bits(bits(left, right))
            few = whole if whole is not None and whole <= _MOST_BITS else _MOST_BITS + 1
            if isinstance(node.op, ast.LShift):
                return _bits(left + few)
            if isinstance(node.op, ast.Pow) and whole is not None:
                return _bits(max(WORD, left * few))
        if isinstance(node.op, ast.Pow):
            return None if whole is None else INTEGER if isinstance(left, int) else left
        if isinstance(node.op, _BITWISE):
            integers = not {FLOAT, NUMBER} & {left, right}
            return _join(left, right) and INTEGER if integers else None
        if isinstance(node.op, ast.Div):
            return FLOAT
        if isinstance(node.op, _ARITHMETIC):
            if FLOAT in (left, right):
                return FLOAT
            if isinstance(node.op, ast.Mod) and left == INTEGER and isinstance(right, int):
                return right
            joined = _join(left, right)
            return INTEGER if isinstance(joined, int) else joined
        return None

    def results(self) -> Iterator[tuple[ast.expr, NumericType]]:
        for scope in self._scopes:
            for node in scope.expressions:
                found = self.type_of(node, scope)
                if found:
                    yield node, found


def infer_numeric_types(
    tree: ast.Module,
    below: Mapping[ast.AST, list[ast.AST]],
    taken: frozenset[str],
    written: frozenset[str],
    trust_globals: bool,
) -> tuple[dict[ast.AST, NumericType], frozenset[str], dict[ast.AST, dict[str, int]]]:
    """Infer which expressions of ``tree`` can only be numbers.

    Args:
        tree: the program.
        below: its nodes, and the children of each.
        taken: names of builtins that something else may stand behind.
        written: globals that functions of earlier programs may bind.
        trust_globals: whether variables of the top level are inferred, too.

    Returns:
        The type of each operand that has one; the globals that were assumed to be numbers, for it
        holds only if the state has nothing but numbers of a word under these names; and for each
        scope's node the names that are bound there, and how often.
    """
    taken = taken | {
        name
        for node in below
        if type(node) in BINDING_NODES
        and (type(node) is not ast.Name or node.id in ASSUMED_BUILTINS)
        for name in bound_by(node)
        if name in ASSUMED_BUILTINS
    }
    collector = _Collector(taken, below)
    top = collector.collect(tree)
    bound = {
        scope.node: {name: len(values) for name, values in scope.bound.items()}
        for scope in collector.scopes
    }
    for name in top.bound:
        if name in written or collector.imports_all or not trust_globals:
            top.bind(name, None)
    solver = _Solver(taken, collector.scopes)
    solver.solve()
    assumed = frozenset(name for name, found in top.types.items() if found)
    return dict(solver.results()), assumed, bound
