"""The text of a test file as a program, whole or without what the interpreter refuses."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "REMOVED",
    "Removed",
    "find_test_folder",
    "imported_modules",
    "program_text",
    "test_file",
    "without_line",
]

#: How the message of a function's stand-in begins.
REMOVED = "removed from the file: "
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Removed:
    """A part of a file that was taken out because the file does not load with it.

    Args:
        first: its first line.
        last: its last line.
        names: what it binds at the file's top level; empty for a function that has a stand-in.
        text: its first line's text.
        error: why the file did not load.
    """

    first: int
    last: int
    names: tuple[str, ...]
    text: str
    error: str


def find_test_folder() -> Path | None:
    """Return the folder of Python's own test package; ``None`` where it is not installed."""
    try:
        found = importlib.util.find_spec("test.support")
    except ImportError:
        return None
    return None if found is None or found.origin is None else Path(found.origin).parents[1]


def test_file(folder: Path, name: str) -> Path | None:
    """The file of a test by its name: a module, or a package's ``__init__``."""
    for path in (folder / f"{name}.py", folder / name / "__init__.py"):
        if path.is_file():
            return path
    return None


def program_text(text: str) -> str:
    """``text`` without its ``if __name__ == "__main__"`` at the end, which would run all tests.

    Lines keep their numbers.
    """
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, ast.If) and _is_main_check(node.test):
            _replace(lines, node, "pass")
    return "".join(lines)


def without_line(
    text: str, line: int, error: str, removed: Sequence[Removed] = ()
) -> tuple[str, Removed] | None:
    """``text`` without the smallest part that has ``line`` in it and can be missed.

    That is a function, in whose place one stands that raises the error; else, of an import from a
    module, the names that the error has in it or that are private; else the statement at the
    file's top level. Lines keep their numbers.

    Args:
        text: from :func:`program_text`.
        line: where loading failed.
        error: the error's first line.
        removed: what was taken out before; a function is not replaced twice.

    Returns:
        ``None`` where nothing can be taken out.
    """
    lines = text.splitlines(keepends=True)
    before = {part.first for part in removed}
    for statement in ast.parse(text).body:
        if not _first_line(statement) <= line <= _last_line(statement):
            continue
        for function in _functions(statement):
            first = _first_line(function)
            if first <= line <= _last_line(function) and first not in before:
                return _without(lines, function, _stub(function, error), (), error)
        if isinstance(statement, ast.Pass):
            return None
        if isinstance(statement, ast.ImportFrom):
            dropped = _refused_names(statement, error)
            kept = [alias for alias in statement.names if alias.name not in dropped]
            if dropped and kept:
                instead = ast.unparse(ast.ImportFrom(statement.module, kept, statement.level))
                return _without(lines, statement, instead, tuple(dropped), error)
        return _without(lines, statement, "pass", tuple(_bound(statement)), error)
    return None


def imported_modules(text: str) -> list[str]:
    """Every module that the program imports anywhere, and what it takes from one by name."""
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
    """``node``, or the methods of classes below it at any depth, but no function in another.

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


def _stub(function: ast.FunctionDef | ast.AsyncFunctionDef, error: str) -> str:
    """One line that defines the same name, as a function that raises ``error`` when called."""
    name, margin = function.name, " " * function.col_offset
    return f"{margin}def {name}(*_a, **_k): raise AssertionError({REMOVED + error!r})"


def _refused_names(node: ast.ImportFrom, error: str) -> list[str]:
    words = set(re.findall(r"\w+", error))
    named = [alias.name for alias in node.names if alias.name in words]
    return named or [alias.name for alias in node.names if alias.name.startswith("_")]


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement binds at the top level, those of imports and definitions included."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, ast.alias):
            yield (one.asname or one.name).split(".")[0]
    if isinstance(node, ast.ClassDef):
        yield node.name


def _without(
    lines: list[str], node: ast.stmt, instead: str, names: tuple[str, ...], error: str
) -> tuple[str, Removed]:
    first, last = _first_line(node), _last_line(node)
    removed = Removed(first, last, names, lines[first - 1].strip(), error)
    _replace(lines, node, instead)
    return "".join(lines), removed


def _replace(lines: list[str], node: ast.stmt, instead: str) -> None:
    first = _first_line(node)
    for number in range(first, _last_line(node) + 1):
        lines[number - 1] = (instead if number == first else "") + "\n"


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", [])
    return int(min([node.lineno, *(one.lineno for one in decorators)]))


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _is_main_check(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )
