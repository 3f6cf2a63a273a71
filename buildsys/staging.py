"""Path of the staged package, for the wheel hook, which hatchling loads by path.

It is a module variable, not an environment variable, so that it exists only during the build.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from buildsys.errors import BuildError

__all__ = ["announced", "staged_package"]

_folder: Path | None = None


@contextmanager
def announced(folder: Path) -> Iterator[None]:
    """Announce the folder while the block runs."""
    global _folder
    _folder = folder
    try:
        yield
    finally:
        _folder = None


def staged_package() -> Path:
    """Return the announced folder.

    Raises:
        BuildError: hatchling was called directly, so that nothing was staged.
    """
    if _folder is None:
        raise BuildError(
            "no staged smolagents package: build with the project's backend "
            "(pip wheel ., python -m build), not with hatchling directly"
        )
    return _folder
