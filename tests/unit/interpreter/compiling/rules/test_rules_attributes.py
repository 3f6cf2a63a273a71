"""Rewriting rules: attributes: read, written, called, and by names that policy knows."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("'a'.upper()"),
        "'A'",
    ),
    (
        (
            "class A:\n"
            "    def __init__(self): self._x = 1\n"
            "    def get(self): return self._x\n"
            "A().get()"
        ),
        "1",
    ),
    (
        (
            "class A:\n"
            "    def __init__(self): self.__x = 1\n"
            "    def get(self): return self.__x\n"
            "A().get()"
        ),
        "1",
    ),
    (
        ("class A: pass\nA.__name__"),
        "'A'",
    ),
    (
        ("(1).__add__(2)"),
        "3",
    ),
    (
        ("getattr('a', 'upper')()"),
        "'A'",
    ),
    (
        ("class A: x = 1\nsetattr(A, 'x', 2)\nA.x"),
        "2",
    ),
    (
        ("hasattr(1, 'nope')"),
        "False",
    ),
    (
        ("class A: pass\na = A()\na.n = 1\na.n += 1\ndel a.n\nhasattr(a, 'n')"),
        "False",
    ),
    (
        ("'{0.real}'.format(3)"),
        "'3'",
    ),
    (
        ("import json\njson.dumps([1])"),
        "'[1]'",
    ),
]
REFUSED = [
    ("x.__globals__", "__globals__"),
    ("(lambda: 0).__code__", "__code__"),
    ("''.__class__.__mro__[1]", "Forbidden access to dunder attribute: __mro__"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
