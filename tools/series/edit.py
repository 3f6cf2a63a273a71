"""Open the series for editing in a scratch repository, take it back, and check it at rest."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.errors import SeriesError
from tools.git import Git
from tools.paths import Project
from tools.series.repository import (
    BASE,
    create,
    export,
    folder_digest,
    refuse_unfinished,
    release_base,
    series_files,
    write_files,
)

__all__ = ["close_series", "differences", "open_series"]

# The repository's setting for the digest of patches/ that it was made from.
_DIGEST = "series.digest"


def _create(project: Project, folder: Path) -> Git:
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
    git = _create(project, folder)
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
    files = series_files(project.patches, export(git, BASE))
    changed = {name: data for name, data in files.items() if there.get(name) != data}
    write_files(project.root, changed)
    git.run("config", _DIGEST, folder_digest(project))
    return sorted(changed)


def differences(project: Project) -> dict[str, bytes]:
    """Commit the series in a scratch repository, export it again, and compare.

    Args:
        project: the checkout; nothing in it is changed.

    Returns:
        Bytes as exported of each file that has others, by relative path.

    Raises:
        SeriesError, BuildError: the series does not apply, by git or by the strict applier.
        FetchError: the release is not to be had.
    """
    with tempfile.TemporaryDirectory() as scratch:
        patches = export(_create(project, Path(scratch) / "series"), BASE)
    return {
        path: correct
        for path, correct in series_files(project.patches, patches).items()
        if correct is not None and correct != (project.root / path).read_bytes()
    }
