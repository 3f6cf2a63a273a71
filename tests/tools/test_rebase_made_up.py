"""The rebase on made-up releases of a few lines: every road that a rebase can take."""

from __future__ import annotations

import subprocess
import time

import pytest
from rebase_harness import COMMAND_TIMEOUT_SECONDS, publish, snapshot, tiny_tree

from buildsys import lock as lockfile
from buildsys.series import series_names
from buildsys.version import read_version_file
from tools.git import Git
from tools.upstream.relock import lock_of_release

pytestmark = pytest.mark.network  # the build backend comes from the index, once

MOVED = ("SECOND_3 = 3\n", "SECOND_3 = 3\nSECOND_HALF = 3.5\n")

TAKEN = ("    for number in numbers:\n", "    for number in numbers or ():\n")
# A second definition further down: git merges without a word, and the patched one is dead.
SECOND_TOTAL = (
    "    return None\n",
    "    return None\n\n\ndef total(numbers):\n    return sum(numbers)\n",
)


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
    range_diff = report.partition("## Range-diff")[2]
    assert "1:  " in range_diff, report
    assert "No base was reached" not in range_diff
    assert report in said
    assert len(series_names(project.patches)) == 3
    again, said = rebase("start")
    assert (again, "nothing to do" in said) == (0, True), said


def test_what_upstream_contains_or_prunes_is_dropped_and_upstream_held_to_the_test(rebase, links):
    (rebase.project.patches / "prune.list").write_text("# stray\nsmolagents/gone.py\n")
    _publish_old_again(rebase, {"smolagents/gone.py": b"1\n"})
    taken = tiny_tree("9.1.0", TAKEN)
    rebase.publish("9.1.0", {**taken, "smolagents/tmp2.py": b"2\n"})
    status, said = rebase("start")
    assert status == 0, said
    assert series_names(rebase.project.patches) == ["polite-greeting.patch", "close-twice.patch"]
    assert not (rebase.project.patches / "total-of-none.patch").exists()
    assert "`total-of-none.patch` is dropped: upstream 9.1.0 contains it" in said
    assert "| `total-of-none.patch` (dropped) | 1 | good |" in said
    changelog = rebase.project.changelog.read_text()
    assert "- `total-of-none.patch` is dropped: upstream 9.1.0 contains it." in changelog
    assert "`smolagents/gone.py` leaves prune.list: not in 9.1.0" in said
    assert "`smolagents/tmp2.py` is new in prune.list: stray in 9.1.0" in said
    lines = (rebase.project.patches / "prune.list").read_text().splitlines()
    assert lines == [
        "# stray",
        "# New in 9.1.0, and nothing in the release imports or runs it.",
        "smolagents/tmp2.py",
    ]


def test_patch_whose_text_upstream_has_but_not_its_behaviour_is_noticed(rebase, links):
    rebase.publish("9.1.0", tiny_tree("9.1.0", TAKEN, SECOND_TOTAL))
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert "| `total-of-none.patch` (dropped) | 0 | **FAILED** |" in said
    assert "stopped: the tests of total-of-none.patch fail" in said
    assert snapshot(rebase.project) == before


def test_behaviour_lost_in_a_clean_merge_is_caught_and_can_be_repaired(rebase, links):
    rebase.publish("9.1.0", tiny_tree("9.1.0", SECOND_TOTAL))
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert "| `total-of-none.patch` | clean |" in said
    assert "| `total-of-none.patch` | 0 | **FAILED** |" in said
    assert "| `close-twice.patch` | 1 | good |" in said
    assert "make rebase-continue" in said
    assert snapshot(rebase.project) == before
    file = rebase.folder.repository / "smolagents" / "agents.py"
    file.write_text(file.read_text().replace("return sum(numbers)", "return sum(numbers or ())"))
    refused, said = rebase("continue")
    assert (refused, "not committed would be lost" in said) == (1, True), said
    message = rebase.git("log", "-1", "--format=%B", "HEAD^")
    assert "Patch-Name: total-of-none.patch" in message
    rebase.git("commit", "--all", "--quiet", "--fixup", "HEAD^")
    rebase.git("rebase", "--quiet", "--interactive", "--autosquash", "upstream/9.1.0")
    status, said = rebase("continue")
    assert status == 0, said
    assert "numbers or ()" in (rebase.project.patches / "total-of-none.patch").read_text()


def test_upstreams_tags_are_the_bases_and_the_release_is_the_last(rebase, links, tmp_path):
    upstream = Git(tmp_path / "upstream")
    upstream.init("main")
    for version, edits in (("9.0.0", ()), ("9.0.5", (MOVED,)), ("9.1.0", (MOVED,))):
        for name, data in tiny_tree(version, *edits).items():
            path = upstream.folder / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        (upstream.folder / "README").write_text(version)
        upstream.run("add", "--all")
        upstream.run("commit", "--quiet", "--message", version)
        upstream.run("tag", f"v{version}")
    rebase.publish("9.1.0", tiny_tree("9.1.0", MOVED))
    # From there on the bases make no difference.
    status, said = rebase("start", "--upstream-git", str(upstream.folder), kill_at="staged")
    assert status == -9, said
    assert "9.0.0, 9.0.0-git, 9.0.5-git, 9.1.0-git, 9.1.0" in said
    assert rebase.folder.git.succeeds("rev-parse", "-q", "--verify", "series/9.1.0")


