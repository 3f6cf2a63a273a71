"""Opens the series for editing in a scratch repository, and takes it back."""

from __future__ import annotations

import shutil
from pathlib import Path

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.git import Git, GitError
from tools.paths import Project
from tools.series.check import patch_bytes
from tools.series.export import exported, refuse_unfinished, series_files
from tools.series.replace import recover, replace_files
from tools.series.repository import BASE, SeriesError, create, folder_digest, release_base

__all__ = ["close_series", "finish_export", "open_series"]

# Where the repository remembers which state of patches/ it was made from.
_DIGEST = "series.digest"


def _journal(project: Project) -> Path:
    return project.build / "series-export.journal"


def finish_export(project: Project) -> None:
    """Finish an export that was interrupted while it replaced files; any command does this first.

    Args:
        project: the checkout.
    """
    recover(project.root, _journal(project))


def open_series(project: Project, folder: Path, *, force: bool = False) -> Git:
    """Make a repository whose first commit is the pruned release and whose next are the series.

    Args:
        project: the checkout.
        folder: where to make it; one that is there is replaced if nothing in it would be lost.
        force: replace it whatever it holds.

    Raises:
        SeriesError: the folder holds work that is not exported, or is no series repository.
        BuildError, FetchError: see :func:`tools.series.repository.release_base`.
    """
    finish_export(project)
    if folder.exists() and any(folder.iterdir()) and not force:
        _refuse_to_lose(project, folder)
    lock = lockfile.load(project.lock)
    tree = release_base(lock, load_prune_list(project.patches), project.cache)
    # Made beside and renamed, so that a folder of this name is always a whole one.
    draft = folder.with_name(f"{folder.name}.new")
    if draft.exists():
        shutil.rmtree(draft)
    git = create(draft, tree, lock.version, patch_bytes(project))
    git.run("config", _DIGEST, folder_digest(project))
    if folder.exists():
        shutil.rmtree(folder)
    draft.rename(folder)
    return Git(folder)


def _refuse_to_lose(project: Project, folder: Path) -> None:
    git = Git(folder)
    advice = "export it, or remove the folder, or use --force"
    if (
        not git.git_dir.is_dir()
        or git.run("rev-parse", "-q", "--verify", BASE, check=False).returncode
    ):
        raise SeriesError(f"{folder}: exists and is no repository of the series; {advice}")
    try:
        refuse_unfinished(git)
        held = list(exported(git, BASE).items())
    except (SeriesError, GitError) as error:
        raise SeriesError(f"{folder}: exists and holds work; {advice}:\n{error}") from None
    if held != list(patch_bytes(project).items()):
        raise SeriesError(f"{folder}: exists and holds a series that is not in patches/; {advice}")


def close_series(project: Project, folder: Path, *, force: bool = False) -> list[str]:
    """Export the repository's commits into ``patches/``, all files as one.

    Args:
        project: the checkout.
        folder: the repository, from :func:`open_series`.
        force: also when ``patches/`` or the lock has changed since it was opened.

    Returns:
        Relative paths of the files that were written or deleted.

    Raises:
        SeriesError: the commits are no series; or ``patches/`` has moved in the meantime.
        BuildError: a commit holds what the strict applier does not accept.
    """
    finish_export(project)
    git = Git(folder)
    if not git.git_dir.is_dir():
        raise SeriesError(f"{folder}: no repository; make patches-edit makes it")
    refuse_unfinished(git)
    known = git.run("config", _DIGEST, check=False).stdout.decode().strip()
    if known != folder_digest(project) and not force:
        raise SeriesError(
            f"patches/ or upstream.lock has changed since {folder} was opened; exporting would "
            f"undo that. Open another folder and cherry-pick into it, or use --force"
        )
    files = {
        name: data
        for name, data in series_files(project.patches, exported(git, BASE)).items()
        if data is None or not _holds(project.root / name, data)
    }
    replace_files(project.root, _journal(project), files)
    git.run("config", _DIGEST, folder_digest(project))
    return sorted(files)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.read_bytes() == data
