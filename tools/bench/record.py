"""The page of recorded runs: every benchmark has a marked section there, and replaces only that.

A section stands between ``<!-- bench NAME -->`` and ``<!-- end bench NAME -->``, each alone on its
line. What stands outside the markers is written by hand and left as it is.
"""

from __future__ import annotations

from pathlib import Path

from ..paths import ROOT

__all__ = ["PAGE", "recorded", "write_section"]

#: The page that holds the last recorded run of every benchmark.
PAGE = ROOT / "docs" / "benchmarks.md"


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Put ``text`` in the place of what the page's section ``name`` held.

    Args:
        name: the benchmark's, as in its markers.
        text: Markdown, with or without a newline at its end.
        page: the page to change.

    Raises:
        ValueError: the page does not have the section's two markers, once each and in order; or
            the text has a marker in it.
    """
    page.write_text(recorded(page.read_text(), name, text))


def recorded(page: str, name: str, text: str) -> str:
    """Return the page's text with ``text`` as its section; errors as :func:`write_section`."""
    begin, end = f"<!-- bench {name} -->", f"<!-- end bench {name} -->"
    if "<!-- bench " in text or "<!-- end bench " in text:
        raise ValueError(f"the text of section {name!r} has a section's marker in it")
    lines = page.splitlines()
    if lines.count(begin) != 1 or lines.count(end) != 1 or lines.index(begin) > lines.index(end):
        raise ValueError(
            f"the page has no section {name!r}: write the lines {begin!r} and {end!r} where it "
            "is to stand, once each and in this order"
        )
    kept, after = lines[: lines.index(begin) + 1], lines[lines.index(end) :]
    return "\n".join([*kept, "", text.strip("\n"), "", *after]) + "\n"
