"""Files named in CONTRIBUTING.md and SECURITY.md exist, the tests of each promise among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_every_file_that_the_page_names_exists(page: str):
    text = (ROOT / page).read_text("utf-8")
    named = re.findall(r"`([\w./-]+\.py|(?:tests|codec|executors|sandboxes)/[\w./-]+)`", text)
    assert len(named) > 15
    known = [*ROOT.glob("smolagents_fork/**/*"), *ROOT.glob("tests/**/*")]
    files = {path.relative_to(ROOT).as_posix() for path in known}
    missing = [
        name
        for name in named
        if not (ROOT / name).exists() and not any(path.endswith(f"/{name}") for path in files)
    ]
    assert missing == []


def test_every_rule_says_what_it_does_not_promise_and_how_it_is_tested():
    section = PAGE.split("## Protection of the host and of other tenants")[1].split("\n## ")[0]
    rules = section.split("\n### ")[1:]
    assert [rule.split(".")[0] for rule in rules] == [str(number) for number in range(1, 8)]
    for rule in rules:
        text = " ".join(rule.split())
        assert "*Not promised:*" in text
        assert "Tests: " in text
