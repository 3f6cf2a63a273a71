"""Rewriting rules: comprehensions: scopes, conditions, nesting, and the walrus in them."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("[i * j for i in range(3) for j in range(i) if j or i]"),
        "[0, 0, 2]",
    ),
    (
        ("{i % 3 for i in range(9)}"),
        "{0, 1, 2}",
    ),
    (
        ("{k: v for k, v in zip('ab', [1, 2])}"),
        "{'a': 1, 'b': 2}",
    ),
    (
        ("sum(i for i in range(5) if i % 2)"),
        "4",
    ),
    (
        ("x = 9\n[x for x in range(3)]\nx"),
        "9",
    ),
    (
        ("any((last := i) > 2 for i in range(9))\nlast"),
        "3",
    ),
    (
        ("[[c for c in row] for row in ['ab', 'c']]"),
        "[['a', 'b'], ['c']]",
    ),
    (
        ("class A:\n    xs = [1, 2]\n    ys = [x + 1 for x in xs]\nA.ys"),
        "[2, 3]",
    ),
    (
        (
            "import asyncio\n"
            "async def g():\n"
            "    for i in range(3): yield i\n"
            "async def main(): return [i async for i in g() if i]\n"
            "asyncio.run(main())"
        ),
        "[1, 2]",
    ),
    (
        ("fs = [lambda: i for i in range(3)]\n[f() for f in fs]"),
        "[2, 2, 2]",
    ),
    (
        ("a = [1]\na.extend(x + 1 for x in a if x < 5)\na"),
        "[1, 2, 3, 4, 5]",
    ),
]
REFUSED = [
    ("[tool := i for i in range(3)]", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
