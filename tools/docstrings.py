"""Holds docstrings to their openings: a verb for functions, a noun for classes and modules."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["FOLDERS", "OPENINGS", "docstring_violations"]

#: Folders of a checkout whose docstrings are checked.
FOLDERS = ("buildsys", "smolagents_fork", "tools")
#: Words that begin a clause instead of naming the subject.
OPENINGS = frozenset({"How", "That", "What", "When", "Where", "Whether", "Which", "Who", "Why"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_violations(root: Path) -> list[str]:
    """List docstrings that open with a clause.

    Args:
        root: the checkout.

    Returns:
        One line each: file, line and the docstring's first line.
    """
    found: list[str] = []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
                first = text.splitlines()[0]
                if first.split()[0].rstrip(",:") in OPENINGS:
                    line = getattr(node, "lineno", 1)
                    found.append(f"{path.relative_to(root).as_posix()}:{line}: {first}")
    return found
