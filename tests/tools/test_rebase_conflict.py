"""A stopped rebase: what is said, what is left alone, and every way out of it."""

from __future__ import annotations

import json
import re
import subprocess
import time

import pytest
from rebase_harness import COMMAND_TIMEOUT_SECONDS, Rebase, snapshot, tiny_tree

from buildsys.series import series_names
from tools.rebase import trial

pytestmark = pytest.mark.network  # the build backend comes from the index, once

CLOSE = ("    thing.close()\n", "    thing.shut()\n")
RESOLVED = "    if not thing.closed:\n        thing.close()\n"


@pytest.fixture(scope="session")
def stopped_template(tiny_template, tmp_path_factory):
    """A rebase that has stopped at the third patch, on the second of two releases."""
    folder = tmp_path_factory.mktemp("stopped")
    rebase = Rebase(tiny_template, folder).copy(folder / "project")
    rebase.publish("9.1.0", tiny_tree("9.1.0", ("FIRST_5 = 5\n", "")))
    rebase.publish("9.2.0", tiny_tree("9.2.0", ("FIRST_5 = 5\n", ""), CLOSE))
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert snapshot(rebase.project) == before
    return rebase, said, before


@pytest.fixture
def stopped(stopped_template, tmp_path):
    """The same, of one's own."""
    template, said, before = stopped_template
    rebase = template.copy(tmp_path / "project")
    rebase.said, rebase.before = said, before
    return rebase


def resolve(rebase):
    file = rebase.folder.repository / "smolagents" / "agents.py"
    content = file.read_text()
    begin, end = content.index("<<<<<<<"), content.index("\n", content.index(">>>>>>>")) + 1
    file.write_text(content[:begin] + RESOLVED + content[end:])
    rebase.git("add", "smolagents/agents.py")


def test_it_names_patch_file_and_hunk_and_how_to_go_on(stopped):
    file = stopped.folder.repository / "smolagents" / "agents.py"
    lines = file.read_text().splitlines()
    first = next(n for n, line in enumerate(lines, start=1) if line.startswith("<<<<<<<"))
    last = next(n for n, line in enumerate(lines, start=1) if line.startswith(">>>>>>>"))
    assert "conflict: patches/close-twice.patch does not fit upstream 9.2.0\n" in stopped.said
    shown = stopped.git("show", re.search(r"git show (\w+)\n", stopped.said)[1])
    old = re.search(r"^@@ (-\d+,\d+) ", shown, re.MULTILINE)[1]
    place = f"  smolagents/agents.py: hunk 1 of 1 (@@ {old} @@); lines {first}-{last}\n"
    assert place in stopped.said
    assert "On 9.2.0 so far: polite-greeting.patch, total-of-none.patch." in stopped.said
    assert "git diff upstream/9.1.0 upstream/9.2.0 -- smolagents/agents.py" in stopped.said
    drop = "make rebase-continue DROP=close-twice.patch"
    for words in ("make rebase-continue", "make rebase-abort", drop):
        assert words in stopped.said
    # What is proposed works.
    assert "+    thing.shut()" in stopped.git("diff", "upstream/9.1.0", "upstream/9.2.0")
    report = stopped.folder.report.read_text()
    assert "**Stopped by a conflict** on 9.2.0" in report


def test_second_start_is_refused(stopped):
    status, said = stopped("start")
    assert status == 2
    assert "a rebase is under way in .rebase; make rebase-continue" in said
    assert "<<<<<<<" in (stopped.folder.repository / "smolagents" / "agents.py").read_text()


def test_continue_before_it_is_resolved_changes_nothing(stopped):
    for _ in range(2):
        status, said = stopped("continue")
        assert status == 2
        assert "still in conflict: smolagents/agents.py" in said
    file = stopped.folder.repository / "smolagents" / "agents.py"
    assert "<<<<<<<" in file.read_text()
    # Marks that were added are no resolution either.
    stopped.git("add", "smolagents/agents.py")
    status, said = stopped("continue")
    assert (status, "still in conflict" in said) == (2, True), said
    assert snapshot(stopped.project) == stopped.before


def test_resolved_it_goes_on(stopped):
    # Killed right after the resolution was committed, and again after it was recorded.
    resolve(stopped)
    assert stopped("continue", kill_at="resolved")[0] == -9
    assert stopped("continue", kill_at="picked")[0] == -9
    (stopped.folder.repository / "notes.txt").write_text("left by a merge tool")
    # The export is in the copy that would be tried out.
    assert stopped("continue", kill_at="staged")[0] == -9
    patch = (stopped.folder.copy / "patches" / "close-twice.patch").read_text()
    assert "-    thing.shut()\n+    if not thing.closed:\n" in patch
    assert "From: smolagents fork maintainers <maintainers@smolagents-fork.invalid>" in patch
    assert "/resolved/close-twice.patch" in stopped.folder.git.text("for-each-ref", "refs/picks")


def test_resolution_may_be_committed_by_hand(stopped):
    resolve(stopped)
    stopped.git("cherry-pick", "--continue")
    message = stopped.git("log", "-1", "--format=%B").replace("Patch close", "Close")
    stopped.git("commit", "--amend", "--quiet", "--message", message)
    assert stopped("continue", kill_at="staged")[0] == -9
    patch = stopped.folder.copy / "patches" / "close-twice.patch"
    assert "Subject: Close-twice" in patch.read_text()


@pytest.mark.parametrize("option", ["--abort", "--skip"])
def test_pick_that_was_given_up_is_made_again(stopped, option):
    stopped.git("cherry-pick", option)
    status, said = stopped("continue")
    assert (status, "does not fit upstream 9.2.0" in said) == (1, True), said
    assert "<<<<<<<" in (stopped.folder.repository / "smolagents" / "agents.py").read_text()


