"""Names of the modules of ``smolagents_fork``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

__all__ = ["PACKAGE", "repeated_names"]

PACKAGE = "smolagents_fork"


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
