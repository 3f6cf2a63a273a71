"""The release's number on the pages that name it, which users copy into their requirements.

It moves with a rebase and a release. A line with a date is a record of what was run, and is never
rewritten. No other page is touched, so a number there says what was true of that release.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PAGES", "restate_pages", "versions_on_pages"]

PAGES = ("README.md", "RELEASING.md", "docs/start/installs.md", "docs/start/migration.md")

# As requirements have it, and as addresses have it.
_FORK = re.compile(r"\b(\d+(?:\.\d+)+)(\+|%2B)fork\.(\d+)\b")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def versions_on_pages(root: Path) -> dict[str, set[str]]:
    """Find the fork versions that each page names outside of records, by relative path."""
    return {
        name: {
            f"{match[1]}+fork.{match[3]}"
            for line in (root / name).read_text("utf-8").splitlines()
            if not _DATE.search(line)
            for match in _FORK.finditer(line)
        }
        for name in PAGES
        if (root / name).is_file()
    }


def restate_pages(root: Path, old: str, new: str) -> dict[str, bytes | None]:
    """Return the new bytes of every page that names another release than the new one.

    Args:
        root: the checkout.
        old: upstream's version that the pages name so far, such as ``1.26.0``.
        new: the fork's version to name, such as ``1.27.0+fork.1``.
    """
    upstream, _, revision = new.partition("+fork.")
    bare = re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w+%]|\.\d)")
    pages: dict[str, bytes | None] = {}
    for name in versions_on_pages(root):
        text = (root / name).read_text("utf-8")
        lines = [
            line
            if _DATE.search(line)
            else bare.sub(upstream, _FORK.sub(rf"{upstream}\g<2>fork.{revision}", line))
            for line in text.splitlines(keepends=True)
        ]
        if (moved := "".join(lines)) != text:
            pages[name] = moved.encode()
    return pages
