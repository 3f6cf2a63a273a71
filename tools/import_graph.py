"""The imports of ``smolagents_fork`` as a graph, and the cycles in it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

__all__ = ["PACKAGE", "cycles", "imports", "modules"]

PACKAGE = "smolagents_fork"


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


def modules(package: Path, folder: Path) -> dict[str, set[str]]:
    """Every module below ``folder`` and those of them that it imports, at any depth of nesting.

    Imports for type checking only and inside functions count.

    Args:
        package: the folder of ``smolagents_fork``.
        folder: it, or one in it.
    """
    paths = {_name(package, path): path for path in sorted(folder.rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        graph[module] = set()
        for _, name in imports(path, path.relative_to(package)):
            # ``package.module.name``: the longest beginning that is a module.
            parts = name.split(".")[1:]
            while parts and ".".join(parts) not in paths:
                parts.pop()
            if parts and ".".join(parts) != module:
                graph[module].add(".".join(parts))
    return graph


def _name(package: Path, path: Path) -> str:
    parts = list(path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def cycles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """One cycle through each group of nodes that reach each other; its first node stands last, too.

    Args:
        graph: node to the nodes it points at.
    """
    found: list[list[str]] = []
    seen: set[str] = set()
    for start in sorted(graph):
        if start in seen:
            continue
        path = _way_back(graph, start)
        if path:
            found.append(path)
            seen.update(node for node in graph if _reaches(graph, start, node, back=True))
    return found


def _way_back(graph: Mapping[str, set[str]], start: str) -> list[str]:
    """The shortest path from ``start`` to itself; empty if there is none."""
    before: dict[str, str] = {}
    todo = [start]
    for node in todo:
        for other in sorted(graph.get(node, ())):
            if other == start:
                path = [start, node]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if other not in before:
                before[other] = node
                todo.append(other)
    return []


def _reaches(graph: Mapping[str, set[str]], start: str, end: str, *, back: bool = False) -> bool:
    """Tell whether a path goes from ``start`` to ``end``, and with ``back`` another one back."""
    seen, todo = {start}, [start]
    for node in todo:
        for other in graph.get(node, ()):
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return end in seen and (not back or _reaches(graph, end, start))
