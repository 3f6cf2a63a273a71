"""The imports of ``smolagents_fork`` as a graph, and the cycles in it."""

from __future__ import annotations

import ast
import graphlib
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
    """List cycles that have no node in common; the first node of each is also its last.

    Args:
        graph: node to the nodes it points at.
    """
    found: list[list[str]] = []
    while True:
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            *cycle, _ = reversed(error.args[1])
            first = cycle.index(min(cycle))
            found.append([*cycle[first:], *cycle[: first + 1]])
            graph = {node: graph[node] - {*cycle} for node in graph.keys() - {*cycle}}
        else:
            return sorted(found)
