"""Whether the test that a patch names is there, found without running anything."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["missing_test"]


def missing_test(root: Path, test: str) -> str | None:
    """Say what is wrong with a pytest id, or None when it names a test that exists.

    Args:
        root: the checkout's top folder, which the id's path is relative to.
        test: such as ``tests/unit/test_a.py::test_b`` or ``...::TestGroup::test_b[case]``.
    """
    path, _, names = test.partition("::")
    wanted = [name.split("[", 1)[0] for name in names.split("::")] if names else []
    if not wanted or not path.startswith("tests/") or ".." in path or not path.endswith(".py"):
        return f"{test!r} is no test id; expected tests/<path>.py::<function>"
    if not wanted[-1].startswith("test"):
        return f"{test!r}: {wanted[-1]!r} is not a test function: expected a name with test_"
    try:
        body: list[ast.stmt] = ast.parse((root / path).read_bytes()).body
    except FileNotFoundError:
        return f"{test!r}: {path} does not exist"
    except SyntaxError as error:
        return f"{test!r}: {path}:{error.lineno}: {error.msg}"
    for name in wanted:
        found = [
            node
            for node in body
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and node.name == name
        ]
        if not found:
            return f"{test!r}: {path} defines no {name!r} there"
        body = found[-1].body
    return None
