"""The fork's version on its pages, which users copy into their requirements."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["restated_pages", "versions_on_pages"]

_VERSION = re.compile(r"\b\d+(?:\.\d+)+\+fork\.\d+\b")


def _pages(root: Path) -> list[Path]:
    """List the pages that describe the present version; rehearsals are records of others."""
    found = [root / "README.md", root / "RELEASING.md", *sorted((root / "docs").rglob("*.md"))]
    return [path for path in found if path.is_file() and path.parent.name != "rehearsals"]


def versions_on_pages(root: Path) -> dict[str, set[str]]:
    """Find the fork versions that each page names, by relative path; pages without are left out."""
    found = {
        path.relative_to(root).as_posix(): set(_VERSION.findall(path.read_text("utf-8")))
        for path in _pages(root)
    }
    return {name: versions for name, versions in found.items() if versions}


def restated_pages(root: Path, version: str) -> dict[str, bytes | None]:
    """Return the new bytes of every page that names another version of the fork.

    Args:
        root: the checkout.
        version: the version to name, such as ``1.27.0+fork.1``.
    """
    return {
        name: _VERSION.sub(version, (root / name).read_text("utf-8")).encode()
        for name, versions in versions_on_pages(root).items()
        if versions != {version}
    }
