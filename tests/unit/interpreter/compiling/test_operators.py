"""Operators that are rewritten give what CPython gives, operands read once and in order."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence

import pytest
from case_harness import run_ours, run_reference
from program_harness import stopped

#: Those that go through a guard, and one that stays as it is.
OPERATORS = ("*", "**", "<<", "+")
#: Operands of every type that the inline forms tell apart, at the bounds of their tests.
VALUES = (
    *("0", "-3", "7", "64", "True", "(1 << 30) - 1", "-(1 << 64)"),
    *("2.5", "1j", "None", "'ab'", "''", "b'x'", "[1, 2]"),
    *("(3,)", "{1: 2}", "Own(2)", "Text('t')", "Whole(3)", "Row([1])"),
)
#: Literal operands, on both sides of the bound up to which they are not guarded.
LITERALS = ("0", "-3", "7", "101", "2.5", "'ab'")
HEAD = """
import itertools
class Own:
    def __init__(self, n): self.n = n
    def __repr__(self): return f'Own({self.n})'
class Text(str):
    def __mul__(self, other): return ('Text *', other)
    def __add__(self, other): return ('Text +', other)
class Whole(int):
    def __mul__(self, other): return ('Whole *', other)
    def __lshift__(self, other): return ('Whole <<', other)
    def __iadd__(self, other): return ('Whole +=', other)
class Row(list):
    def __imul__(self, other): return ('Row *=', other)
    def __add__(self, other): return ('Row +', other)
def give(name):
    return lambda self, other: (name, type(self).__name__, repr(other))
for name in ('add', 'mul', 'lshift', 'pow'):
    setattr(Own, f'__{name}__', give(name))
    setattr(Own, f'__r{name}__', give('r' + name))
    if name in ('add', 'lshift'):
        setattr(Own, f'__i{name}__', give('i' + name))
def small(op, a, b):
    if op in ('<<', '**') and isinstance(b, (int, float)) and isinstance(a, (int, float)):
        return abs(b) < 100
    return not (isinstance(b, int) and abs(b) > 100 and hasattr(a, '__len__')) and not (
        isinstance(a, int) and abs(a) > 100 and hasattr(b, '__len__'))
result = []
"""
FORMS = {
    "names": "return a {op} b",
    "a loop": "for _ in 'x': return a {op} b",
    "in place": "a {op}= b\n    return a",
    "an item in place": "d = [a]\n    d[0] {op}= b\n    return d[0]",
    "an attribute in place": "o = Own(0)\n    o.n = a\n    o.n {op}= b\n    return o.n",
}
SCOPES = {
    "function": "def f():\n    a, b = left, right\n    return a {op} b\nresult = f()",
    "loop": "a, b = left, right\nfor _ in 'x': result = a {op} b",
    "annotation in a loop": "a, b = left, right\nfor _ in 'x':\n    result: a {op} b = 3",
    "class of a loop": (
        "a, b = left, right\nfor _ in 'x':\n    class C: r = a {op} b\nresult = C.r"
    ),
    "loop of a class": (
        "class C:\n    a, b = left, right\n    for _ in 'x': r = a {op} b\nresult = sorted(vars(C))"
    ),
    "module": "a, b = left, right\nresult = a {op} b",
    "module in place": "a, b = left, right\na {op}= b\nresult = a",
    "class body": "class C:\n    a, b = left, right\n    r = a {op} b\nresult = C.r",
    "class body in place": "class C:\n    a, b = left, right\n    a {op}= b\nresult = C.a",
    "comprehension": "result = [a {op} b for a, b in [(left, right)]]",
    "comprehension's condition": "result = [1 for a, b in [(left, right)] if a {op} b]",
    "comprehension's source": "a, b = left, right\nresult = [x for x in [a {op} b]]",
    "generator": "result = list(a {op} b for a, b in [(left, right)])",
    "lambda": "result = (lambda a, b: a {op} b)(left, right)",
    "global": "a, b = left, right\ndef f():\n    global a\n    a {op}= b\nf()\nresult = a",
    "nonlocal": (
        "def f(a, b):\n    def g():\n        nonlocal a\n        a {op}= b\n    g()\n    return a\n"
        "result = f(left, right)"
    ),
}


def compared(code: str) -> None:
    expected = run_reference(code)
    assert not expected.error
    assert run_ours(code) == expected, code


def each_pair(
    operator: str, body: str, lefts: Sequence[str] = VALUES, rights: Sequence[str] = VALUES
) -> str:
    """Add to ``result`` the text of what ``body`` gives for each pair of operands, or its error."""
    makers = ["".join(f"lambda: {value}, " for value in values) for values in (lefts, rights)]
    return f"""
def act(a, b):
    {body}
for left, right in itertools.product([{makers[0]}], [{makers[1]}]):
    if small({operator!r}, left(), right()):
        try: result.append(repr(act(left(), right())))
        except Exception as e: result.append(f'{{type(e).__name__}}: {{e}}')
