"""Paths in the checkout."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BUILD", "CACHE", "REPORTS", "ROOT", "Project"]

ROOT = Path(__file__).resolve().parent.parent


class Project:
    """A checkout of the project: this one, a staged copy that is about to be built, or a test's.

    Attributes:
        root: its top folder.
        patches: the series: ``series``, ``prune.list`` and the patches.
        lock: which release the fork is built from.
        version_file: which fork this is.
        changelog: one section a fork release.
        build: scratch that ``make clean`` removes.
        cache: downloaded releases.
        reports: what a run leaves for its reader.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.patches = root / "patches"
        self.lock = root / "upstream.lock"
        self.version_file = root / "smolagents_fork" / "_version.py"
        self.changelog = root / "CHANGELOG.md"
        self.build = root / "build"
        self.cache = self.build / "cache"
        self.reports = root / "reports"


BUILD = ROOT / "build"
CACHE = BUILD / "cache"
REPORTS = ROOT / "reports"
