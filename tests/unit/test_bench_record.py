"""The page of recorded benchmark runs: a command replaces only its own section."""

from __future__ import annotations

import re

import pytest

from tools.bench.record import PAGE, recorded, write_section
from tools.paths import ROOT

PAGE_TEXT = """# Benchmarks

<!-- bench one -->
old
<!-- end bench one -->

By hand.

<!-- bench two -->
kept
<!-- end bench two -->
"""


def test_only_the_named_section_changes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE_TEXT)
    write_section("one", "| new |\n", page)
    assert page.read_text() == PAGE_TEXT.replace("\nold\n", "\n\n| new |\n\n")


def test_recording_the_same_again_changes_nothing():
    once = recorded(PAGE_TEXT, "two", "text")
    assert recorded(once, "two", "text") == once


@pytest.mark.parametrize(
    "page",
    [
        "# nothing",
        "<!-- bench one -->\n",
        "<!-- end bench one -->\n<!-- bench one -->\n",
        PAGE_TEXT + "<!-- bench one -->\n",
    ],
)
def test_missing_or_doubled_markers_are_an_error(page):
    with pytest.raises(ValueError, match=r"no section 'one': write the lines"):
        recorded(page, "one", "text")


def test_text_may_not_contain_a_marker():
    with pytest.raises(ValueError, match="marker"):
        recorded(PAGE_TEXT, "one", "<!-- end bench two -->")


def test_the_page_has_a_section_for_each_benchmark():
    named = re.findall(r"^<!-- bench (\w+) -->$", PAGE.read_text(), re.MULTILINE)
    commands = (ROOT / "tools" / "bench").glob("*/__main__.py")
    assert sorted(named) == sorted(path.parent.name for path in commands)
    for name in named:
        recorded(PAGE.read_text(), name, "text")
