"""The tracked patch series: which patches there are and in which order."""

from __future__ import annotations

from pathlib import Path

from buildsys.errors import BuildError
from buildsys.patchfile import Patch, parse_patch

__all__ = ["load_prune_list", "load_series", "series_names"]


def _entries(path: Path) -> list[tuple[int, str]]:
    """Numbered entries of a list file: one a line, ``#`` starts a comment."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise BuildError(f"{path}: missing; the series and the prune list are required") from None
    entries: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.split("#", 1)[0].strip()
        if entry:
            if any(entry == other for _, other in entries):
                raise BuildError(f"{path}:{number}: {entry!r} is listed twice; expected once")
            entries.append((number, entry))
    return entries


def series_names(folder: Path) -> list[str]:
    """File names of the series, in order.

    Args:
        folder: the ``patches`` folder.

    Raises:
        BuildError: a listed patch does not exist, one is listed twice, or one is not listed.
    """
    series = folder / "series"
    entries = _entries(series)
    present = {path.name for path in folder.glob("*.patch")}
    for number, entry in entries:
        if entry not in present:
            raise BuildError(
                f"{series}:{number}: {entry!r} is listed, but {folder} has no such patch"
            )
    listed = [entry for _, entry in entries]
    unlisted = sorted(present - set(listed))
    if unlisted:
        raise BuildError(
            f"{series}: {', '.join(unlisted)} in {folder} is not listed; list or remove it"
        )
    return listed


def load_series(folder: Path) -> list[Patch]:
    """Parse every patch of the series, in order.

    Args:
        folder: the ``patches`` folder.

    Raises:
        BuildError: see :func:`series_names` and :func:`buildsys.patchfile.parse_patch`.
    """
    return [
        parse_patch(f"{folder.name}/{name}", (folder / name).read_bytes())
        for name in series_names(folder)
    ]


def load_prune_list(folder: Path) -> list[str]:
    """Paths that the release carries and the fork drops.

    Args:
        folder: the ``patches`` folder, which holds ``prune.list``.
    """
    return [entry for _, entry in _entries(folder / "prune.list")]
