"""Puts the finished rebase into the checkout; after a crash it can be finished or undone."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from tools.paths import Project
from tools.rebase.points import reached
from tools.rebase.state import Folder, RebaseError
from tools.series.replace import recover, replace_files

__all__ = ["is_written", "roll_back", "write"]


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _manifest_file(folder: Folder) -> Path:
    return folder.before / "manifest.json"


def _manifest(folder: Folder) -> dict[str, dict[str, str | None]] | None:
    try:
        data: dict[str, dict[str, str | None]] = json.loads(
            _manifest_file(folder).read_text("utf-8")
        )
    except FileNotFoundError:
        return None
    return data


def write(project: Project, folder: Folder, files: dict[str, bytes | None]) -> None:
    """Replace the files in the checkout, all or none; the old ones are kept until the end.

    Args:
        project: the checkout.
        folder: the rebase's folder.
        files: new bytes by path; None deletes.
    """
    folder.before.mkdir(exist_ok=True)
    manifest: dict[str, dict[str, str | None]] = {}
    for number, (path, data) in enumerate(sorted(files.items())):
        old = _bytes(project.root / path)
        manifest[path] = {"kept": None, "before": _digest(old), "after": _digest(data)}
        if old is not None:
            manifest[path]["kept"] = f"{number}.old"
            (folder.before / f"{number}.old").write_bytes(old)
    draft = folder.before / "manifest.tmp"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(_manifest_file(folder))
    reached("kept-before")
    replace_files(project.root, folder.journal, files, reached)
    reached("written")


def is_written(project: Project, folder: Folder) -> bool:
    """Finish a replacement that was decided; tell whether the checkout now holds the result.

    Raises:
        RebaseError: the checkout holds neither what was there nor what was to be.
    """
    recover(project.root, folder.journal, reached)
    manifest = _manifest(folder)
    if manifest is None:
        return False
    changed = {path: entry for path, entry in manifest.items() if entry["before"] != entry["after"]}
    now = {path: _digest(_bytes(project.root / path)) for path in changed}
    undone = [path for path, entry in changed.items() if now[path] != entry["after"]]
    if not undone:
        return True
    if len(undone) == len(changed):
        return False  # the old files were kept, and then nothing was decided
    raise RebaseError(
        f"{', '.join(undone)}: changed while the rebase was being written; put back what the "
        f"rebase makes of it, or for make rebase-abort what it was: both are in .rebase "
        f"(copy/ and before/)"
    )


def roll_back(project: Project, folder: Folder) -> None:
    """Undo what was written.

    Raises:
        RebaseError: see :func:`is_written`.
    """
    manifest = _manifest(folder)
    if manifest is None or not is_written(project, folder):
        return
    replace_files(
        project.root,
        folder.journal,
        {
            path: (folder.before / entry["kept"]).read_bytes() if entry["kept"] else None
            for path, entry in manifest.items()
        },
    )
