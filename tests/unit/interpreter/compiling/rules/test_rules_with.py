"""Rewriting rules: with: one manager, many, and what swallows."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        (
            "class M:\n"
            "    def __enter__(self): return 1\n"
            "    def __exit__(self, *a): return True\n"
            "with M() as x, M() as y:\n"
            "    1 / 0\n"
            "(x, y)"
        ),
        "(1, 1)",
    ),
    (
        (
            "from contextlib import contextmanager\n"
            "log = []\n"
            "@contextmanager\n"
            "def m():\n"
            "    log.append('in')\n"
            "    yield 2\n"
            "    log.append('out')\n"
            "with (m() as x):\n"
            "    log.append(x)\n"
            "log"
        ),
        "['in', 2, 'out']",
    ),
    (
        ("from contextlib import suppress\nwith suppress(ZeroDivisionError):\n    1 / 0\n'on'"),
        "'on'",
    ),
]
REFUSED = [
    ("with tool(1) as tool: pass", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
