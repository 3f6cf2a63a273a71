"""The tracked patch series: the patches and their order."""

from __future__ import annotations

from pathlib import Path

from buildsys.errors import BuildError
from buildsys.patchfile import Patch, parse_patch

__all__ = ["load_prune_list", "load_series", "series_names"]


def _entries(path: Path) -> list[tuple[int, str]]:
    """Read the numbered entries of a list file: one per line, ``#`` starts a comment."""
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise BuildError(f"{path}: missing; the series and the prune list are required") from None
    except UnicodeDecodeError as error:
        raise BuildError(f"{path}: not UTF-8: {error}") from None
    entries: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.split("#", 1)[0].strip()
        if entry:
            if any(entry == other for _, other in entries):
                raise BuildError(f"{path}:{number}: {entry!r} is listed twice; expected once")
            entries.append((number, entry))
    return entries


def series_names(folder: Path) -> list[str]:
    """Return the file names of the series, in order.

    Args:
        folder: the ``patches`` folder.

    Raises:
        BuildError: a listed patch does not exist, is listed twice, or a patch is not listed.
    """
    series = folder / "series"
    entries = _entries(series)
    present = {path.name for path in folder.glob("*.patch")}
    for number, entry in entries:
        if entry not in present:
            raise BuildError(
                f"{series}:{number}: {entry!r} is listed, but does not exist in {folder}"
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
    """Return the paths of the release that the fork removes.

    Args:
        folder: the ``patches`` folder, which contains ``prune.list``.
    """
    return [entry for _, entry in _entries(folder / "prune.list")]
