"""Open the series for editing in a scratch repository, take it back, and check it at rest."""

from __future__ import annotations

import difflib
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.errors import SeriesError
from tools.git import Git
from tools.paths import Project
from tools.series.repository import (
    BASE,
    create,
    exported,
    folder_digest,
    refuse_unfinished,
    release_base,
    series_files,
    write_files,
)

__all__ = ["Difference", "close_series", "differences", "open_series"]

# The repository's setting for the digest of patches/ that it was made from.
_DIGEST = "series.digest"


class Difference(NamedTuple):
    """A file of the series that is not as exported.

    Attributes:
        path: the file, relative to the checkout.
        correct: its bytes as exported.
        diff: from what it is to what it ought to be, as text.
    """

    path: str
    correct: bytes
    diff: str


def _created(project: Project, folder: Path) -> Git:
    lock = lockfile.load(project.lock)
    tree = release_base(lock, load_prune_list(project.patches), project.cache)
    return create(folder, tree, project, lock.version)


def open_series(project: Project, folder: Path, *, force: bool = False) -> Git:
    """Make a repository whose first commit is the pruned release and whose next are the series.

    Args:
        folder: where to make it.
        force: replace what is there.

    Raises:
        SeriesError: the folder exists.
        BuildError, FetchError: see :func:`tools.series.repository.release_base`.
    """
    if folder.exists() and any(folder.iterdir()) and not force:
        raise SeriesError(f"{folder}: exists; export what is in it, then remove it")
    shutil.rmtree(folder, ignore_errors=True)
    git = _created(project, folder)
    git.run("config", _DIGEST, folder_digest(project))
    return git


def close_series(project: Project, folder: Path, *, force: bool = False) -> list[str]:
    """Export the repository's commits into ``patches/``, all files as one.

    Args:
        folder: the repository, from :func:`open_series`.
        force: also when ``patches/`` or the lock has changed since it was opened.

    Returns:
        Relative paths of the files that were written or deleted.

    Raises:
        SeriesError: the commits are not a series; or ``patches/`` has moved in the meantime.
        BuildError: a commit contains what the strict applier does not accept.
    """
    git = Git(folder)
    if not git.git_dir.is_dir():
        raise SeriesError(f"{folder}: not a repository; make patches-edit makes it")
    refuse_unfinished(git)
    known = git.run("config", _DIGEST, check=False).stdout.decode().strip()
    if known != folder_digest(project) and not force:
        raise SeriesError(
            f"patches/ or upstream.lock has changed since {folder} was opened; exporting would "
            f"undo that. Open another folder and cherry-pick into it, or use --force"
        )
    there = {f"patches/{path.name}": path.read_bytes() for path in project.patches.iterdir()}
    files = series_files(project.patches, exported(git, BASE))
    changed = {name: data for name, data in files.items() if there.get(name) != data}
    write_files(project.root, changed)
    git.run("config", _DIGEST, folder_digest(project))
    return sorted(changed)


def differences(project: Project) -> list[Difference]:
    """Commit the series in a scratch repository, export it again, and compare.

    Args:
        project: the checkout; nothing in it is changed.

    Raises:
        SeriesError, BuildError: the series does not apply, by git or by the strict applier.
        FetchError: the release is not to be had.
    """
    with tempfile.TemporaryDirectory() as scratch:
        new = series_files(
            project.patches, exported(_created(project, Path(scratch) / "series"), BASE)
        )
    found: list[Difference] = []
    for path, correct in new.items():
        old = (project.root / path).read_bytes()
        if correct is not None and correct != old:
            found.append(Difference(path, correct, _diff(path, old, correct)))
    return found


def _diff(path: str, old: bytes, new: bytes) -> str:
    before, after = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
    names = (f"a/{path}", f"b/{path} (as exported)")
    lines = difflib.unified_diff(before, after, *names, lineterm="")
    return "\n".join(lines) or f"{path}: differs in line ends, or in the last line's"
