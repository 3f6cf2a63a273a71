"""Rewriting rules: f-strings: conversions, specifications, nesting."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("x = 3.14159\nf'{x:.2f}|{x!r:>9}|{x=}'"),
        "'3.14|  3.14159|x=3.14159'",
    ),
    (
        ("w = 5\nf'{1:>{w}}|{\"a\":*^{w}}'"),
        "'    1|**a**'",
    ),
    (
        ("f'{{}}' + f'{1}{2}'"),
        "'{}12'",
    ),
    (
        ("class A:\n    def __format__(self, s): return s.upper()\nf'{A():abc}'"),
        "'ABC'",
    ),
    (
        ("f'{(lambda: 1)()}{[i for i in range(2)]}'"),
        "'1[0, 1]'",
    ),
    (
        ("f'{\"é\"!a}'"),
        "\"'\\\\xe9'\"",
    ),
]
REFUSED = [
    ("f'{x.__globals__}'", "__globals__"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
