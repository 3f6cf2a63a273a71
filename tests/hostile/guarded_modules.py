"""Modules that the interpreter guards: those that the fuzzer uses, and those that are checked."""

from __future__ import annotations

#: Modules that the fuzzer's programs import and traverse.
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
#: Modules that no program may change: these, and the most common libraries.
WATCHED = tuple(
    name
    for name in (*SEARCHED, *["builtins", "unicodedata", "calendar", "base64", "numpy", "pandas"])
    if name not in ("asyncio",)
)
