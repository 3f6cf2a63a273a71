"""Where things are in the checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["BUILD", "CACHE", "PATCHES", "REPORTS", "ROOT", "Project"]

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "patches"
BUILD = ROOT / "build"
CACHE = BUILD / "cache"
REPORTS = ROOT / "reports"


@dataclass(frozen=True)
class Project:
    """A checkout of the project: this one, a staged copy that is about to be built, or a test's.

    Attributes:
        root: its top folder.
    """

    root: Path = ROOT

    @property
    def patches(self) -> Path:
        """The series: ``series``, ``prune.list`` and the patches."""
        return self.root / "patches"

    @property
    def lock(self) -> Path:
        """Which release the fork is built from."""
        return self.root / "upstream.lock"

    @property
    def version_file(self) -> Path:
        """Which fork this is."""
        return self.root / "smolagents_fork" / "_version.py"

    @property
    def changelog(self) -> Path:
        """One section a fork release."""
        return self.root / "CHANGELOG.md"

    @property
    def build(self) -> Path:
        """Scratch that ``make clean`` removes."""
        return self.root / "build"

    @property
    def cache(self) -> Path:
        """Downloaded releases."""
        return self.build / "cache"

    @property
    def reports(self) -> Path:
        """What a run leaves for its reader."""
        return self.root / "reports"
