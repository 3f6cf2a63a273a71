"""Put the series on one release after the other with ``git rebase --onto``.

The scratch repository's tags say how far it has come: ``upstream/VERSION`` is a release, and
``series/VERSION`` the series on it, finished.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from buildsys import lock as lockfile
from buildsys.series import load_prune_list
from tools.errors import GitError, RebaseError, SeriesError
from tools.git import Git
from tools.rebase.folder import Folder, Plan
from tools.rebase.releases import pruned_release
from tools.series.repository import BASE, BRANCH, Commit, commit_tree, commits, create
from tools.series.repository import release_base as locked_base

__all__ = ["Stop", "advance", "outcomes", "rebase_onto", "series_tag", "upstream_tag"]


class Stop(NamedTuple):
    """A patch that does not fit; git has left the started merge in the work tree.

    Attributes:
        version: the release it does not fit.
        before: the release it was written on.
        patch: its file name.
        places: what is unmerged: ``path:line`` of each mark, or git's status of the file.
        paths: the files.
    """

    version: str
    before: str
    patch: str
    places: list[str]
    paths: list[str]


def upstream_tag(version: str) -> str:
    """Return the tag of a release in the scratch repository."""
    return f"refs/tags/upstream/{version}"


def series_tag(version: str) -> str:
    """Return the tag of the finished series on a release."""
    return f"refs/tags/series/{version}"


def advance(folder: Folder, plan: Plan) -> Stop | None:
    """Go on to the last release or to the first conflict.

    Raises:
        RebaseError: the series does not apply to its own release.
        GitError: git does not go on for another reason; its output says which.
    """
    git = folder.git
    if not _exists(git, series_tag(plan.old)):
        _prepare(folder, plan.old)
    for before, version in itertools.pairwise(plan.versions):
        if _exists(git, series_tag(version)):
            continue
        if not _exists(git, upstream_tag(version)):
            prune = load_prune_list(folder.project.patches)
            tree = pruned_release(version, prune, folder.project.cache).tree
            commit_tree(git, tree, f"smolagents {version}", upstream_tag(version))
        stops: list[str] = []
        finished = rebase_onto(git, upstream_tag(version), upstream_tag(before), stops)
        known = [name for release, name in plan.stops if release == version]
        plan.stops += [[version, name] for name in stops if name not in known]
        folder.save(plan)
        if not finished:
            paths = _unmerged(git)
            return Stop(version, before, stops[-1], _places(git, paths), paths)
        git.run("update-ref", series_tag(version), "HEAD")
    return None


def _prepare(folder: Folder, version: str) -> None:
    """Make the scratch repository with the old release and the series on it."""
    project = folder.project
    lock = lockfile.load(project.lock)
    tree = locked_base(lock, load_prune_list(project.patches), project.cache)
    try:
        git = create(folder.git.folder, tree, project, version)
    except SeriesError as error:
        raise RebaseError(f"{error}\nmake patches-check and patches-edit come first") from None
    folder.share_resolutions()
    git.run("update-ref", upstream_tag(version), BASE)
    git.run("update-ref", series_tag(version), "HEAD")


def rebase_onto(git: Git, new: str, old: str, stops: list[str]) -> bool:
    """Put the commits after one base on another, or go on with that after a person's resolution.

    Args:
        git: the scratch repository.
        new: the base to reach.
        old: the base that the branch is on.
        stops: gets the name of every patch that did not merge, also of those that git has then
            resolved as it was resolved before.

    Returns:
        Whether all commits are there; False when the last of ``stops`` needs a person.

    Raises:
        GitError: git did not go on, without a conflict.
    """
    command = ["rebase", "--empty=drop", "--onto", new, old, BRANCH]
    if _is_under_way(git):
        if _unmerged(git):
            stops.append(_stopped_at(git).name)
            return False
        command = ["rebase", "--continue"]
    elif git.succeeds("merge-base", "--is-ancestor", new, "HEAD"):
        return True  # a person has brought it to its end
    while (done := git.run(*command, check=False)).returncode:
        patch = _stopped_at(git).name if _is_under_way(git) else None
        if patch is None or patch in stops:
            output = (done.stdout + done.stderr).decode("utf-8", "replace")
            raise GitError(f"git {' '.join(command)} failed in {git.folder}", output)
        stops.append(patch)
        if _unmerged(git):
            return False
        command = ["rebase", "--continue"]  # resolved as it was resolved before
    return True


def _is_under_way(git: Git) -> bool:
    return (git.git_dir / "rebase-merge").exists()


def _stopped_at(git: Git) -> Commit:
    return commits(git, "REBASE_HEAD^", "REBASE_HEAD")[0]


def _exists(git: Git, ref: str) -> bool:
    return git.git_dir.is_dir() and git.succeeds("rev-parse", "--quiet", "--verify", ref)


def _unmerged(git: Git) -> list[str]:
    """List the files of a started merge that are unmerged, or have conflict marks in the index."""
    check = git.run("diff", "--cached", "--check", check=False).stdout.decode("utf-8", "replace")
    marked = re.findall(r"^(.+):\d+: leftover conflict marker", check, re.MULTILINE)
    return sorted({*git.lines("diff", "--name-only", "--diff-filter=U"), *marked})


def _places(git: Git, paths: list[str]) -> list[str]:
    output = git.run("grep", "--line-number", "^<<<<<<< ", check=False).stdout.decode()
    marks = [":".join(line.split(":", 2)[:2]) for line in output.splitlines()]
    bare = [path for path in paths if not any(mark.startswith(f"{path}:") for mark in marks)]
    return [*marks, *(git.lines("status", "--short", "--", *bare) if bare else [])]


def outcomes(git: Git, plan: Plan) -> dict[str, dict[str, str]]:
    """Return what became of each patch, by version and file name.

    That is ``clean``, ``resolved`` (in a conflict), ``in upstream`` (it has become empty) or
    ``left out`` (by hand, in a conflict). A patch that was not tried yet is missing.
    """
    table: dict[str, dict[str, str]] = {}
    for before, version in itertools.pairwise(plan.versions):
        stopped = {name for release, name in plan.stops if release == version}
        finished = _exists(git, series_tag(version))
        if not finished and not _exists(git, upstream_tag(version)):
            break
        tip = series_tag(version) if finished else "HEAD"
        there = {commit.name for commit in commits(git, upstream_tag(version), tip)}
        row = table[version] = {}
        for commit in commits(git, upstream_tag(before), series_tag(before)):
            is_stopped = commit.name in stopped
            if commit.name in there:
                row[commit.name] = "resolved" if is_stopped else "clean"
            elif finished:
                row[commit.name] = "left out" if is_stopped else "in upstream"
        if not finished:
            break
    return table
