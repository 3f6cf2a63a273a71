"""Holds ``smolagents_fork`` against its layers (docs/architecture.md) by its import statements."""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["LAYERS", "PACKAGE", "imports", "violations"]

# Low to high. A module imports from its own part and from rows above it; parts in one row are
# siblings and never import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("_version", "errors"),
    ("deadline", "hints", "output", "results", "texts"),
    ("codec",),
    ("help",),
    ("interpreter", "jupyter", "sandboxes"),
    ("process",),
    ("upstream",),
    ("bridge",),
    ("executors",),
    ("__init__",),
)
PACKAGE = "smolagents_fork"
_RANKS = {part: rank for rank, row in enumerate(LAYERS) for part in row}


def violations(package: Path) -> list[str]:
    """Every import that goes up or sideways, and every use of ``smolagents`` outside its layer.

    Args:
        package: the folder of ``smolagents_fork``.

    Returns:
        One line each: file, line, what is imported, and why not.
    """
    found: list[str] = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        part = relative.parts[0].removesuffix(".py")
        where = f"{PACKAGE}/{relative.as_posix()}"
        if part not in _RANKS:
            found.append(f"{where}:1: part {part!r} has no layer; give it one in tools/layers.py")
            continue
        for line, name in imports(path, relative):
            text = _judgement(part, name)
            if text:
                found.append(f"{where}:{line}: imports {name}: {text}")
    return found


def imports(path: Path, relative: Path) -> list[tuple[int, str]]:
    """Line and absolute dotted name of what a file imports, at any depth of nesting.

    Args:
        path: the file.
        relative: the same file from the folder of ``smolagents_fork``.
    """
    names: list[tuple[int, str]] = []
    parents = [PACKAGE, *relative.parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return names


def _judgement(part: str, name: str) -> str:
    top, _, rest = name.partition(".")
    if top == "smolagents" and part != "upstream":
        return "only upstream imports smolagents"
    if top != PACKAGE:
        return ""
    other = rest.split(".")[0]
    if other not in _RANKS or other == part:
        return ""
    if _RANKS[other] > _RANKS[part]:
        return f"{other} is a higher layer than {part}"
    if _RANKS[other] == _RANKS[part]:
        return f"{other} and {part} are siblings"
    return ""
