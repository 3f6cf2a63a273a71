"""Rewriting rules: imports: forms, names, and what is refused."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("import json as j\nj.loads('1')"),
        "1",
    ),
    (
        ("from math import pi as p, floor\nfloor(p)"),
        "3",
    ),
    (
        ("import collections.abc\ncollections.abc.Sized.__name__"),
        "'Sized'",
    ),
    (
        ("def f():\n    import math\n    return math.floor(1.5)\nf()"),
        "1",
    ),
    (
        ("from __future__ import annotations\ndef f(x: nope): pass\nf.__annotations__"),
        "{'x': 'nope'}",
    ),
    (
        (
            "try:\n"
            "    import os\n"
            "except ImportError as e:\n"
            "    r = str(e).split(' Authorized')[0]\n"
            "r"
        ),
        "'Import of os is not allowed.'",
    ),
    (
        ("from math import *\nsqrt(4)"),
        "2.0",
    ),
]
REFUSED = [
    ("from . import x", "Relative imports are not possible here"),
    ("import json as tool", "Cannot assign to name 'tool'"),
    ("from math import pi as tool", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
