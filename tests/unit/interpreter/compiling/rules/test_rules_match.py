"""Rewriting rules: match with every pattern."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("match [1, 2, 3]:\n    case [1, *rest]: r = rest\nr"),
        "[2, 3]",
    ),
    (
        ("match {'a': 1, 'b': 2}:\n    case {'a': x, **rest}: r = (x, rest)\nr"),
        "(1, {'b': 2})",
    ),
    (
        ("match 5:\n    case 1 | 2: r = 'low'\n    case int(n) if n > 3: r = n\nr"),
        "5",
    ),
    (
        (
            "class P:\n"
            "    __match_args__ = ('x', 'y')\n"
            "    def __init__(self, x, y): self.x, self.y = x, y\n"
            "match P(1, 2):\n"
            "    case P(1, y=b): r = b\n"
            "r"
        ),
        "2",
    ),
    (
        ("match None:\n    case True: r = 1\n    case None: r = 2\nr"),
        "2",
    ),
    (
        ("match 'a':\n    case 'b': r = 1\n    case _: r = 2\nr"),
        "2",
    ),
    (
        ("match (1, (2, 3)):\n    case (a, (2 as b, c)): r = [a, b, c]\nr"),
        "[1, 2, 3]",
    ),
    (
        ("class C:\n    A = 1\nmatch 1:\n    case C.A: r = 'value'\nr"),
        "'value'",
    ),
]
REFUSED = [
    ("match 1:\n    case tool: pass", "Cannot assign to name 'tool'"),
    ("match 1:\n    case [*tool]: pass", "Cannot assign to name 'tool'"),
    ("match 1:\n    case {**tool}: pass", "Cannot assign to name 'tool'"),
    ("match 1:\n    case object(__class__=c): pass", "attribute in a pattern: __class__"),
    ("class C: _A = 1\nmatch 1:\n    case C._A: pass", "attribute in a pattern: _A"),
    ("match 1:\n    case __builtins__.eval: pass", "Forbidden access to name: __builtins__"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
