"""The text of a test file as a program, whole or without what the interpreter refuses."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "REMOVED",
    "find_test_folder",
    "imported_modules",
    "program_text",
    "test_file",
    "without_line",
]

#: How the message of a function's stand-in begins.
REMOVED = "removed from the file: "
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def find_test_folder() -> Path | None:
    """Return the folder of Python's own test package; ``None`` where it is not installed."""
    try:
        found = importlib.util.find_spec("test.support")
    except ImportError:
        return None
    return None if found is None or found.origin is None else Path(found.origin).parents[1]


def test_file(folder: Path, name: str) -> Path | None:
    """Return the file of a test by its name: a module, or a package's ``__init__``."""
    for path in (folder / f"{name}.py", folder / name / "__init__.py"):
        if path.is_file():
            return path
    return None


def program_text(text: str) -> str:
    """Return ``text`` without its ``if __name__ == "__main__"``, which would run all tests.

    Lines keep their numbers.
    """
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.If) and ast.unparse(node.test).startswith("__name__ "):
            _replace(lines, node, "pass")
    return "".join(lines)


def without_line(text: str, line: int, error: str) -> str | None:
    """Return ``text`` without the smallest part that has ``line`` in it and can be missed.

    That is a function, in whose place one stands that raises the error; else, of an import from a
    module, the names that the error has in it or that are private; else the statement at the
    file's top level. Lines keep their numbers.

    Args:
        text: from :func:`program_text`.
        line: where loading failed.
        error: the error's first line.

    Returns:
        ``None`` where nothing can be taken out.
    """
    lines = text.splitlines(keepends=True)
    for statement in ast.parse(text).body:
        if not _first_line(statement) <= line <= _last_line(statement):
            continue
        for function in _functions(statement):
            is_stand_in = REMOVED in lines[_first_line(function) - 1]
            if _first_line(function) <= line <= _last_line(function) and not is_stand_in:
                return _replace(lines, function, _stand_in(function, error))
        if isinstance(statement, ast.Pass):
            return None
        instead = "pass"
        if isinstance(statement, ast.ImportFrom):
            refused = _refused_names(statement, error)
            kept = [alias for alias in statement.names if alias.name not in refused]
            if refused and kept:
                instead = ast.unparse(ast.ImportFrom(statement.module, kept, statement.level))
        return _replace(lines, statement, instead)
    return None


def imported_modules(text: str) -> list[str]:
    """List every module that the program imports anywhere, and what it takes from one by name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # The name may be a module of that package; if not, it authorises nothing.
            found = [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*"]
            found.append(node.module)
        else:
            continue
        for dotted in found:
            parts = dotted.split(".")
            names.update(".".join(parts[: n + 1]) for n in range(len(parts)))
    return sorted(names)


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield ``node``, or the methods of classes below it at any depth, but no function in another.

    A function that makes test classes is not one of them: its classes' methods are.
    """
    if isinstance(node, _DEFINITIONS) and not _makes_tests(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _functions(child)


def _makes_tests(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if node.name.startswith("test") and any(one.arg == "self" for one in node.args.args):
        return False
    return any(
        isinstance(one, _DEFINITIONS) and one.name.startswith("test")
        for cls in ast.walk(node)
        if isinstance(cls, ast.ClassDef)
        for one in cls.body
    )


def _stand_in(function: ast.FunctionDef | ast.AsyncFunctionDef, error: str) -> str:
    """Return one line that defines the same name, as a function that raises ``error``."""
    name, margin = function.name, " " * function.col_offset
    return f"{margin}def {name}(*_a, **_k): raise AssertionError({REMOVED + error!r})"


def _refused_names(node: ast.ImportFrom, error: str) -> list[str]:
    words = set(re.findall(r"\w+", error))
    named = [alias.name for alias in node.names if alias.name in words]
    return named or [alias.name for alias in node.names if alias.name.startswith("_")]


def _replace(lines: list[str], node: ast.stmt, instead: str) -> str:
    """Put a line in a statement's place; return the text."""
    first = _first_line(node)
    for number in range(first, _last_line(node) + 1):
        lines[number - 1] = (instead if number == first else "") + "\n"
    return "".join(lines)


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return int(min([node.lineno, *(one.lineno for one in decorators)]))


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
