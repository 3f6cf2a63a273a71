"""``CHANGELOG.md`` in the form of Keep a Changelog: one section a release of the fork.

The section of the next release is titled with its version and "unreleased".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.errors import ReleaseError

__all__ = ["release_notes", "with_date", "with_release"]

_UNRELEASED = re.compile(r"^## (?:\[[^\]]+\] - unreleased|\[?unreleased\]?)$", re.I | re.M)
_SECTION = re.compile(r"^## ", re.MULTILINE)


def with_release(text: str, version: str, bullets: Sequence[str] = ()) -> str:
    """Return the changelog with an unreleased section for a version.

    The section that is unreleased so far gets the version, because its entries belong to it.

    Args:
        text: the file's text.
        version: the fork's version, such as ``1.27.0+fork.1``.
        bullets: what a rebase changed, one item each.
    """
    text = text.rstrip("\n") + "\n"
    items = "\n".join(f"- {bullet}" for bullet in bullets)
    section = f"## [{version}] - unreleased\n" + (f"\n### Upstream\n\n{items}\n" if items else "")
    if unreleased := _UNRELEASED.search(text):
        tail = text[unreleased.end() :].strip("\n")
        return text[: unreleased.start()] + section + (f"\n{tail}\n" if tail else "")
    if first := _SECTION.search(text):
        return f"{text[: first.start()]}{section}\n{text[first.start() :]}"
    return f"{text}\n{section}"


def with_date(text: str, version: str, date: str) -> str:
    """Return the changelog with the date of a release in its heading.

    Args:
        text: the file's text.
        version: the version to release.
        date: ISO date.

    Raises:
        ReleaseError: the version has no unreleased section.
    """
    heading = f"## [{version}] - unreleased\n"
    if text.count(heading) != 1:
        raise ReleaseError(
            f"CHANGELOG.md: expected one line {heading.strip()!r}, found {text.count(heading)}"
        )
    return text.replace(heading, f"## [{version}] - {date}\n")


def release_notes(text: str, version: str) -> str:
    """Return the text of a version's section, without its heading.

    Raises:
        ReleaseError: there is no such section, or it is empty.
    """
    section = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    notes = section[1].strip() if section else ""
    if not notes:
        raise ReleaseError(f"CHANGELOG.md: no entries for {version}")
    return f"{notes}\n"