def test_check_tells_and_touches_nothing(rebase, links, tmp_path):
    rebase.publish("9.1.0", tiny_tree("9.1.0", MOVED))
    before = snapshot(rebase.project)
    report = tmp_path / "report.md"
    status, said = rebase("check", "--report", str(report))
    assert status == 0, said
    assert "The series is on 9.1.0" in report.read_text()
    rebase.publish("9.2.0", tiny_tree("9.2.0", ("    thing.close()\n", "    thing.shut()\n")))
    status, said = rebase("check", "--report", str(report))
    assert status == 1, said
    assert "**Stopped by a conflict** on 9.2.0" in report.read_text()
    assert "patches/close-twice.patch does not fit upstream 9.2.0" in said
    assert snapshot(rebase.project) == before
    assert not rebase.folder.path.exists()


def test_check_that_fails_itself_says_so(rebase, links, tmp_path):
    report = tmp_path / "report.md"
    status, said = rebase("check", "--to", "9.7.0", "--report", str(report))
    assert status == 2
    assert "**The check itself failed**" in said
    assert "there is no version 9.7.0 of smolagents" in report.read_text()


def test_version_that_is_not_there_is_refused_and_nothing_started(rebase, links):
    rebase.publish("9.1.0", tiny_tree("9.1.0"))
    refused = {
        "9.5.0": "there is no version 9.5.0 of smolagents; the newest are 9.0.0, 9.1.0",
        "nine": "expected a version such as 1.27.0",
    }
    for version, words in refused.items():
        status, said = rebase("start", "--to", version)
        assert (status, words in said) == (2, True), said
    status, said = rebase("start", "--upstream-git", str(links))
    assert (status, f"UPSTREAM_GIT={links}" in said) == (2, True), said
    assert not rebase.folder.plan_file.exists()


def test_interrupted_download_is_tried_again_by_continue(rebase, links):
    _, sdist = publish(links, "9.1.0", tiny_tree("9.1.0", MOVED))
    sdist.rename(links / "away")
    status, said = rebase("start")
    assert (status, "make rebase-continue tries again" in said) == (2, True), said
    (links / "away").rename(sdist)
    assert rebase("continue", kill_at="staged")[0] == -9
    assert rebase.folder.git.succeeds("rev-parse", "-q", "--verify", "series/9.1.0")


def test_result_that_cannot_be_built_says_why(rebase, links):
    tree = tiny_tree("9.1.0")
    tree["smolagents/__init__.py"] = tree["smolagents/__init__.py"].replace(b"= ", b"= str()+")
    rebase.publish("9.1.0", tree)
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert "The series fits, but the result does not hold" in said
    assert "smolagents/__init__.py: the text to stamp" in said
    assert "occurs 0 times" in said
    assert snapshot(rebase.project) == before


@pytest.mark.slow
def test_environment_of_the_tests_is_fresh(rebase, links):
    """As a maintainer runs it: everything installed anew, nothing of this environment seen."""
    rebase.index, rebase.borrow = True, False
    (rebase.project.root / "requirements-dev.txt").write_text("pytest\n")
    tests = rebase.project.root / "tests" / "contract" / "test_tiny.py"
    alone = "\n\ndef test_close_twice_alone():\n    import importlib.util\n"
    alone += "    assert importlib.util.find_spec('hypothesis') is None\n"
    alone += "    assert importlib.util.find_spec('docker')\n"
    alone += "    assert '.rebase' in __import__('smolagents_fork').__file__\n"
    tests.write_text(tests.read_text() + alone)
    patch = rebase.project.patches / "close-twice.patch"
    one = "Test: tests/contract/test_tiny.py::test_close_twice\n"
    assert patch.read_text().count(one) == 1
    patch.write_text(patch.read_text().replace(one, one + one.replace("twice", "twice_alone")))
    rebase.publish("9.1.0", tiny_tree("9.1.0", MOVED))
    status, said = rebase("start", "--to", "9.1.0")
    assert status == 0, said
    assert "| `close-twice.patch` | 2 | good |" in said


def test_second_command_waits_for_the_first_and_for_its_children(rebase, links, tmp_path):
    rebase.publish("9.1.0", tiny_tree("9.1.0"))
    assert rebase("start", kill_at="picked")[0] == -9
    with rebase.folder.locked() as descriptor:
        # The child of a run that was killed: it has inherited the lock, and still works.
        child = subprocess.Popen(["sleep", "600"], pass_fds=(descriptor,))
    second = rebase.process("continue", kill_at="staged")
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
        assert second.wait(COMMAND_TIMEOUT_SECONDS) == -9, said
    finally:
        for process in (child, second):
            process.kill()
            process.wait()
        second.stdout.close()


def test_damaged_state_can_still_be_aborted(rebase, links):
    rebase.publish("9.1.0", tiny_tree("9.1.0"))
    before = snapshot(rebase.project)
    assert rebase("start", kill_at="picked")[0] == -9
    rebase.folder.plan_file.write_text("{")
    status, said = rebase("continue")
    assert (status, "make rebase-abort" in said) == (2, True), said
    status, said = rebase("abort")
    assert (status, "the series is on 9.0.0 as before" in said) == (0, True), said
    assert snapshot(rebase.project) == before


def _publish_old_again(rebase, extra):
    cache = rebase.project.cache
    wheel, sdist = publish(cache, "9.0.0", {**tiny_tree("9.0.0"), **extra})
    lockfile.save(rebase.project.lock, lock_of_release("9.0.0", wheel, sdist))
