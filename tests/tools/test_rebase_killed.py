"""One rebase whole, and killed at every step: it can be continued or aborted, nothing is lost."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import pytest
from rebase_harness import COMMAND_TIMEOUT_SECONDS, Rebase, publish, snapshot, tiny_tree
from whole_contract import WHOLE

from buildsys import lock as lockfile
from buildsys.series import series_names
from buildsys.version import read_version_file
from tools.rebase.state import POINTS
from tools.upstream.relock import lock_of_release

pytestmark = pytest.mark.network  # the build backend comes from the index, once

KILLED = -9
# Up to the export nothing is slow; from there to the end of the tests every run builds.
REPLAYING = POINTS[: POINTS.index("staged")]
TRYING = POINTS[POINTS.index("staged") : POINTS.index("decided")]
WRITING = POINTS[POINTS.index("decided") :]
# Of a conflict; test_rebase_conflict.py kills there.
RESOLVING = {"resolved"}


@dataclass
class Story:
    """A rebase that drops a patch and changes the prune list.

    Attributes:
        before: the project as it was.
        whole: the project after all of the rebase.
        said: the output of its last command.
        after: the files of that project.
        started: the project right after a start that was killed before anything was done.
        decided: the project when all was tried out and decided, and nothing was written.
    """

    before: dict[str, bytes]
    whole: Rebase
    said: str
    after: dict[str, bytes]
    started: Rebase
    decided: Rebase


@pytest.fixture(scope="session")
def story(tiny_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    first = Rebase(tiny_template, folder).copy(folder / "first")
    project = first.project
    (project.patches / "prune.list").write_text("# stray\nsmolagents/gone.py\n")
    old = {**tiny_tree("9.0.0"), "smolagents/gone.py": b"1\n"}
    lockfile.save(project.lock, lock_of_release("9.0.0", *publish(project.cache, "9.0.0", old)))
    shorter = ("FIRST_5 = 5\n", "")
    first.publish("9.1.0", tiny_tree("9.1.0", shorter))
    taken = ("    for number in numbers:\n", "    for number in numbers or ():\n")
    new = {**tiny_tree("9.2.0", shorter, taken), "smolagents/tmp2.py": b"2\n"}
    first.publish("9.2.0", new)
    before = snapshot(project)
    assert first("start", kill_at="planned")[0] == KILLED
    started = first.copy(folder / "started")
    assert first("continue", kill_at="decided")[0] == KILLED
    assert snapshot(project) == before
    whole = first.copy(folder / "whole")
    status, said = whole("continue")
    assert status == 0, said
    after = snapshot(whole.project)
    assert after != before
    return Story(before, whole, said, after, started, first)


def test_release_that_fits_is_written_at_the_end(story):
    project = story.whole.project
    assert lockfile.load(project.lock).version == "9.2.0"
    assert read_version_file(project.version_file) == ("9.2.0", 1)
    changelog = project.changelog.read_text()
    assert "## [9.2.0+fork.1] - unreleased\n" in changelog
    assert "[Unreleased]" not in changelog
    assert changelog.index("[9.2.0+fork.1]") < changelog.index("- a thing")
    assert not story.whole.folder.path.exists()
    report = (project.reports / "rebase-9.0.0-to-9.2.0.md").read_text()
    assert report in story.said
    assert "| `close-twice.patch` | clean | clean |" in report
    assert "2 patches kept, 1 dropped" in report
    assert "1:  " in report.partition("## Range-diff")[2], report


def test_what_upstream_contains_or_prunes_is_dropped_and_upstream_held_to_the_test(story):
    project = story.whole.project
    assert series_names(project.patches) == ["polite-greeting.patch", "close-twice.patch"]
    assert not (project.patches / "total-of-none.patch").exists()
    assert "| `total-of-none.patch` | clean | empty |" in story.said
    assert "| `total-of-none.patch` (dropped) | 1 | good |" in story.said
    changelog = project.changelog.read_text()
    for note in (
        "`total-of-none.patch` is dropped: upstream 9.2.0 contains it.",
        "`smolagents/gone.py` leaves prune.list: not in 9.2.0.",
        "`smolagents/tmp2.py` is new in prune.list: stray in 9.2.0.",
    ):
        assert note in story.said
        assert f"- {note}" in changelog
    assert (project.patches / "prune.list").read_text().splitlines() == [
        "# stray",
        "# New in 9.2.0, and nothing in the release imports or runs it.",
        "smolagents/tmp2.py",
    ]


def test_series_on_the_newest_release_has_nothing_to_do(story):
    status, said = story.whole("start")
    assert (status, "nothing to do" in said) == (0, True), said


@pytest.mark.slow
def test_killed_again_and_again_it_reaches_the_same_end(story, tmp_path):
    """At every point, and with ``WHOLE_CONTRACT=1`` at moments that no point names."""
    rebase = story.started.copy(tmp_path / "project")
    for point in (*REPLAYING[1:], *TRYING):
        if point in RESOLVING:
            continue
        status, said = rebase("continue", kill_at=point)
        assert status == KILLED, (point, said)
        assert snapshot(rebase.project) == story.before
    moments = random.Random(20261122)
    for _ in range(3 if WHOLE else 0):
        if not rebase.folder.plan_file.exists():
            break  # it has reached its end
        with rebase.process("continue") as process:
            time.sleep(moments.uniform(0.5, 2.5))
            process.kill()
            process.communicate()
        assert process.wait(COMMAND_TIMEOUT_SECONDS) in {0, KILLED}
    if rebase.folder.plan_file.exists():
        status, said = rebase("continue")
        assert status == 0, said
    assert snapshot(rebase.project) == story.after


@pytest.mark.parametrize("point", [point for point in REPLAYING[1:] if point not in RESOLVING])
def test_killed_while_replaying_it_can_be_aborted(story, tmp_path, point):
    rebase = story.started.copy(tmp_path / "project")
    assert rebase("continue", kill_at=point)[0] == KILLED
    status, said = rebase("abort")
    assert (status, "the series is on 9.0.0 as before" in said) == (0, True), said
    assert snapshot(rebase.project) == story.before
    assert not rebase.folder.path.exists()


@pytest.mark.parametrize("point", WRITING)
@pytest.mark.parametrize("command", ["continue", "abort"])
def test_killed_while_writing_it_can_be_finished_or_undone(story, tmp_path, point, command):
    rebase = story.decided.copy(tmp_path / "project")
    if point != "decided":
        status, said = rebase("continue", kill_at=point)
        assert status == KILLED, said
    now = snapshot(rebase.project)
    assert now == {"decided": story.before, "reported": story.after}.get(point, now)
    status, said = rebase(command)
    assert status == 0, said
    assert snapshot(rebase.project) == (story.after if command == "continue" else story.before)
    assert not rebase.folder.path.exists()
    if command == "continue":
        assert (rebase.project.reports / "rebase-9.0.0-to-9.2.0.md").read_text() in said


def test_file_changed_after_a_kill_is_neither_overwritten_nor_lost(story, tmp_path):
    rebase = story.decided.copy(tmp_path / "project")
    assert rebase("continue", kill_at="reported")[0] == KILLED
    changelog = rebase.project.changelog
    changelog.write_text(changelog.read_text() + "\nmine\n")
    for command in ("continue", "abort"):
        status, said = rebase(command)
        assert (status, "CHANGELOG.md: changed while it was being replaced" in said) == (2, True)
        assert changelog.read_text().endswith("\nmine\n")


def test_file_changed_before_anything_is_written_is_taken_along(story, tmp_path):
    rebase = story.started.copy(tmp_path / "project")
    assert rebase("continue", kill_at="staged")[0] == KILLED
    changelog = rebase.project.changelog
    changelog.write_text(changelog.read_text() + "\nmine\n")
    status, said = rebase("continue", kill_at="staged")
    assert status == KILLED, said
    text = (rebase.folder.copy / "CHANGELOG.md").read_text()
    assert "## [9.2.0+fork.1]" in text
    assert text.endswith("\nmine\n")


def test_every_point_is_one_that_a_test_kills_at():
    assert {*REPLAYING, *TRYING, *WRITING} == set(POINTS)
    assert set(REPLAYING) >= RESOLVING
