"""The rebase on made-up releases of a few lines: every road that a rebase can take."""

from __future__ import annotations

import pytest
from rebase_harness import publish, snapshot, tiny_tree

from buildsys import lock as lockfile
from buildsys.series import series_names
from buildsys.version import read_version_file

pytestmark = pytest.mark.network  # the build backend comes from the index, once

MOVED = ("SECOND_3 = 3\n", "SECOND_3 = 3\nSECOND_HALF = 3.5\n")


def test_release_that_fits_is_written_at_the_end(rebase, links):
    publish(links, "9.1.0", tiny_tree("9.1.0", ("FIRST_5 = 5\n", "")))
    publish(links, "9.2.0", tiny_tree("9.2.0", ("FIRST_5 = 5\n", ""), MOVED))
    status, said = rebase("start")
    assert status == 0, said
    assert "from smolagents 9.0.0 to 9.2.0: 9.0.0, 9.1.0, 9.2.0" in said
    project = rebase.project
    assert lockfile.load(project.lock).version == "9.2.0"
    assert read_version_file(project.version_file) == ("9.2.0", 1)
    changelog = project.changelog.read_text()
    assert "## [9.2.0+fork.1] - " in changelog
    assert changelog.index("[Unreleased]") < changelog.index("[9.2.0+fork.1]")
    assert changelog.index("[9.2.0+fork.1]") < changelog.index("- a thing")
    assert not rebase.folder.path.exists()
    report = (project.reports / "rebase-9.0.0-to-9.2.0.md").read_text()
    assert "| `total-of-none.patch` | clean | clean |" in report
    assert "3 patches kept, 0 dropped" in report
    assert report in said
    assert len(series_names(project.patches)) == 3
    again, said = rebase("start")
    assert (again, "nothing to do" in said) == (0, True), said
    before = snapshot(project)
    assert "has no rebase" not in said
    assert rebase("continue")[0] == 2
    assert snapshot(project) == before
