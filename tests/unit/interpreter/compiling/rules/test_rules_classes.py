"""Rewriting rules: classes: bases, metaclasses, descriptors, private names."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("class A:\n    'says'\n    x = 1\n(A.__doc__, A.x)"),
        "('says', 1)",
    ),
    (
        (
            "class A:\n"
            "    def f(self): return 1\n"
            "class B(A):\n"
            "    def f(self): return super().f() + 1\n"
            "B().f()"
        ),
        "2",
    ),
    (
        (
            "class M(type):\n"
            "    def __call__(cls, *a): return ('made', a)\n"
            "class A(metaclass=M): pass\n"
            "A(1)"
        ),
        "('made', (1,))",
    ),
    (
        ("class A:\n    def __init_subclass__(cls, n): cls.n = n\nclass B(A, n=3): pass\nB.n"),
        "3",
    ),
    (
        ("class D:\n    def __get__(self, o, t): return 5\nclass A: x = D()\nA().x"),
        "5",
    ),
    (
        (
            "class A:\n"
            "    __slots__ = ('x',)\n"
            "a = A()\n"
            "a.x = 1\n"
            "try:\n"
            "    a.y = 1\n"
            "except AttributeError:\n"
            "    r = 'slots'\n"
            "r"
        ),
        "'slots'",
    ),
    (
        (
            "class A:\n"
            "    @property\n"
            "    def p(self): return 1\n"
            "    @staticmethod\n"
            "    def s(): return 2\n"
            "    @classmethod\n"
            "    def c(cls): return cls.__name__\n"
            "(A().p, A.s(), A.c())"
        ),
        "(1, 2, 'A')",
    ),
    (
        (
            "from dataclasses import dataclass, field\n"
            "@dataclass(order=True)\n"
            "class P:\n"
            "    x: int\n"
            "    y: list = field(default_factory=list)\n"
            "P(1) < P(2), P(1)"
        ),
        "(True, P(x=1, y=[]))",
    ),
    (
        ("from enum import Enum\nclass C(Enum):\n    A = 1\n    B = 2\n[c.name for c in C]"),
        "['A', 'B']",
    ),
    (
        ("A = type('A', (), {'x': 1})\nA().x"),
        "1",
    ),
    (
        ("class A:\n    x = 3\n    x *= 2\nA.x"),
        "6",
    ),
]
REFUSED = [
    ("class tool: pass", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
