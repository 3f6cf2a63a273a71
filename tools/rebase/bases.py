"""The trees the series is replayed between: upstream's releases, or its tags."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from buildsys.lock import Lock
from buildsys.release import PACKAGE, verified_release
from buildsys.stray import stray_files
from buildsys.tree import pruned_package
from tools.git import Git, GitError
from tools.rebase.state import RebaseError
from tools.series.repository import read_tree
from tools.upstream.fetch import fetch_sdist, fetch_wheel, unpack_wheel
from tools.upstream.relock import lock_of_release

__all__ = ["Base", "path_of_versions", "release_step", "tag_step", "tagged_versions"]

# Where upstream's repository keeps the package.
_SOURCE_FOLDER = f"src/{PACKAGE}/"
_TAG = re.compile(r"refs/tags/v(\d+(?:\.\d+)*)\Z")


@dataclass(frozen=True)
class Base:
    """One base.

    Attributes:
        tree: file bytes by path, pruned.
        lock: of the release; None for a tag.
        dropped: entries of the prune list that it does not have.
        added: stray files in it that the prune list does not name.
    """

    tree: dict[str, bytes]
    lock: Lock | None
    dropped: list[str]
    added: list[str]


def path_of_versions(old: str, new: str | None, known: Sequence[Version]) -> list[str]:
    """Versions to pass through, the first being the one the series stands on.

    Args:
        old: version the series stands on.
        new: version to reach; None for the newest. An older one than ``old`` is gone back to.
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
    between = [version for version in known if low < version < high]
    if start > end:
        between.reverse()
    return [str(version) for version in dict.fromkeys([start, *between, end])]


def release_step(version: str, prune: Sequence[str], cache: Path) -> Base:
    """The base of a release: fetched, locked, pruned of what it has and of what is stray in it.

    Args:
        version: upstream's version.
        prune: the prune list, which was written for another release.
        cache: folder of downloaded releases.

    Raises:
        FetchError: the release is not to be had.
        BuildError: a module of it cannot be parsed.
    """
    wheel = fetch_wheel(version, cache)
    lock = lock_of_release(version, wheel, fetch_sdist(version, cache))
    with tempfile.TemporaryDirectory() as scratch:
        release = verified_release(unpack_wheel(wheel, Path(scratch)), lock)
    present = [path for path in prune if path in release]
    left = {path: data for path, data in release.items() if path not in present}
    added = stray_files(left, PACKAGE, lock.scripts)
    tree = pruned_package(release, [*present, *added], lock.scripts)
    return Base(tree, lock, [path for path in prune if path not in present], added)


def tagged_versions(upstream: str, git: Git) -> list[Version]:
    """Final versions that the repository has tags of, oldest first.

    Args:
        upstream: its path or address.
        git: any repository to run git in.

    Raises:
        RebaseError: git cannot read it, or it has no such tag.
    """
    try:
        lines = git.lines("ls-remote", "--tags", "--refs", "--", upstream)
    except GitError as error:
        raise RebaseError(f"UPSTREAM_GIT={upstream}: {error}") from None
    matches = [_TAG.match(line.partition("\t")[2]) for line in lines]
    found = sorted(Version(match[1]) for match in matches if match)
    if not found:
        raise RebaseError(f"UPSTREAM_GIT={upstream}: has no tag of the form v1.2.3")
    return found


def tag_step(version: str, prune: Sequence[str], upstream: str, git: Git) -> Base:
    """The base of one of upstream's tags.

    Args:
        version: upstream's version; the tag is ``v<version>``.
        prune: paths to drop where the tag has them.
        upstream: the repository's path or address.
        git: the scratch repository that the tag is fetched into.

    Raises:
        RebaseError: the tag is not there, or has no package where it is expected.
    """
    ref = f"refs/upstream-tags/v{version}"
    try:
        options = ("--quiet", "--depth=1", "--no-tags")
        git.run("fetch", *options, "--", upstream, f"+refs/tags/v{version}:{ref}")
    except GitError as error:
        raise RebaseError(f"UPSTREAM_GIT={upstream}: tag v{version}: {error}") from None
    tree = {
        f"{PACKAGE}/{path.removeprefix(_SOURCE_FOLDER)}": data
        for path, data in read_tree(git, f"{ref}^{{commit}}", _SOURCE_FOLDER).items()
    }
    if not tree:
        raise RebaseError(f"UPSTREAM_GIT={upstream}: tag v{version} has no {_SOURCE_FOLDER}")
    return Base({path: data for path, data in tree.items() if path not in prune}, None, [], [])
