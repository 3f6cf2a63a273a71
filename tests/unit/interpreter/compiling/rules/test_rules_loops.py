"""Rewriting rules: loops: for, while, else, break, continue; every round is counted."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        (
            "r = []\n"
            "for i in range(5):\n"
            "    if i == 1: continue\n"
            "    if i == 3: break\n"
            "    r.append(i)\n"
            "else:\n"
            "    r.append('else')\n"
            "r"
        ),
        "[0, 2]",
    ),
    (
        ("for i in []: pass\nelse:\n    r = 'else'\nr"),
        "'else'",
    ),
    (
        ("i = 0\nwhile i < 3: i += 1\nelse:\n    i = 'else'\ni"),
        "'else'",
    ),
    (
        ("for i, (a, *b) in enumerate([(1, 2, 3)]): r = (i, a, b)\nr"),
        "(0, 1, [2, 3])",
    ),
    (
        ("a = [3]\nfor x in a:\n    if x: a += [x - 1]\na"),
        "[3, 2, 1, 0]",
    ),
    (
        (
            "def f():\n"
            "    for i in range(9):\n"
            "        for j in range(9):\n"
            "            if i * j == 42: return i, j\n"
            "f()"
        ),
        "(6, 7)",
    ),
    (
        (
            "class A:\n"
            "    n = 0\n"
            "    while n < 3:\n"
            "        n += 1\n"
            "    for i in 'ab': n += 1\n"
            "(A.n, sorted(k for k in vars(A) if not k.startswith('_')))"
        ),
        "(5, ['i', 'n'])",
    ),
    (
        (
            "def g():\n"
            "    while True:\n"
            "        x = yield\n"
            "        if x: return x\n"
            "g1 = g()\n"
            "next(g1)\n"
            "try:\n"
            "    g1.send(7)\n"
            "except StopIteration as e:\n"
            "    r = e.value\n"
            "r"
        ),
        "7",
    ),
]
REFUSED = [
    ("for __import__ in []: pass", "__import__"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
