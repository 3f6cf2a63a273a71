"""Rooms of ``smolagents_fork``, and the names of modules."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

__all__ = ["PACKAGE", "repeated_names", "rooms"]

PACKAGE = "smolagents_fork"


def rooms(package: Path) -> set[str]:
    """Return the rooms, which are folders and the modules beside them.

    Args:
        package: Folder of ``smolagents_fork``.
    """
    paths = {
        path for path in package.rglob("*.py") if path.stem != "__init__" or path.parent != package
    }
    return {
        path.stem if path.parent == package else path.parent.relative_to(package).as_posix()
        for path in paths
    }


def repeated_names(package: Path) -> list[str]:
    """List module names that stand twice in the package, one line each.

    Args:
        package: the folder of ``smolagents_fork``.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        if path.stem != "__init__":
            places[path.stem].append(path.relative_to(package).as_posix())
    return [
        f"{' and '.join(paths)}: a module's name stands once in the package"
        for paths in places.values()
        if len(paths) > 1
    ]
