"""Rewrites of the operators whose result can be far larger than their operands.

Python's own operator runs whenever the operands' types say that nothing can grow; a guard decides
in all other cases. The type tests are written out inline, because a call costs as much as ten of
them. Operands are read once, into hidden names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from .ast_builders import (
    assign,
    call,
    const,
    expression,
    load,
    node_types,
    place,
    statement,
    store,
    walk,
)
from .facts import Facts
from .scopes import Scope

__all__ = ["Arithmetic"]

_IN_PLACE_GUARDS: dict[type[ast.operator], str] = {
    ast.Add: "@iadd",
    ast.Mult: "@imultiply",
    ast.Pow: "@ipower",
    ast.LShift: "@ishift",
    ast.Mod: "@imodulo",
}
#: Largest integer that CPython compares without looking at more than one digit.
_DIGIT = (1 << 30) - 1
#: Shifts by fewer bits than this add little to what there is.
_SMALL_SHIFT = 64
#: Operands of sums in a row that are looked at together.
_LONGEST_CHAIN = 8
#: Values that are not iterators, whatever they contain.
_NOT_ITERATORS = node_types("Constant JoinedStr List Tuple ListComp SetComp Dict")
#: What may give another value to a name that was read before.
_REBINDING = node_types("Call NamedExpr Await Yield YieldFrom")

# Fragments of rewritten code. Each (x := None) empties a hidden name, so that no operand lives
# longer than in Python.

#: A number, or a string or list that is short; the type of the value is read first.
_UNGROWN = (
    "(kind := _type({})) is _int or kind is _float"
    " or (kind is _str or kind is _list) and _len(result) < {}"
)
_CHECKED_SUM = expression(
    f"result if {_UNGROWN.format('result := plain', '_short')}"
    " else _grown(result, (result := None))"
)
#: Integers, checked after the fact.
_BOUNDED = f"(number if {-_DIGIT} < (number := {{}}) and number < {_DIGIT} else _large(number))"
_NUMBERS = expression(_BOUNDED.format("plain"))
# One type to look at where one side is a number of few bits: it cannot repeat a number.
_BY_SMALL = expression(
    "first * right if (kind := _type(first := left)) is _int or kind is _float"
    " else _multiply(first, right, (first := None))"
)
_OF_CONSTANT = expression(
    "left * second if (kind := _type(second := right)) is _int or kind is _float"
    " else _multiply(left, second, (second := None))"
)
_BOTH = "(first, second, (first := None), (second := None))"
#: Evaluates left, then right, each once. A factor of few bits adds few; a float repeats nothing.
_ARE_NUMBERS = (
    f"{{2}} is _int and {-_DIGIT} < {{1}} and {{1}} < {_DIGIT}"
    " or _type({1}) is _float or _type({0}) is _float"
)
_TWO_READ = _ARE_NUMBERS.format("first", "second", "_type(first := left) is _type(second := right)")
_TWO_NAMES = _ARE_NUMBERS.format("left", "right", "_type(left) is _type(right)")
_PRODUCT = expression(f"first * second if {_TWO_READ} else _multiply{_BOTH}")
_PRODUCT_OF_NAMES = expression(f"left * right if {_TWO_NAMES} else _multiply(left, right)")
_POWER = "base**exponent if (kind := _type(base := left)) is _float else {}"
_POWER_GUARD = "_power(base, exponent, (base := None))"
_ANY_POWER = expression(_POWER.format(_POWER_GUARD))
_SMALL_POWER = expression(
    _POWER.format(f"{_BOUNDED.format('base**exponent')} if kind is _int else {_POWER_GUARD}")
)
_REMAINDER_BY_NAME = expression(
    "first % right if _type(first := left) is _int else _modulo(first, right, (first := None))"
)
_SAME_TYPE = "_type(first := left) is _type(second := right) is _int"
_REMAINDER = expression(f"first % second if {_SAME_TYPE} else _modulo{_BOTH}")
_SHIFT = expression(
    f"first << second if {_SAME_TYPE} and second < {_SMALL_SHIFT} else _shift{_BOTH}"
)
_SHIFT_BY_NUMBER = expression(f"left << right if right < {_SMALL_SHIFT} else _shift(left, right)")
_SHIFTED_CONSTANT = expression(
    f"left << second if _type(second := right) is _int and second < {_SMALL_SHIFT}"
    " else _shift(left, second, (second := None))"
)
_ADDEND = expression(
    "second if (kind := _type(second := value)) is _int or kind is _float"
    " else _addend(second, (second := None))"
)
# Statements in place. The first runs the operator where the types say that nothing grows.
_SAME = "(kind := _type(name)) is _type(second) and"
_IN_PLACE: dict[type[ast.operator], Callable[..., ast.stmt]] = {
    operator: statement(
        f"if {test}:\n    name {sign}= second\n{check}"
        f"else:\n    name = {guard}(name, second, (second := None))"
    )
    for operator, sign, guard, test, check in (
        (ast.Mod, "%", "_imodulo", "(kind := _type(name)) is _int", ""),
        (ast.Pow, "**", "_ipower", f"{_SAME} kind is _float", ""),
        (ast.LShift, "<<", "_ishift", f"{_SAME} kind is _int and second < {_SMALL_SHIFT}", ""),
        (
            ast.Mult,
            "*",
            "_imultiply",
            f"{_SAME} (kind is _int or kind is _float)",
            f"    if kind is _int and not {-_DIGIT} < name < {_DIGIT}:\n        _large(name)\n",
        ),
    )
}
_LONG_LIST = statement(
    f"if not ({_UNGROWN.format('result', '_most_items')}):\n    _added(result, ())"
)
#: A number adds few to anything.
_ADDED = statement(
    "name += second if (kind := _type(second := value)) is _int or kind is _float"
    " or kind is _str and _type(name) is _str and _len(name) + _len(second) < _most_items"
    " else _added(name, second, (second := None))"
)
_PRODUCT_ADDED = statement(
    f"name += first * second if {_TWO_READ} else _added(name, _multiply{_BOTH})"
)


class Arithmetic:
    """Rewrites the operators of one program.

    Every method takes a node as written for the facts about it, and its operands rewritten.

    Args:
        facts: the facts about the program.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        #: For each sum that ends in a check: the sum without it, and how many operands it has.
        self._sums: dict[ast.expr, tuple[ast.expr, int]] = {}
        #: The operands of products whose types decide.
        self._products: dict[ast.expr, dict[str, ast.expr]] = {}

    # -- binary operators --

    def binary(self, node: ast.BinOp, left: ast.expr, right: ast.expr, scope: Scope) -> ast.expr:
        """Rewrite ``left <op> right``."""
        rule = self._rules.get(type(node.op))
        plain = ast.BinOp(left=left, op=node.op, right=right)
        return place(plain if rule is None else rule(self, node, plain, scope), node)

    def _sum(self, node: ast.BinOp, plain: ast.BinOp, scope: Scope) -> ast.expr:
        facts = self._facts
        if facts.is_scalar(node.left) or facts.is_scalar(node.right):
            return plain  # no concatenation, so nothing grows
        if not scope.walrus:
            return call("@grown", plain)
        # Of a chain of sums the last is looked at: few operands, each within the limits.
        inner, terms = self._sums.get(plain.left, (plain.left, 1))
        if terms < _LONGEST_CHAIN:
            plain.left = inner
            terms += 1
        else:
            terms = 2
        checked: ast.expr = _CHECKED_SUM(scope.temporary, plain=plain)
        self._sums[checked] = (plain, terms)
        return checked

    def _product(self, node: ast.BinOp, plain: ast.BinOp, scope: Scope) -> Any:
        facts, left, right = self._facts, plain.left, plain.right
        if facts.is_float(node.left) or facts.is_float(node.right):
            return plain
        numbers = facts.is_number(node.left) and facts.is_number(node.right)
        small = facts.is_small(node.right)
        if numbers and (small or facts.is_small(node.left)):
            return plain  # a factor of few bits adds few, as a shift does
        if not scope.walrus or facts.is_sequence(node.left) or facts.is_sequence(node.right):
            return call("@multiply", left, right)
        if numbers:
            return _NUMBERS(scope.temporary, plain=plain)
        simple = isinstance(node.right, (ast.Name, ast.Constant))
        if small and simple:
            return _BY_SMALL(scope.temporary, left=left, right=right)
        if isinstance(node.left, ast.Constant) and facts.is_small(node.left):
            return _OF_CONSTANT(scope.temporary, left=left, right=right)
        if simple and isinstance(node.left, ast.Name):
            made = _PRODUCT_OF_NAMES(left=left, right=right)
        else:
            made = _PRODUCT(scope.temporary, left=left, right=right)
        self._products[made] = {"left": left, "right": right}
        return made

    def _power(self, node: ast.BinOp, plain: ast.BinOp, scope: Scope) -> Any:
        facts, exponent = self._facts, node.right
        if facts.is_small(node) or (facts.is_float(node.left) and facts.is_number(exponent)):
            return plain
        value = exponent.value if isinstance(exponent, ast.Constant) else None
        if type(value) not in (int, float) or not scope.walrus:
            return call("@power", plain.left, plain.right)
        few = type(value) is int and 0 <= value <= 4
        if few and facts.is_number(node.left):
            return _NUMBERS(scope.temporary, plain=plain)
        rule = _SMALL_POWER if few else _ANY_POWER
        return rule(scope.temporary, exponent=const(value), left=plain.left)

    def _remainder(self, node: ast.BinOp, plain: ast.BinOp, scope: Scope) -> Any:
        """Only a string or bytes on the left formats; a number only divides."""
        left, right = plain.left, plain.right
        if self._facts.is_scalar(node.left):
            return plain
        if not scope.walrus or isinstance(node.left, (ast.Constant, ast.JoinedStr)):
            return call("@modulo", left, right)
        # Nothing runs between two reads of a name, so it needs no hidden one.
        simple = isinstance(node.right, (ast.Name, ast.Constant))
        rule = _REMAINDER_BY_NAME if simple else _REMAINDER
        return rule(scope.temporary, left=left, right=right)

    def _shift(self, node: ast.BinOp, plain: ast.BinOp, scope: Scope) -> Any:
        """A shift by few bits grows little, whatever is shifted."""
        left, right, count = plain.left, plain.right, node.right
        if isinstance(count, ast.Constant) and type(count.value) is int:
            return plain if count.value < _SMALL_SHIFT else call("@shift", left, right)
        if not scope.walrus:
            return call("@shift", left, right)
        simple = isinstance(node.left, (ast.Name, ast.Constant)) and isinstance(count, ast.Name)
        if simple and self._facts.is_number(count):
            return _SHIFT_BY_NUMBER(left=left, right=right)
        rule = _SHIFTED_CONSTANT if isinstance(node.left, ast.Constant) else _SHIFT
        return rule(scope.temporary, left=left, right=right)

    _rules: ClassVar[dict[type[ast.operator], Callable[..., Any]]] = {
        ast.Add: _sum,
        ast.Mult: _product,
        ast.Mod: _remainder,
        ast.Pow: _power,
        ast.LShift: _shift,
    }

    # -- augmented assignments --

    def in_place_guard(self, node: ast.AugAssign) -> str | None:
        """Name the guard of an augmented assignment; ``None`` where its result stays small."""
        facts, operator, value = self._facts, node.op, node.value
        if isinstance(operator, ast.Add):
            small = facts.is_scalar(value) or facts.is_number(node.target)
        elif isinstance(operator, ast.Mult):
            small = facts.is_float(value) or facts.is_float(node.target)
            small = small or (facts.is_number(node.target) and facts.is_small(value))
        elif isinstance(operator, ast.Mod):
            small = facts.is_number(node.target)
        elif isinstance(operator, ast.LShift):
            whole = isinstance(value, ast.Constant) and type(value.value) is int
            small = whole and value.value < _SMALL_SHIFT  # type: ignore[attr-defined]
        else:
            small = facts.is_float(node.target) and facts.is_number(value)
        return None if small else _IN_PLACE_GUARDS.get(type(operator))

    def augmented_name(
        self, node: ast.AugAssign, name: str, value: ast.expr, scope: Scope
    ) -> list[ast.stmt]:
        """Rewrite ``name <op>= value``, whose result may grow; ``value`` is rewritten already."""
        operator = node.op
        guard = _IN_PLACE_GUARDS[type(operator)]
        plain = ast.AugAssign(target=store(name), op=operator, value=value)
        if isinstance(operator, ast.Add):
            made = self._added(node, plain, name, scope)
        elif not scope.walrus or any(isinstance(inner, _REBINDING) for inner in walk(value)):
            made = [assign(name, call(guard, load(name), value))]
        else:
            second = scope.temporary()
            guarded = _IN_PLACE[type(operator)](kind=scope.temporary(), name=name, second=second)
            made = [assign(second, value), guarded]
        return [place(s, node) for s in made]

    def _added(
        self, node: ast.AugAssign, plain: ast.AugAssign, name: str, scope: Scope
    ) -> list[ast.stmt]:
        """Rewrite ``name += value``: in place, as CPython appends to a string without a copy."""
        value = plain.value
        if isinstance(node.value, ast.Constant) and len(str(node.value.value)) <= 16:
            return [plain]  # little at a time: the count of operations bounds it
        sum_, _terms = self._sums.get(value, (value, 0))
        if scope.walrus and isinstance(node.value, _NOT_ITERATORS):
            plain.value = sum_
            return [plain, _LONG_LIST(kind=scope.temporary(), result=name)]
        rebound = name in self._facts.shared and any(
            isinstance(inner, _REBINDING) for inner in walk(value)
        )
        if rebound or not scope.walrus:  # the guard gets what the name means now
            plain.value = call("@added", load(name), value)
            return [plain]
        hidden = {"name": name, "second": scope.temporary()}
        if operands := self._products.get(value):
            return [_PRODUCT_ADDED(first=scope.temporary(), **hidden, **operands)]
        return [_ADDED(kind=scope.temporary(), value=sum_, **hidden)]

    def added_to_part(self, node: ast.AugAssign, value: ast.expr, scope: Scope) -> ast.expr:
        """Rewrite what ``+=`` adds to an attribute or an item: it bounds what is gained."""
        if isinstance(node.value, ast.Constant):
            return value
        if not scope.walrus:
            return place(call("@addend", value), node)
        return place(_ADDEND(scope.temporary, value=value), node)