"""


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_pair_of_types_gives_what_it_gives_in_python(form: str, operator: str) -> None:
    compared(HEAD + each_pair(operator, form.format(op=operator)) + "result")


@pytest.mark.parametrize("operator", OPERATORS)
def test_literal_operands_give_what_they_give_in_python(operator: str) -> None:
    code = HEAD
    for literal in LITERALS:
        code += each_pair(operator, f"return {literal} {operator} b", lefts=[literal])
        code += each_pair(operator, f"return a {operator} {literal}", rights=[literal])
        code += each_pair(operator, f"a {operator}= {literal}\n    return a", rights=[literal])
    compared(code + "result")


PAIRS = [("1", "5"), ("'ab'", "3"), ("[1]", "[2]"), ("2.5", "2"), ("Own(1)", "3"), ("3", "Own(1)"),
         ("'t'", "'x'"), ("True", "70"), ("None", "1")]  # fmt: skip


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_every_scope_gives_what_it_gives_in_python(scope: str) -> None:
    code = f"{HEAD}results = []\n"
    for (left, right), operator in itertools.product(PAIRS, OPERATORS):
        body = f"left, right = {left}, {right}\n" + scope.format(op=operator)
        code += (
            "try:\n" + textwrap.indent(body, "    ") + "\n    results.append(repr(result))\n"
            "except Exception as e:\n    results.append(f'{type(e).__name__}: {e}')\n"
        )
    compared(code + "result = results\n")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "form",
    [
        "say(1, {a}) {op} say(2, {b})",
        "(say(1, {a}) {op} say(2, {b})) {op} say(3, {b})",
        "say(1, {a}) {op} (say(2, {b}) {op} say(3, {b}))",
        "[say(1, {a}) {op} say(2, {b}) for _ in range(2)]",
        "(lambda: say(1, {a}) {op} say(2, {b}))()",
        "box(1).n {op} box(2).n",
        "box(1)[say(3, 0)] {op} box(2)[say(4, 0)]",
    ],
)
def test_operands_are_evaluated_once_and_in_order(form: str, operator: str) -> None:
    code = HEAD + (
        "def say(n, value):\n    result.append(n)\n    return value\n"
        "class Box:\n"
        "    def __init__(self, n): self.k = n\n"
        "    @property\n    def n(self): return say((self.k, 'n'), 3)\n"
        "    def __getitem__(self, k): return say((self.k, k), 4)\n"
        "def box(n): return say(n, Box(n))\n"
    )
    for a, b in (("1", "5"), ("'a'", "2"), ("2.0", "2"), ("[1]", "[2]"), ("Own(1)", "1")):
        code += (
            f"try:\n    value = {form.format(a=a, b=b, op=operator)}\n"
            "except TypeError as e:\n    value = str(e)\n"
            "result.append(repr(value))\n"
        )
    compared(code + "result")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "target", ["x", "o.n", "d[key(0)]", "get().n", "get().m[key(1)]", "o._p", "d[0:1]"]
)
def test_targets_in_place_are_evaluated_once_and_before_the_value(
    target: str, operator: str
) -> None:
    code = f"""
seen = []
class O:
    def __init__(self): self._p, self.m = 6, [7, 8]
    @property
    def n(self):
        seen.append('read')
        return 5
    @n.setter
    def n(self, value): seen.append(('write', value))
def key(k):
    seen.append('key')
    return k
def get():
    seen.append('get')
    return o
def value():
    seen.append('value')
    return 2
o, d, x = O(), [9, 10], 11
try:
    {target} {operator}= value()
except TypeError as e:
    seen.append(str(e))
result = (seen, o._p, o.m, d, x)
"""
    compared(code)


SQUARED = {
    "itself": "x = 3\nfor i in range(60): x = x * x",
    "a copy": "x = 3\nfor i in range(60):\n    y = x + 0\n    x = y * y",
    "two in turn": "a = b = 3\nfor i in range(90): a, b = b * b, a * 2",
    "the variable of a loop": (
        "y = 3\nfor i in range(60):\n    for x in range(y, y + 1): y = x * x"
    ),
    "sums that double": (
        "x = y = 1\nfor i in range(30): x = x + x\n"
        "def f(n):\n    a = b = 1\n    for i in range(n): a, b = a + b, a * b\nf(60)"
    ),
    "a power": "x = 3\nfor i in range(60): x = x ** 2",
    "an added product": "def f():\n    x = 3\n    for i in range(60): x += x * x\nf()",
    "a product of a product": "x, y = 3, 1\nfor i in range(60): x = x * (y * x)",
    "a shifted product": "x = 3\nfor i in range(60): x = (x << 60) * (x >> 1)",
}


@pytest.mark.parametrize("code", SQUARED.values(), ids=SQUARED)
def test_integers_that_feed_on_their_products_end_at_the_limit(code: str) -> None:
    assert "would make an integer of" in stopped(code)
