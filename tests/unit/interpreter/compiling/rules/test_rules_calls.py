"""Rewriting rules: calls: arguments of every form, and the builtins that go through a guard."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("def f(a, /, b, *c, d=4, **e): return (a, b, c, d, e)\nf(1, 2, 3, d=5, x=6)"),
        "(1, 2, (3,), 5, {'x': 6})",
    ),
    (
        ("f = lambda *a, **k: (a, k)\nf(*[1, 2], 3, **{'x': 4})"),
        "((1, 2, 3), {'x': 4})",
    ),
    (
        ("max([3, 1, 2], key=lambda v: -v)"),
        "1",
    ),
    (
        ("min('bb', 'a', key=len)"),
        "'a'",
    ),
    (
        ("max([], default=7)"),
        "7",
    ),
    (
        ("max({'a': 1, 'b': 2}, key={'a': 1, 'b': 2}.get)"),
        "'b'",
    ),
    (
        ("sorted(['b', 'A'], key=str.lower)"),
        "['A', 'b']",
    ),
    (
        ("sorted(range(40), key=lambda v: v % 3)[:3]"),
        "[0, 3, 6]",
    ),
    (
        ("words = ['bb', 'a', 'cc', 'd'] * 10\nsorted(words, key=len, reverse=True)[:3]"),
        "['bb', 'cc', 'bb']",
    ),
    (
        ("x = [3, 1, 2] * 20\nx.sort(key=abs, reverse=True)\nx[:2] + x[-2:]"),
        "[3, 3, 1, 1]",
    ),
    (
        ("list(map(str, range(3)))"),
        "['0', '1', '2']",
    ),
    (
        ("list(map(pow, range(30), [2] * 30))[-1]"),
        "841",
    ),
    (
        ("list(filter(None, [0, 1, '']))"),
        "[1]",
    ),
    (
        ("type(map(str, [])) is map, isinstance(filter(None, []), filter)"),
        "(True, True)",
    ),
    (
        ("[f for f in (map, filter, max)][0](str, [1]).__next__()"),
        "'1'",
    ),
    (
        ("sum([[1], [2]], [])"),
        "[1, 2]",
    ),
    (
        ("sum([1, 2], start=3)"),
        "6",
    ),
    (
        ("round(1234, -2), round(1.5), round(2.345, 2)"),
        "(1200, 2, 2.35)",
    ),
    (
        ("def max(a): return 'own'\nmax(1)"),
        "'own'",
    ),
    (
        ("def run(sum): return sum(1, 2)\nrun(lambda a, b: (a, b))"),
        "(1, 2)",
    ),
    (
        ("len(range(10**9)), range(5)[1:3]"),
        "(1000000000, range(1, 3))",
    ),
    (
        ("bytes(3), bytearray(b'a') + b'b'"),
        "(b'\\x00\\x00\\x00', bytearray(b'ab'))",
    ),
]
REFUSED = [
    ("(lambda: 0).__get__.__reduce__()", "Forbidden call to dunder function: __reduce__"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
