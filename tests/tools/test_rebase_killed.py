"""kill -9 at every step of a rebase: it can be continued, it can be aborted, nothing is lost."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import pytest
from rebase_harness import COMMAND_TIMEOUT_SECONDS, Rebase, snapshot, tiny_tree

from tools.rebase.state import POINTS

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
    """A rebase that drops a patch.

    Attributes:
        before: the project as it was.
        after: the project as the rebase has left it that was never interrupted.
        started: the project right after a start that was killed before anything was done.
        decided: the project when all was tried out and decided, and nothing was written.
    """

    before: dict[str, bytes]
    after: dict[str, bytes]
    started: Rebase
    decided: Rebase


@pytest.fixture(scope="session")
def story(tiny_template, tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    first = Rebase(tiny_template, folder).copy(folder / "first")
    taken = ("    for number in numbers:\n", "    for number in numbers or ():\n")
    first.publish("9.1.0", tiny_tree("9.1.0", ("FIRST_5 = 5\n", "")))
    first.publish("9.2.0", tiny_tree("9.2.0", ("FIRST_5 = 5\n", ""), taken))
    before = snapshot(first.project)
    whole = first.copy(folder / "whole")
    status, said = whole("start")
    assert status == 0, said
    after = snapshot(whole.project)
    assert after != before
    status, said = first("start", kill_at="planned")
    assert status == KILLED, said
    started = first.copy(folder / "started")
    status, said = first("continue", kill_at="decided")
    assert status == KILLED, said
    assert snapshot(first.project) == before
    return Story(before, after, started, first)


def test_killed_again_and_again_it_reaches_the_same_end(story, tmp_path):
    rebase = story.started.copy(tmp_path / "project")
    for point in (*REPLAYING[1:], *TRYING):
        if point in RESOLVING:
            continue
        status, said = rebase("continue", kill_at=point)
        assert status == KILLED, (point, said)
        assert snapshot(rebase.project) == story.before
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


@pytest.mark.slow
def test_killed_at_random_moments_it_reaches_the_same_end(story, tmp_path):
    rebase = story.started.copy(tmp_path / "project")
    moments = random.Random(20261122)
    kills = 0
    for _ in range(7):
        with rebase.process("continue") as process:
            time.sleep(moments.uniform(0.15, 2.5))
            process.kill()
            process.communicate()
        kills += process.wait(COMMAND_TIMEOUT_SECONDS) == KILLED
        if not rebase.folder.plan_file.exists():
            break
    assert kills
    if rebase.folder.plan_file.exists():
        status, said = rebase("continue")
        assert status == 0, said
    assert snapshot(rebase.project) == story.after


def test_every_point_is_one_that_a_test_kills_at():
    assert {*REPLAYING, *TRYING, *WRITING} == set(POINTS)
    assert set(REPLAYING) >= RESOLVING
