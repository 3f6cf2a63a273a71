"""Rewriting rules: functions and lambdas: closures, defaults, decorators, generators."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        ("def f():\n    'says'\n    return 1\n(f.__doc__, f(), f.__name__)"),
        "('says', 1, 'f')",
    ),
    (
        ("def f(a, b=[]):\n    b.append(a)\n    return b\nf(1)\nf(2)"),
        "[1, 2]",
    ),
    (
        (
            "def outer():\n"
            "    n = 0\n"
            "    def inner():\n"
            "        nonlocal n\n"
            "        n += 1\n"
            "        return n\n"
            "    return inner\n"
            "f = outer()\n"
            "f()\n"
            "f()"
        ),
        "2",
    ),
    (
        ("def twice(f): return lambda *a: f(f(*a))\n@twice\ndef inc(x): return x + 1\ninc(1)"),
        "3",
    ),
    (
        ("def g():\n    got = yield 1\n    yield got\nx = g()\n(next(x), x.send(5))"),
        "(1, 5)",
    ),
    (
        (
            "def g():\n"
            "    try:\n"
            "        yield 1\n"
            "    except KeyError:\n"
            "        yield 'caught'\n"
            "x = g()\n"
            "next(x)\n"
            "x.throw(KeyError())"
        ),
        "'caught'",
    ),
    (
        (
            "def a():\n"
            "    r = yield from b()\n"
            "    yield r\n"
            "def b():\n"
            "    yield 1\n"
            "    return 2\n"
            "list(a())"
        ),
        "[1, 2]",
    ),
    (
        ("(lambda x, *y, z=3: (x, y, z))(1, 2)"),
        "(1, (2,), 3)",
    ),
    (
        ("def f(x: int, *, y: 'str' = '') -> float: return x\nf.__annotations__['y']"),
        "'str'",
    ),
    (
        ("def f(tool): return tool + 1\nf(1)"),
        "2",
    ),
    (
        ("fact = lambda n: n * fact(n - 1) if n else 1\nfact(10)"),
        "3628800",
    ),
]
REFUSED = [
    ("def tool(): pass", "Cannot assign to name 'tool'"),
    ("def f(__builtins__): pass", "as the name of a parameter"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
