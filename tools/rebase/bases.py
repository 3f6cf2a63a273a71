"""The trees the series is replayed between: upstream's releases, or its tags."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from buildsys.release import PACKAGE, locked_names
from buildsys.stray import stray_files
from buildsys.tree import pruned_package
from tools.errors import GitError, RebaseError
from tools.git import Git
from tools.paths import Project
from tools.rebase.state import Step
from tools.series.repository import read_tree
from tools.upstream.fetch import fetch_wheel, released_versions, unpack_wheel
from tools.upstream.relock import console_scripts

__all__ = [
    "SOURCE_FOLDER",
    "Release",
    "is_version",
    "path_of_versions",
    "release_base",
    "revision_base",
    "steps_between",
    "tag_base",
]

# The package's folder in upstream's repository.
SOURCE_FOLDER = f"src/{PACKAGE}/"
_TAG = re.compile(r"refs/tags/v(\d+(?:\.\d+)*)$", re.MULTILINE)


class Release(NamedTuple):
    """A release as a base.

    Attributes:
        tree: file bytes by path, pruned.
        dropped: entries of the prune list that it does not have.
        added: stray files in it that the prune list does not name.
    """

    tree: dict[str, bytes]
    dropped: list[str]
    added: list[str]


def steps_between(project: Project, old: str, new: str | None, upstream_git: str) -> list[Step]:
    """List the bases to pass through, the first being the one the series is written on.

    Args:
        old: version the series is written on.
        new: version to reach; None for the newest release.
        upstream_git: repository whose tags are the bases; empty for releases.

    Raises:
        RebaseError: there is no such version, or no such tag.
    """
    versions = path_of_versions(old, new, released_versions())
    if not upstream_git:
        return [Step(version) for version in versions]
    project.build.mkdir(exist_ok=True)
    try:
        listing = Git(project.build).text("ls-remote", "--tags", "--refs", "--", upstream_git)
    except GitError as error:
        raise RebaseError(f"UPSTREAM_GIT={upstream_git}: {error}") from None
    tags = sorted(Version(text) for text in _TAG.findall(listing))
    if Version(old) not in tags:
        raise RebaseError(f"UPSTREAM_GIT={upstream_git}: has no tag v{old}, where the series is")
    # The lock is made from the new release, so that is the last base.
    between = [Step(version, "git") for version in path_of_versions(old, versions[-1], tags)]
    return [Step(old), *between, Step(versions[-1])]


def path_of_versions(old: str, new: str | None, known: Sequence[Version]) -> list[str]:
    """List the versions to pass through, both ends included.

    Args:
        old: version the series is written on.
        new: version to reach; None for the newest. It may be older than ``old``.
        known: final versions there are, oldest first.

    Raises:
        RebaseError: there is no such version.
    """
    try:
        start = Version(old)
        end = max(known) if new is None else Version(new)
    except InvalidVersion as error:
        raise RebaseError(f"{error}; expected a version such as 1.27.0") from None
    if end != start and end not in known:
        newest = ", ".join(str(version) for version in known[-5:])
        raise RebaseError(f"there is no version {end} of {PACKAGE}; the newest are {newest}")
    low, high = min(start, end), max(start, end)
    path = {start, end, *(version for version in known if low < version < high)}
    return [str(version) for version in sorted(path, reverse=start > end)]


def is_version(text: str) -> bool:
    """Tell whether a text is a version, and not a branch or a commit."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def release_base(version: str, prune: Sequence[str], cache: Path) -> Release:
    """Fetch a release and prune it of what it has of the list, and of what is stray in it.

    Args:
        prune: the prune list, which was written for another release.

    Raises:
        FetchError: the release is not to be had.
        BuildError: a module of it cannot be parsed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        site = unpack_wheel(fetch_wheel(version, cache), Path(scratch))
        release = {name: (site / name).read_bytes() for name in locked_names(site, version)}
        scripts = console_scripts(site, version)
    present = [path for path in prune if path in release]
    added = stray_files(_without(release, present), PACKAGE, scripts)
    tree = pruned_package(release, [*present, *added], scripts)
    return Release(tree, [path for path in prune if path not in present], added)


def tag_base(version: str, prune: Sequence[str], upstream: str, git: Git) -> dict[str, bytes]:
    """Return the tree of upstream's tag ``v<version>``; see :func:`revision_base`."""
    tag = f"v{version}"
    return revision_base(f"refs/tags/{tag}", f"tag {tag}", prune, upstream, git)


def revision_base(
    reference: str, label: str, prune: Sequence[str], upstream: str, git: Git
) -> dict[str, bytes]:
    """Return the tree of one of upstream's revisions, whose commit is then ``FETCH_HEAD``.

    Args:
        reference: a branch, a full commit id or a full ref.
        label: its name in messages.
        prune: paths to drop where the revision has them.
        upstream: the repository's path or address.
        git: the scratch repository that the revision is fetched into.

    Raises:
        RebaseError: the revision is not there, or has no package where it is expected.
    """
    where = f"UPSTREAM_GIT={upstream}: {label}"
    try:
        git.run("fetch", "--quiet", "--depth=1", "--no-tags", "--", upstream, reference)
    except GitError as error:
        raise RebaseError(f"{where}: {error}") from None
    found = read_tree(git, "FETCH_HEAD^{commit}", SOURCE_FOLDER)
    if not found:
        raise RebaseError(f"{where} has no {SOURCE_FOLDER}")
    return _without({path.removeprefix("src/"): data for path, data in found.items()}, prune)


def _without(tree: Mapping[str, bytes], paths: Sequence[str]) -> dict[str, bytes]:
    return {path: data for path, data in tree.items() if path not in paths}