def test_drop_of_another_patch_is_refused(stopped):
    status, said = stopped("continue", "--drop", "polite-greeting.patch")
    assert (status, "DROP=polite-greeting.patch: the rebase has stopped at" in said) == (2, True)
    assert "<<<<<<<" in (stopped.folder.repository / "smolagents" / "agents.py").read_text()


def test_dropped_patch_is_said_and_its_test_may_go_with_it(stopped):
    tests = stopped.project.root / "tests" / "contract" / "test_tiny.py"
    tests.write_text(tests.read_text().partition("def test_close_twice")[0])
    status, said = stopped("continue", "--drop", "close-twice.patch")
    assert status == 0, said
    assert "`close-twice.patch` is dropped: dropped by hand on 9.2.0" in said
    assert "| `close-twice.patch` (dropped) | 0 | its tests are gone with it |" in said
    assert series_names(stopped.project.patches) == ["polite-greeting.patch", "total-of-none.patch"]


def test_abort_leaves_everything_as_it_was(stopped):
    resolve(stopped)
    status, said = stopped("abort")
    assert (status, "the series is on 9.0.0 as before" in said) == (0, True), said
    assert snapshot(stopped.project) == stopped.before
    assert not stopped.folder.path.exists()
    status, said = stopped("abort")
    assert (status, "nothing to abort" in said) == (2, True), said
    status, said = stopped("continue")
    assert (status, "no rebase is under way" in said) == (2, True), said


def test_series_changed_in_the_meantime_is_not_overwritten(stopped):
    patch = stopped.project.patches / "polite-greeting.patch"
    patch.write_bytes(patch.read_bytes().replace(b"Retire-When: ", b"Retire-When: once "))
    resolve(stopped)
    status, said = stopped("continue")
    assert status == 2
    assert "patches/ or upstream.lock has been changed in the checkout since" in said
    assert b"Retire-When: once " in patch.read_bytes()
    assert stopped("abort")[0] == 0
    assert b"Retire-When: once " in patch.read_bytes()


def test_second_command_waits_for_the_first_and_for_its_children(stopped):
    with stopped.folder.locked() as descriptor:
        # The child of a run that was killed: it has inherited the lock, and still works.
        child = subprocess.Popen(["sleep", "600"], pass_fds=(descriptor,))
    second = stopped.process("continue")
    assert second.stdout is not None
    said = ""
    try:
        for line in second.stdout:
            said += line
            if "another rebase command is at work; waiting for it" in line:
                time.sleep(0.5)
                assert second.poll() is None, said
                child.kill()
        assert child.poll() is not None, said
        assert second.wait(COMMAND_TIMEOUT_SECONDS) == 2, said
        assert "still in conflict" in said
    finally:
        for process in (child, second):
            process.kill()
            process.wait()
        second.stdout.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("date", 5),
        ("steps", []),
        ("steps", [["9.0.0", 1]]),
        ("trial", {"skip_regression": 1}),
    ],
)
def test_state_of_wrong_types_is_a_message(stopped, key, value):
    saved = json.loads(stopped.folder.plan_file.read_text())
    stopped.folder.plan_file.write_text(json.dumps({**saved, key: value}))
    status, said = stopped("continue")
    assert (status, "damaged, or of another version" in said) == (2, True), said


def test_index_that_fails_after_replay_is_no_verdict(stopped, monkeypatch):
    resolve(stopped)
    monkeypatch.setattr(trial, "_environment", environment_without_index)
    status, said = stopped("continue")
    assert (status, "its environment could not be made" in said) == (2, True), said
    assert stopped.folder.plan_file.exists()


def environment_without_index(uv, folder, wheel, *, borrow):
    """Make the environment with an index that is not there, as when a network is lost."""
    python = uv.environment(folder.path / "venv")
    options = ("--no-index", "--find-links", folder.path / "nothing")
    uv.install(python, *options, "a-package-that-is-missing")
    return python


def test_damaged_state_can_still_be_aborted(stopped):
    stopped.folder.plan_file.write_text("{")
    status, said = stopped("continue")
    assert (status, "make rebase-abort" in said) == (2, True), said
    status, said = stopped("abort")
    assert (status, "the series is on 9.0.0 as before" in said) == (0, True), said
    assert snapshot(stopped.project) == stopped.before


def test_checkout_that_cannot_be_written_to_is_a_message(rebase):
    rebase.publish("9.1.0", tiny_tree("9.1.0"))
    (rebase.project.root / ".rebase").write_text("")  # where the state would be
    status, said = rebase("start")
    assert status == 2
    assert said.startswith("error: ")
    assert ".rebase" in said


def test_file_that_upstream_removed_is_a_conflict_without_marks(rebase):
    tree = tiny_tree("9.1.0")
    moved = tree.pop("smolagents/agents.py")
    tree["smolagents/console.py"] += b"\n\nx = 1\n"
    tree["smolagents/__init__.py"] = tree["smolagents/__init__.py"].replace(b".agents", b".other")
    tree["smolagents/other.py"] = b"# all new\n" * 5 + moved[:20]
    rebase.publish("9.1.0", tree)
    status, said = rebase("start")
    assert status == 1, said
    assert "smolagents/agents.py: all 1 hunks; CONFLICT (modify/delete)" in said
    status, said = rebase("continue")
    assert (status, "still in conflict: smolagents/agents.py" in said) == (2, True), said
    rebase.git("rm", "--quiet", "smolagents/agents.py")
    status, said = rebase("continue")
    assert status == 1, said
    assert "patches/total-of-none.patch does not fit" in said
    assert rebase("abort")[0] == 0
