"""Rewriting rules: assignments: targets of every form, in place, annotated, walrus."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("a = b = [1]\na is b"),
        "True",
    ),
    (
        ("a, (b, *c) = 1, (2, 3, 4)\n[a, b, c]"),
        "[1, 2, [3, 4]]",
    ),
    (
        ("x = [0, 0]\nx[0], x[1] = 1, 2\nx"),
        "[1, 2]",
    ),
    (
        ("x = list(range(5))\nx[1:3] = 'ab'\nx"),
        "[0, 'a', 'b', 3, 4]",
    ),
    (
        ("class A: pass\na = A()\na.x = a.y = 3\na.x + a.y"),
        "6",
    ),
    (
        ("x: int = 3\nx"),
        "3",
    ),
    (
        ("x: int\ntry:\n    x\nexcept NameError:\n    r = 'unbound'\nr"),
        "'unbound'",
    ),
    (
        (
            "x = 1\n"
            "x += 2\n"
            "x *= 3\n"
            "x **= 2\n"
            "x -= 1\n"
            "x //= 3\n"
            "x %= 20\n"
            "x <<= 2\n"
            "x >>= 1\n"
            "x |= 1\n"
            "x &= 7\n"
            "x ^= 2\n"
            "x"
        ),
        "7",
    ),
    (
        ("x = [1]\ny = x\nx += (2,)\ny"),
        "[1, 2]",
    ),
    (
        ("x = 'a'\nx += 'b' + str(1)\nx"),
        "'ab1'",
    ),
    (
        ("x = [1]\nx += (i for i in [2, 3])\nx"),
        "[1, 2, 3]",
    ),
    (
        ("d = {'a': [1]}\nd['a'] += [2]\nd['a'] *= 2\nd"),
        "{'a': [1, 2, 1, 2]}",
    ),
    (
        (
            "calls = []\n"
            "def key():\n"
            "    calls.append(1)\n"
            "    return 'a'\n"
            "d = {'a': 2}\n"
            "d[key()] *= 3\n"
            "(d, len(calls))"
        ),
        "({'a': 6}, 1)",
    ),
    (
        (
            "total = 0\n"
            "def add():\n"
            "    global total\n"
            "    total = 10\n"
            "    return 1\n"
            "total += add()\n"
            "total"
        ),
        "1",
    ),
    (
        ("[y := 3, y ** 2]"),
        "[3, 9]",
    ),
    (
        ("(x := 2) + x"),
        "4",
    ),
    (
        ("del_me = 1\ndel del_me\n'del_me' in dir()"),
        "False",
    ),
]
REFUSED = [
    ("tool = 1", "Cannot assign to name 'tool'"),
    ("for tool in []: pass", "Cannot assign to name 'tool'"),
    ("(tool := 1)", "Cannot assign to name 'tool'"),
    ("a, *tool = 1, 2", "Cannot assign to name 'tool'"),
    ("__builtins__ = {}", "Cannot assign to name '__builtins__'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
