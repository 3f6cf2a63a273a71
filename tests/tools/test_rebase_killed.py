"""kill -9 at every step of a rebase: it can be continued, it can be aborted, nothing is lost."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from rebase_harness import COMMAND_TIMEOUT_SECONDS, Rebase, publish, snapshot, tiny_tree

from tools.paths import Project
from tools.rebase.points import POINTS

pytestmark = pytest.mark.network  # the build backend comes from the index, once

KILLED = -9
# Up to the export nothing is slow; from there to the end of the tests every run builds.
REPLAYING = POINTS[: POINTS.index("exported")]
TRYING = POINTS[POINTS.index("exported") : POINTS.index("kept-before")]
WRITING = POINTS[POINTS.index("kept-before") :]
# Of a conflict; test_rebase_conflict.py kills there.
RESOLVING = {"resolution-kept"}


@dataclass
class Story:
    """One rebase that dropped a patch, added one's bytes and was never interrupted, and its start.

    Attributes:
        before: the project as it was.
        after: the project as the rebase has left it.
        started: the project right after a start that was killed before anything was done.
        tried: the project when everything was tried out and nothing was written.
    """

    before: dict[str, bytes]
    after: dict[str, bytes]
    started: Path
    tried: Path
    links: Path


@pytest.fixture(scope="session")
def story(tiny_template, build_tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    links = Path(shutil.copytree(build_tools, folder / "links"))
    taken = ("    for number in numbers:\n", "    for number in numbers or ():\n")
    publish(links, "9.1.0", tiny_tree("9.1.0", ("FIRST_5 = 5\n", "")))
    publish(links, "9.2.0", tiny_tree("9.2.0", ("FIRST_5 = 5\n", ""), taken))
    first = _copy(tiny_template.root, folder / "first", links)
    before = snapshot(first.project)
    status, said = first("start", kill_at="state-written")
    assert status == KILLED, said
    shutil.copytree(first.project.root, folder / "started")
    status, said = first("continue", kill_at="kept-before")
    assert status == KILLED, said
    assert snapshot(first.project) == before
    shutil.copytree(first.project.root, folder / "tried")
    # Never interrupted, for comparison.
    whole = _copy(tiny_template.root, folder / "whole", links)
    status, said = whole("start")
    assert status == 0, said
    after = snapshot(whole.project)
    assert after != before
    return Story(before, after, folder / "started", folder / "tried", links)


def _copy(source: Path, target: Path, links: Path) -> Rebase:
    return Rebase(Project(Path(shutil.copytree(source, target, symlinks=True))), links)


def test_killed_again_and_again_it_reaches_the_same_end(story, tmp_path):
    rebase = _copy(story.started, tmp_path / "project", story.links)
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
    rebase = _copy(story.started, tmp_path / "project", story.links)
    assert rebase("continue", kill_at=point)[0] == KILLED
    status, said = rebase("abort")
    assert (status, "the series is on 9.0.0 as before" in said) == (0, True), said
    assert snapshot(rebase.project) == story.before
    assert not rebase.folder.path.exists()


@pytest.mark.parametrize("point", WRITING)
def test_killed_while_writing_it_can_be_continued(story, tmp_path, point):
    rebase = _copy(story.tried, tmp_path / "project", story.links)
    status, said = rebase("continue", kill_at=point)
    assert status == KILLED, said
    assert snapshot(rebase.project) in (story.before, story.after) or point == "replaced"
    status, said = rebase("continue")
    assert status == 0, said
    assert snapshot(rebase.project) == story.after
    assert not rebase.folder.path.exists()
    assert (rebase.project.reports / "rebase-9.0.0-to-9.2.0.md").read_text() in said


@pytest.mark.parametrize("point", WRITING)
def test_killed_while_writing_it_can_be_aborted(story, tmp_path, point):
    rebase = _copy(story.tried, tmp_path / "project", story.links)
    assert rebase("continue", kill_at=point)[0] == KILLED
    status, said = rebase("abort")
    assert status == 0, said
    assert snapshot(rebase.project) == story.before
    assert not rebase.folder.path.exists()


def test_file_changed_after_a_kill_is_neither_overwritten_nor_lost(story, tmp_path):
    rebase = _copy(story.tried, tmp_path / "project", story.links)
    assert rebase("continue", kill_at="decided")[0] == KILLED
    assert rebase("continue", kill_at="reported")[0] == KILLED
    changelog = rebase.project.changelog
    changelog.write_text(changelog.read_text() + "\nmine\n")
    for command in ("continue", "abort"):
        status, said = rebase(command)
        assert (status, "CHANGELOG.md: changed while the rebase" in said) == (2, True), said
        assert changelog.read_text().endswith("\nmine\n")


def test_file_changed_before_anything_is_written_is_taken_along(story, tmp_path):
    rebase = _copy(story.tried, tmp_path / "project", story.links)
    changelog = rebase.project.changelog
    changelog.write_text(changelog.read_text() + "\nmine\n")
    # What was tried out is not what would be written now, so it is tried out again.
    status, said = rebase("continue", kill_at="staged-copy")
    assert status == KILLED, said
    assert rebase.state.phase == "verify"
    text = (rebase.folder.copy / "CHANGELOG.md").read_text()
    assert "## [9.2.0+fork.1]" in text
    assert text.endswith("\nmine\n")


@pytest.mark.slow
def test_killed_at_random_moments_it_reaches_the_same_end(story, tmp_path):
    rebase = _copy(story.started, tmp_path / "project", story.links)
    moments = random.Random(20261122)
    kills = 0
    for _ in range(7):
        process = subprocess.Popen(
            rebase.command("continue"),
            cwd=rebase.project.root,
            env=rebase.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moments.uniform(0.15, 2.5))
        process.kill()
        kills += process.wait(COMMAND_TIMEOUT_SECONDS) == KILLED
        if not rebase.folder.state_file.exists():
            break
    assert kills
    if rebase.folder.state_file.exists():
        status, said = rebase("continue")
        assert status == 0, said
    assert snapshot(rebase.project) == story.after


def test_every_point_is_one_that_a_test_kills_at():
    assert {*REPLAYING, *TRYING, *WRITING} == set(POINTS)
    assert set(REPLAYING) >= RESOLVING
