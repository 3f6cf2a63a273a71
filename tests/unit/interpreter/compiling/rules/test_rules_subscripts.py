"""Rewriting rules: subscripts and slices: read, written, deleted."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("x = [1, 2, 3, 4]\nx[0], x[-1], x[1:3], x[::-1]"),
        "(1, 4, [2, 3], [4, 3, 2, 1])",
    ),
    (
        ("x = list(range(6))\nx[::2] = 'abc'\nx"),
        "['a', 1, 'b', 3, 'c', 5]",
    ),
    (
        ("x = list(range(6))\ndel x[1:4], x[0]\nx"),
        "[4, 5]",
    ),
    (
        ("class A:\n    def __getitem__(self, k): return k\nA()[1:2, ..., 3]"),
        "(slice(1, 2, None), Ellipsis, 3)",
    ),
    (
        ("d = {}\nd['a', 1] = 2\nd"),
        "{('a', 1): 2}",
    ),
    (
        ("x = [1]\nx[1:] = (i for i in [2, 3])\nx"),
        "[1, 2, 3]",
    ),
    (
        ("class A:\n    def __class_getitem__(cls, k): return k\nA[int]"),
        "<class 'int'>",
    ),
]
REFUSED = [
    ("x[tool := 1]", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
