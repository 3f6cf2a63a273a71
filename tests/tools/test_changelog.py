"""Sections of the changelog, and versions on pages."""

from __future__ import annotations

import pytest

from buildsys.lock import load
from buildsys.version import fork_version
from tools.changelog import release_notes, with_date, with_release
from tools.errors import ReleaseError
from tools.paths import ROOT, Project
from tools.restating import restated_pages, versions_on_pages

OWN = "# C\n\n## [1.0+fork.2] - unreleased\n\n### Added\n\n- more\n\n## [1.0+fork.1] - 2026-01-01\n"
OLD = "# C\n\n## [1.0+fork.1] - 2026-01-01\n\n- old\n"


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (None, ["# Changelog", "## [2.0+fork.1] - unreleased", "- done"]),
        ("", ["## [2.0+fork.1]", "- done"]),
        ("# Changelog\n", ["# Changelog", "## [2.0+fork.1]", "- done"]),
        (
            OWN,
            [
                "# C",
                "[2.0+fork.1] - unreleased",
                "- done",
                "### Added",
                "- more",
                "+fork.1] - 2026",
            ],
        ),
        (OLD, ["# C", "[2.0+fork.1]", "- done", "[1.0+fork.1]", "- old"]),
        ("# C\n\n## [Unreleased]\n\n- new\n", ["# C", "[2.0+fork.1]", "- done", "- new"]),
    ],
)
def test_rebase_adds_to_unreleased_section(text, order):
    new = with_release(text, "2.0+fork.1", ["done"])
    places = [new.index(words) for words in order]
    assert places == sorted(places)
    assert new.endswith("\n")
    assert "\n\n\n" not in new
    assert new.casefold().count("unreleased") == 1
    for line in (text or "").splitlines():
        assert line in new or "unreleased" in line.casefold()


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
    assert versions_on_pages(ROOT)["README.md"] == {present}
    assert {version for found in versions_on_pages(ROOT).values() for version in found} == {present}
    assert with_date(project.changelog.read_text("utf-8"), present, "2026-01-01")


def test_pages_get_new_version(tmp_path):
    (tmp_path / "docs" / "rehearsals").mkdir(parents=True)
    (tmp_path / "README.md").write_text("smolagents==1.26.0+fork.1, from 1.26.0\n")
    (tmp_path / "docs" / "rehearsals" / "a.md").write_text("1.26.0+fork.1\n")
    assert restated_pages(tmp_path, "1.27.0+fork.3") == {
        "README.md": b"smolagents==1.27.0+fork.3, from 1.26.0\n"
    }
