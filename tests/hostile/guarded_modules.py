"""Modules that the interpreter guards: those the fuzzer searches, and those the canary watches."""

from __future__ import annotations

#: What the fuzzer's programs import and walk.
SEARCHED = [
    "math",
    "json",
    "re",
    "random",
    "collections",
    "datetime",
    "statistics",
    "itertools",
    "queue",
    "string",
    "operator",
    "functools",
    "copy",
    "enum",
    "dataclasses",
    "typing",
    "contextlib",
    "decimal",
    "time",
    "textwrap",
    "heapq",
    "abc",
    "asyncio",
]
#: What no program may change: these, and the libraries that most programs would use.
WATCHED = tuple(
    name
    for name in (*SEARCHED, *["builtins", "unicodedata", "calendar", "base64", "numpy", "pandas"])
    if name not in ("asyncio",)
)
