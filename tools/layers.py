"""Rooms of ``smolagents_fork``, their imports, and the names of modules."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import grimp

__all__ = ["PACKAGE", "repeated_names", "room_imports"]

PACKAGE = "smolagents_fork"


def room_imports(package: Path) -> dict[str, set[str]]:
    """Return the rooms, which are folders and the modules beside them, and what each imports.

    Args:
        package: the folder of ``smolagents_fork``.
    """
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules - {PACKAGE}:
        room = _room_of(package, module)
        imported = graph.find_modules_directly_imported_by(module) - {PACKAGE}
        found[room] |= {_room_of(package, other) for other in imported} - {room}
    return dict(found)


def _room_of(package: Path, module: str) -> str:
    path = package.parent.joinpath(*module.split("."))
    folder = path if path.is_dir() else path.parent
    return path.name if folder == package else folder.relative_to(package).as_posix()


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
