"""Rewrites of the operators whose result can be far larger than their operands.

Python's own operator runs whenever the operands' types say that nothing can grow; the hidden names
``@mul``, ``@power``, ``@shift``, ``@modulo``, ``@grown`` and ``@large`` are the guards that decide
in all other cases. The tests are written out inline, because a call costs as much as ten of them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from .build import call, const, is_type, load, place, walrus
from .kinds import FLOAT, kind_of
from .scopes import Scope

__all__ = [
    "DIGIT",
    "between",
    "binary",
    "is_charged",
    "is_float",
    "is_kind",
    "is_number",
    "is_text",
    "may_rebind",
    "never_sequence",
    "temporary",
    "ungrown",
]

_GUARDS = {ast.Mult: "@mul", ast.Pow: "@power", ast.LShift: "@shift", ast.Mod: "@modulo"}


def is_number(node: ast.expr) -> bool:
    """Whether an expression can only be an integer or a float."""
    return kind_of(node) is not None


def is_float(node: ast.expr) -> bool:
    """Whether arithmetic with this operand can only give a float or an error."""
    return kind_of(node) == FLOAT


def _copy(node: ast.expr) -> ast.expr:
    """A second read of a name or a constant."""
    if isinstance(node, ast.Name):
        return load(node.id)
    assert isinstance(node, ast.Constant)
    return const(node.value)


def is_kind(name: str, kind: str) -> ast.expr:
    return ast.Compare(left=load(name), ops=[ast.Is()], comparators=[load(kind)])


def never_sequence(node: ast.expr) -> bool:
    """Whether a value can have no ``+`` or ``*`` of a built-in sequence."""
    return kind_of(node) is not None or getattr(node, "never_sequence", False)


def binary(node: ast.BinOp, scope: Scope) -> ast.expr:
    """``node``, its operands rewritten already, with its result guarded if it can grow."""
    left, right = never_sequence(node.left), never_sequence(node.right)
    if isinstance(node.op, ast.Add):
        plain = left or right
    elif isinstance(node.op, ast.Mult):
        plain = left and right
    elif isinstance(node.op, ast.Mod):
        plain = left
    else:
        plain = True
    kind = kind_of(node)
    result = _guarded(node, scope)
    result.never_sequence = plain  # type: ignore[attr-defined]
    result.kind_found = kind  # type: ignore[attr-defined]
    return result


def _guarded(node: ast.BinOp, scope: Scope) -> ast.expr:
    left, right = node.left, node.right
    if isinstance(node.op, ast.Add):
        return _addition(node, scope)
    if type(node.op) not in _GUARDS:
        return node
    if isinstance(node.op, ast.Mult) and (is_float(left) or is_float(right)):
        return node
    if isinstance(node.op, ast.Mod) and never_sequence(left):
        return node
    if isinstance(node.op, ast.Pow) and is_float(left) and is_number(right):
        return node
    if not scope.walrus or isinstance(node.op, ast.LShift):
        return place(call(_GUARDS[type(node.op)], left, right), node)
    if isinstance(node.op, ast.Pow):
        return _power(node, scope)
    if isinstance(node.op, ast.Mod):
        return _modulo(node, scope)
    if is_number(left) and is_number(right):
        return place(_small_or_large(node, scope), node)
    product = _product(node, scope)
    product.charged = True  # type: ignore[attr-defined]
    return product


def is_charged(node: ast.expr) -> bool:
    """Whether a sequence this may give has been counted by its length, so that adding it may go by.

    So it is with products: two numbers on the inline road, anything else through the guard.
    """
    return getattr(node, "charged", False)


#: Largest integer that CPython compares without looking at more than one digit.
DIGIT = (1 << 30) - 1
_WORD = 1 << 64
#: Operands of sums in a row that are looked at together.
_LONGEST_CHAIN = 8
#: Nodes of an expression that may be written three times.
_SHORT_CODE = 12


def between(value: ast.expr, least: ast.expr, most: int) -> ast.expr:
    return ast.Compare(left=least, ops=[ast.Lt(), ast.Lt()], comparators=[value, const(most)])


def _small_or_large(operation: ast.expr, scope: Scope) -> ast.expr:
    """A number, compared with 2**30 first, which costs CPython least, then with 2**64."""
    name = temporary(scope)
    larger = ast.IfExp(
        test=between(load(name), const(-_WORD), _WORD),
        body=load(name),
        orelse=call("@large", load(name)),
    )
    test = between(walrus(name, operation), const(-DIGIT), DIGIT)
    return ast.IfExp(test=test, body=load(name), orelse=larger)


def temporary(scope: Scope) -> str:
    return f"@{next(scope.temporaries)}"


def may_rebind(node: ast.expr) -> bool:
    """Whether evaluating ``node`` may give another value to a name read before it."""
    kinds = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(inner, kinds) for inner in ast.walk(node))


def _kept(node: ast.expr, scope: Scope, keep: bool = False) -> tuple[ast.expr, str | None]:
    """An expression that evaluates ``node``, and the hidden name to read it again by, if any."""
    if isinstance(node, (ast.Name, ast.Constant)) and not keep:
        return node, None
    name = temporary(scope)
    return walrus(name, node), name


def _again(node: ast.expr, name: str | None) -> ast.expr:
    return _copy(node) if name is None else load(name)


def _dropped(*names: str | None) -> list[ast.expr]:
    """Arguments for a guard after those it takes: they forget what hidden names held, so that an
    object lives no longer than in Python. Numbers and short texts, which no guard sees, may stay.
    """
    return [walrus(name, const(None)) for name in names if name is not None]


def _product(node: ast.BinOp, scope: Scope) -> ast.expr:
    """A float times anything, or two integers with a small product, run as they are."""
    left, right = node.left, node.right
    sequences = (ast.List, ast.Tuple, ast.ListComp, ast.JoinedStr)
    if any(
        isinstance(side, sequences) or (isinstance(side, ast.Constant) and not is_number(side))
        for side in (left, right)
    ):
        return place(call("@mul", left, right), node)
    first, left_name = _kept(left, scope, keep=may_rebind(right))
    second, right_name = _kept(right, scope)
    kind = temporary(scope)

    def multiply() -> ast.expr:
        return ast.BinOp(_again(left, left_name), ast.Mult(), _again(right, right_name))

    def decide() -> ast.expr:
        both = _dropped(left_name, right_name)
        return call("@mul", _again(left, left_name), _again(right, right_name), *both)

    if (is_number(right) and right_name is None) or is_number(left):
        # One type to look at: that of the side that is not a number for certain.
        unknown = second if is_number(left) else first
        if unknown is second and left_name is not None:
            return place(call("@mul", left, right), node)
        test: ast.expr = ast.Compare(
            left=walrus(kind, call("@type", unknown)), ops=[ast.Is()], comparators=[load("@float")]
        )
        whole = ast.IfExp(
            test=is_kind(kind, "@int"), body=_small_or_large(multiply(), scope), orelse=decide()
        )
        return place(ast.IfExp(test=test, body=multiply(), orelse=whole), node)
    if right_name is not None and sum(1 for _ in ast.walk(right)) > _SHORT_CODE:
        # Evaluates the left side, then the right, each once, before anything is decided.
        same = ast.Compare(
            left=walrus(kind, call("@type", first)),
            ops=[ast.Is()],
            comparators=[call("@type", second)],
        )
        other = ast.IfExp(test=is_kind(kind, "@float"), body=multiply(), orelse=decide())
        by_kind = ast.IfExp(
            test=is_kind(kind, "@int"), body=_small_or_large(multiply(), scope), orelse=other
        )
        return place(ast.IfExp(test=same, body=by_kind, orelse=decide()), node)

    # The right side is written once a branch, so that each evaluates it once.
    def first_again() -> ast.expr:
        return _again(left, left_name)

    two_integers = ast.IfExp(
        test=is_type(second, "@int"), body=_small_or_large(multiply(), scope), orelse=decide()
    )
    fraction = ast.IfExp(
        test=is_type(first_again(), "@float"),
        body=ast.BinOp(first_again(), ast.Mult(), right),
        orelse=call("@mul", first_again(), right, *_dropped(left_name)),
    )
    return place(ast.IfExp(is_type(first, "@int"), two_integers, fraction), node)


def _power(node: ast.BinOp, scope: Scope) -> ast.expr:
    right = node.right
    if not isinstance(right, ast.Constant) or type(right.value) not in (int, float):
        return place(call("@power", node.left, right), node)
    few = type(right.value) is int and 0 <= right.value <= 4
    if few and is_number(node.left):
        return place(_small_or_large(node, scope), node)
    first, name = _kept(node.left, scope)
    kind = temporary(scope)

    def raised() -> ast.expr:
        return ast.BinOp(left=_again(node.left, name), op=ast.Pow(), right=_copy(right))

    decide: ast.expr = call("@power", _again(node.left, name), _copy(right), *_dropped(name))
    if few:
        small = _small_or_large(raised(), scope)
        decide = ast.IfExp(test=is_kind(kind, "@int"), body=small, orelse=decide)
    test = ast.Compare(
        left=walrus(kind, call("@type", first)), ops=[ast.Is()], comparators=[load("@float")]
    )
    return place(ast.IfExp(test=test, body=raised(), orelse=decide), node)


def _modulo(node: ast.BinOp, scope: Scope) -> ast.expr:
    """Only a string on the left formats; an integer only divides."""
    left, right = node.left, node.right
    if isinstance(left, ast.Constant) or not isinstance(
        right, (ast.Name, ast.Constant, ast.Attribute, ast.Subscript)
    ):
        return place(call("@modulo", left, right), node)
    first, name = _kept(left, scope)
    divide = ast.BinOp(left=_again(left, name), op=ast.Mod(), right=right)
    decide = call("@modulo", _again(left, name), copy.deepcopy(right), *_dropped(name))
    return place(ast.IfExp(test=is_type(first, "@int"), body=divide, orelse=decide), node)


def ungrown(kind: ast.expr, name: str, value: Callable[[], ast.expr], bound: str) -> ast.expr:
    """A test that is true of numbers, and of strings and lists shorter than ``bound``."""
    integer = ast.Compare(left=walrus(name, kind), ops=[ast.Is()], comparators=[load("@int")])
    short = ast.Compare(left=call("@len", value()), ops=[ast.Lt()], comparators=[load(bound)])
    sized = ast.BoolOp(op=ast.Or(), values=[is_kind(name, "@str"), is_kind(name, "@list")])
    both = ast.BoolOp(op=ast.And(), values=[sized, short])
    return ast.BoolOp(op=ast.Or(), values=[integer, is_kind(name, "@float"), both])


def _addition(node: ast.BinOp, scope: Scope) -> ast.expr:
    if never_sequence(node.left) or never_sequence(node.right) or is_charged(node.right):
        return node  # no concatenation, so nothing grows
    if not scope.walrus:
        return place(call("@grown", node), node)
    # Of a chain of sums the last is looked at: few operands, each within the limits.
    terms: int = getattr(node.left, "terms", 1) + 1
    if 2 < terms <= _LONGEST_CHAIN:
        node.left = node.left.unguarded  # type: ignore[attr-defined]
    else:
        terms = 2
    result, name = temporary(scope), temporary(scope)
    kind = call("@type", walrus(result, node))
    if is_text(node.left) or is_text(node.right):
        string = ast.Compare(left=kind, ops=[ast.Is()], comparators=[load("@str")])
        short = ast.Compare(
            left=call("@len", load(result)), ops=[ast.Lt()], comparators=[load("@short")]
        )
        test: ast.expr = ast.BoolOp(op=ast.And(), values=[string, short])
    else:
        test = ungrown(kind, name, lambda: load(result), "@short")
    seen = call("@grown", load(result), *_dropped(result))
    guarded = ast.IfExp(test=test, body=load(result), orelse=seen)
    guarded.unguarded, guarded.terms = node, terms  # type: ignore[attr-defined]
    return place(guarded, node)


def is_text(node: ast.expr) -> bool:
    """Whether a value is a string in all likelihood: decides the order of tests only."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id == "str"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
