"""Rewriting rules: del, assert, global, pass, if, and expressions of their own."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("x = 1\ny = [1, 2]\ndel x, y[0]\ny"),
        "[2]",
    ),
    (
        ("try:\n    assert 1 > 2, 'why'\nexcept AssertionError as e:\n    r = str(e)\nr"),
        "'why'",
    ),
    (
        ("def f():\n    global made\n    made = 3\nf()\nmade"),
        "3",
    ),
    (
        ("if True: global made\nfor _ in [0]: global other\nmade = 4\nmade"),
        "4",
    ),
    (
        ("if 0: r = 1\nelif 1: r = 2\nelse: r = 3\nr"),
        "2",
    ),
    (
        ("1 if [] else 2"),
        "2",
    ),
    (
        ("0 or 'b' and 'c'"),
        "'c'",
    ),
    (
        ("not 1, ~1, -1, +1"),
        "(False, -2, -1, 1)",
    ),
    (
        ("1 < 2 < 3 != 4, 2 in [1, 2], 3 not in (3,), None is None"),
        "(True, True, False, True)",
    ),
    (
        (
            "7 // 2, 7 % 2, 7 / 2, 2 ** 5, 7 @ 1 if 0 else 'no matrix', "
            "1 | 6, 5 & 4, 5 ^ 1, 1 << 3, 8 >> 1"
        ),
        "(3, 1, 3.5, 32, 'no matrix', 7, 4, 4, 8, 4)",
    ),
    (
        ("{1, *[2, 3]}, {**{'a': 1}, 'b': 2}, [*'ab', 3], (1, *[2])"),
        "({1, 2, 3}, {'a': 1, 'b': 2}, ['a', 'b', 3], (1, 2))",
    ),
    (
        ("pass\n..."),
        "Ellipsis",
    ),
    (
        ("if __name__ == '__main__':\n    r = 'main'\nr"),
        "'main'",
    ),
]
REFUSED = [
    ("def f():\n    global tool\n    tool = 1\nf()", "erase the existing tool"),
    ("del __builtins__", "__builtins__"),
    ("__loader__", "Forbidden access to name: __loader__"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
