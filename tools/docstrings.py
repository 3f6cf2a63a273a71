"""Language rules for docstrings and messages that a machine can check.

A docstring opens with a verb (functions) or a noun (classes and modules). Docstrings and messages
say "is not a", never "is no".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["DATA", "FOLDERS", "OPENINGS", "docstring_violations"]

#: Folders of a checkout whose docstrings are checked.
FOLDERS = ("buildsys", "examples", "smolagents_fork", "tests", "tools")
#: Folders of programs, which are input of tests and need not parse.
DATA = frozenset({"corpus", "programs"})
#: Words that begin a clause instead of naming the subject.
OPENINGS = frozenset({"How", "That", "What", "When", "Where", "Whether", "Which", "Who", "Why"})
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# "There is no network" and "is no longer" are idiomatic.
_IS_NO = re.compile(r"(?<![Tt]here )\b(?:is|are) no (?!longer\b|more\b|other\b|such\b)[a-z]+")


def docstring_violations(root: Path) -> list[str]:
    """List docstrings that open with a clause, and texts that say "is no".

    Strings of tests are not checked, since tests quote the messages of others.

    Args:
        root: the checkout.

    Returns:
        One line each: file, line and the offending text.
    """
    found: list[str] = []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        relative = path.relative_to(root)
        if DATA.isdisjoint(relative.parts):
            tree = ast.parse(path.read_text("utf-8"))
            for line, text in _violations(tree, messages=relative.parts[0] != "tests"):
                found.append(f"{relative.as_posix()}:{line}: {text}")
    return found


def _violations(tree: ast.Module, *, messages: bool) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            line, first = getattr(node, "lineno", 1), text.splitlines()[0]
            if first.split()[0].rstrip(",:") in OPENINGS:
                yield line, first
            if not messages and (match := _IS_NO.search(text)):
                yield line, match[0]
        elif (
            messages
            and isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (match := _IS_NO.search(node.value))
        ):
            yield node.lineno, match[0]
