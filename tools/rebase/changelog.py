"""The new release's section in ``CHANGELOG.md`` (Keep a Changelog)."""

from __future__ import annotations

import re

__all__ = ["with_release"]

_HEAD = "# Changelog\n\nOne section a fork release; the form is that of Keep a Changelog.\n"
_UNRELEASED = re.compile(r"^## \[?Unreleased\]?.*$", re.IGNORECASE | re.MULTILINE)
_SECTION = re.compile(r"^## ", re.MULTILINE)


def with_release(text: str | None, version: str, date: str, bullets: list[str]) -> str:
    """The changelog with a section for a release.

    What stands under "Unreleased" belongs to the release, so the new heading goes right below
    that one.

    Args:
        text: the file's text; None when there is none.
        version: the fork's version.
        date: ISO date.
        bullets: what the rebase changed, one item each.
    """
    text = _HEAD if text is None else text.rstrip("\n") + "\n"
    items = "\n".join(f"- {bullet}" for bullet in bullets)
    section = f"## [{version}] - {date}\n\n### Upstream\n\n{items}\n"
    unreleased = _UNRELEASED.search(text)
    if unreleased is not None:
        head, tail = text[: unreleased.end()], text[unreleased.end() :].strip("\n")
        return f"{head}\n\n{section}" + (f"\n{tail}\n" if tail else "")
    first = _SECTION.search(text)
    if first is None:
        return f"{text}\n{section}"
    return f"{text[: first.start()]}{section}\n{text[first.start() :]}"
