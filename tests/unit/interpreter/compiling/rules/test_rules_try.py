"""Rewriting rules: try in all forms, and raise."""

from __future__ import annotations

from program_harness import each_gives, each_refused

GIVES = [
    (
        (
            "r = []\n"
            "try:\n"
            "    1 / 0\n"
            "except (KeyError, ZeroDivisionError) as e:\n"
            "    r.append(type(e).__name__)\n"
            "else:\n"
            "    r.append('else')\n"
            "finally:\n"
            "    r.append('finally')\n"
            "r"
        ),
        "['ZeroDivisionError', 'finally']",
    ),
    (
        (
            "try:\n"
            "    raise ValueError('a') from KeyError('b')\n"
            "except ValueError as e:\n"
            "    r = repr(e.__cause__)\n"
            "r"
        ),
        "\"KeyError('b')\"",
    ),
    (
        ("def f():\n    try:\n        return 1\n    finally:\n        return 2\nf()"),
        "2",
    ),
    (
        ("for i in range(3):\n    try:\n        continue\n    finally:\n        r = i\nr"),
        "2",
    ),
    (
        (
            "try:\n"
            "    try:\n"
            "        raise KeyError\n"
            "    except KeyError:\n"
            "        raise\n"
            "except LookupError:\n"
            "    r = 'again'\n"
            "r"
        ),
        "'again'",
    ),
    (
        ("try:\n    pass\nexcept Exception as e:\n    pass\nelse:\n    r = 'else'\nr"),
        "'else'",
    ),
    (
        ("class E(Exception): pass\ntry:\n    raise E(3)\nexcept E as e:\n    r = e.args\nr"),
        "(3,)",
    ),
]
REFUSED = [
    ("try: pass\nexcept Exception as tool: pass", "Cannot assign to name 'tool'"),
]

test_means_what_it_means_in_python = each_gives(GIVES)
test_is_refused_where_it_is_reached = each_refused(REFUSED)
