"""Sections of the changelog, and versions on pages."""

from __future__ import annotations

import re

import pytest
from packaging.version import Version

from buildsys.lock import load
from buildsys.version import fork_version
from tools.changelog import release_notes, with_date, with_release
from tools.errors import ReleaseError
from tools.paths import ROOT, Project
from tools.version_pages import PAGES, restate_pages, versions_on_pages

OWN = "# C\n\n## [1.0+fork.2] - unreleased\n\n### Added\n\n- more\n\n## [1.0+fork.1] - 2026-01-01\n"


@pytest.mark.parametrize("heading", ["[Unreleased]", "[1.0+fork.2] - unreleased"])
def test_rebase_adds_to_unreleased_section(heading):
    text = f"# C\n\n## {heading}\n\n- new\n\n## [1.0+fork.1] - 2026-01-01\n"
    assert with_release(text, "2.0+fork.1", ["done"]) == (
        "# C\n\n## [2.0+fork.1] - unreleased\n\n### Upstream\n\n- done\n\n- new\n\n"
        "## [1.0+fork.1] - 2026-01-01\n"
    )


def test_first_release_follows_the_title():
    assert with_release("# C\n", "1.0+fork.1") == "# C\n\n## [1.0+fork.1] - unreleased\n"


def test_release_dates_its_section():
    dated = with_date(OWN, "1.0+fork.2", "2026-02-02")
    assert "## [1.0+fork.2] - 2026-02-02\n" in dated
    assert release_notes(dated, "1.0+fork.2") == "### Added\n\n- more\n"
    with pytest.raises(ReleaseError, match=r"no entries for 1\.0\+fork\.1"):
        release_notes(dated, "1.0+fork.1")
    with pytest.raises(
        ReleaseError, match=r"expected one line '## \[1\.0\+fork\.3\] - unre.*found 0"
    ):
        with_date(OWN, "1.0+fork.3", "2026-02-02")


def test_pages_name_present_version():
    project = Project()
    present = fork_version(project.version_file, load(project.lock))
    named = versions_on_pages(ROOT)
    assert set(named) == set(PAGES)
    assert named["README.md"] == {present}
    assert set().union(*named.values()) == {present}
    assert with_date(project.changelog.read_text("utf-8"), present, "2026-01-01")


def test_release_number_is_nowhere_else_but_in_records():
    """Commands and workflows take the number from the lock; other pages keep records.

    An example that names the next release would become such a number when the lock moves to it.
    """
    present = Version(load(ROOT / "upstream.lock").version)
    numbers = (str(present), f"{present.major}.{present.minor + 1}.0")
    for path in (ROOT / "Makefile", ROOT / "mkdocs.yml", *ROOT.glob(".github/**/*.yml")):
        assert not any(number in path.read_text("utf-8") for number in numbers), path
    dated = re.compile(r"\d{4}-\d\d-\d\d")
    for path in (ROOT / "docs").rglob("*.md"):
        if path.relative_to(ROOT).as_posix() not in PAGES:
            lines = path.read_text("utf-8").splitlines()
            named = [line for line in lines if any(number in line for number in numbers)]
            assert all(dated.search(line) for line in named), path


def test_pages_get_new_version_and_records_keep_theirs(tmp_path):
    (tmp_path / "docs").mkdir()
    record = "Run on 2026-11-23: 1.26.0+fork.1 and 1.26.0.\n"
    (tmp_path / "README.md").write_text(
        "smolagents==1.26.0+fork.1, ==1.26.0.\nx-1.26.0%2Bfork.1-py3.whl, numpy>=1.26.0.1\n"
        + record
    )
    (tmp_path / "docs" / "a.md").write_text("1.26.0+fork.1\n")
    assert restate_pages(tmp_path, "1.26.0", "1.27.0+fork.3") == {
        "README.md": (
            "smolagents==1.27.0+fork.3, ==1.27.0.\nx-1.27.0%2Bfork.3-py3.whl, numpy>=1.26.0.1\n"
            + record
        ).encode()
    }
