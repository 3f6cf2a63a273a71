"""Upstream's releases that the series passes through."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from buildsys.release import PACKAGE, locked_names
from buildsys.tree import pruned_package
from tools.errors import RebaseError
from tools.upstream.fetch import fetch_wheel, unpack_wheel

__all__ = ["Release", "is_version", "path_of_versions", "pruned_release"]


class Release(NamedTuple):
    """A release as a base.

    Attributes:
        tree: file bytes by path, pruned.
        dropped: entries of the prune list that it does not have.
    """

    tree: dict[str, bytes]
    dropped: list[str]


def is_version(text: str) -> bool:
    """Tell whether a text is a version, and not a branch or a commit."""
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


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


def pruned_release(version: str, prune: Sequence[str], cache: Path) -> Release:
    """Fetch a release and prune it of what it has of the list.

    Args:
        prune: the prune list, which was written for another release.

    Raises:
        FetchError: the release is not to be had.
    """
    with tempfile.TemporaryDirectory() as scratch:
        site = unpack_wheel(fetch_wheel(version, cache), Path(scratch))
        tree = {name: (site / name).read_bytes() for name in locked_names(site, version)}
    present = [path for path in prune if path in tree]
    dropped = [path for path in prune if path not in present]
    return Release(pruned_package(tree, present), dropped)
