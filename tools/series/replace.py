"""Replaces several files of the checkout as one: all of them or, after a crash, still all.

No file system renames a set of files at once, so the new set is staged whole, a journal that
names it is renamed into place, and from that moment on the replacement is decided: whoever comes
next finishes it. Before that moment nothing has been touched.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

__all__ = ["recover", "replace_files"]

_JOURNAL = "journal.json"


def _sync(path: Path) -> None:
    """Make a file's bytes, or a folder's entries, survive the machine's end."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _ignore(_: str) -> None:
    pass


def replace_files(
    root: Path,
    journal: Path,
    files: Mapping[str, bytes | None],
    reached: Callable[[str], None] = _ignore,
) -> None:
    """Write and delete files below a folder so that a crash leaves either none or all of it done.

    Args:
        root: the folder.
        journal: a folder for the staged files; on the same file system, and its caller's alone.
        files: new bytes by relative POSIX path; None deletes the file.
        reached: called with ``staged``, ``decided`` and, after each file, ``replaced``.

    Raises:
        OSError: staging failed (disk full, no permission): nothing was changed.
    """
    recover(root, journal)
    journal.mkdir(parents=True)
    entries: list[dict[str, str | None]] = []
    for number, (name, data) in enumerate(sorted(files.items())):
        parts = PurePosixPath(name).parts
        if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
            raise ValueError(f"{name!r}: expected a relative path without '..'")
        staged = None if data is None else f"{number}.new"
        if staged is not None and data is not None:
            (journal / staged).write_bytes(data)
            _sync(journal / staged)
        entries.append({"path": name, "staged": staged})
    draft = journal / "journal.tmp"
    draft.write_text(json.dumps(entries), "utf-8")
    _sync(draft)
    reached("staged")
    draft.replace(journal / _JOURNAL)  # the decision
    _sync(journal)
    reached("decided")
    recover(root, journal, reached)


def recover(root: Path, journal: Path, reached: Callable[[str], None] = _ignore) -> bool:
    """Finish a decided replacement, or sweep away one that was never decided.

    Args:
        root: as given to :func:`replace_files`.
        journal: likewise.
        reached: likewise.

    Returns:
        Whether a decided replacement was found and finished.
    """
    if not journal.exists():
        return False
    decided = (journal / _JOURNAL).is_file()
    if decided:
        for entry in json.loads((journal / _JOURNAL).read_text("utf-8")):
            target = root / entry["path"]
            if entry["staged"] is None:
                target.unlink(missing_ok=True)
            elif (staged := journal / entry["staged"]).exists():  # else finished before the crash
                target.parent.mkdir(parents=True, exist_ok=True)
                staged.replace(target)
                _sync(target.parent)
            reached("replaced")
        # Last, or the staged files that are gone would look like entries not finished.
        (journal / _JOURNAL).unlink()
    shutil.rmtree(journal)
    return decided
