"""The rebase on made-up releases of a few lines: to its end, every stop, and every way out."""

from __future__ import annotations

import inspect
import shutil

import pytest
from rebase_harness import Rebase, publish, snapshot, tiny_tree

from buildsys import lock as lockfile
from buildsys.series import series_names
from buildsys.version import read_version_file
from tools.git import Git
from tools.junit import Outcome
from tools.rebase import trial
from tools.regression import Kind, Report
from tools.regression import run as run_suite
from tools.regression.comparison import Comparison
from tools.regression.output import show
from tools.upstream.relock import lock_of_release

pytestmark = pytest.mark.network  # the build backend comes from the index, once

SHORTER = ("FIRST_5 = 5\n", "")
MOVED = ("SECOND_3 = 3\n", "SECOND_3 = 3\nSECOND_HALF = 3.5\n")
TAKEN = ("    for number in numbers:\n", "    for number in numbers or ():\n")
CLOSE = ("    thing.close()\n", "    thing.shut()\n")
RESOLVED = "    if not thing.closed:\n        thing.close()\n"
# Second definitions further down: git merges without a word, and the patched ones are dead.
SECOND_DEFINITIONS = (
    "    return None\n",
    "    return None\n\n\ndef total(numbers):\n    return sum(numbers)\n"
    '\n\ndef greeting(name):\n    return "hello" + name\n',
)


def test_release_that_fits_is_written_at_the_end(rebase):
    """Two releases on; upstream has one patch, one file more and one less."""
    project = rebase.project
    (project.patches / "prune.list").write_text("# stray\nsmolagents/gone.py\n")
    old = {**tiny_tree("9.0.0"), "smolagents/gone.py": b"1\n"}
    lockfile.save(project.lock, lock_of_release("9.0.0", *publish(project.cache, "9.0.0", old)))
    rebase.publish("9.1.0", tiny_tree("9.1.0", SHORTER))
    new = {**tiny_tree("9.2.0", SHORTER, TAKEN), "smolagents/tmp2.py": b"2\n"}
    rebase.publish("9.2.0", new)
    status, said = rebase("start")
    assert status == 0, said
    assert "from smolagents 9.0.0 to 9.2.0: 9.0.0, 9.1.0, 9.2.0" in said
    assert lockfile.load(project.lock).version == "9.2.0"
    assert read_version_file(project.version_file) == ("9.2.0", 1)
    changelog = project.changelog.read_text()
    assert "## [9.2.0+fork.1] - unreleased\n" in changelog
    assert "[Unreleased]" not in changelog
    assert changelog.index("[9.2.0+fork.1]") < changelog.index("- a thing")
    report = (project.reports / "rebase-9.0.0-to-9.2.0.md").read_text()
    assert report in said
    assert "| `close-twice.patch` | clean | clean |" in report
    assert "2 patches kept, 1 dropped" in report
    assert "1:  " in report.partition("## Range-diff")[2], report
    assert series_names(project.patches) == ["polite-greeting.patch", "close-twice.patch"]
    assert not (project.patches / "total-of-none.patch").exists()
    assert "| `total-of-none.patch` | clean | in upstream |" in report
    assert "| tests of `total-of-none.patch` (dropped) | 1 passed |" in report
    for note in (
        "`total-of-none.patch` is dropped: upstream 9.2.0 contains it.",
        "`smolagents/gone.py` leaves prune.list: not in 9.2.0.",
    ):
        assert f"- {note}" in report
        assert f"- {note}" in changelog
    assert (project.patches / "prune.list").read_text().splitlines() == [
        "# stray",
    ]
    assert (
        "- New in the release, to prune if it is there by mistake: `smolagents/tmp2.py`." in report
    )
    assert not rebase.folder.plan_file.exists()
    status, said = rebase("start")
    assert (status, "nothing to do" in said) == (0, True), said


@pytest.fixture(scope="session")
def stopped_template(tiny_template, tmp_path_factory):
    """A rebase that has stopped at the third patch, on the second of two releases."""
    folder = tmp_path_factory.mktemp("stopped")
    rebase = Rebase(tiny_template, folder).copy(folder / "project")
    rebase.publish("9.1.0", tiny_tree("9.1.0", SHORTER))
    rebase.publish("9.2.0", tiny_tree("9.2.0", SHORTER, CLOSE))
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
    cache = rebase.folder.git.git_dir / "rr-cache"
    cache.unlink()
    cache.symlink_to(rebase.folder.path / "rr-cache")
    rebase.said, rebase.before = said, before
    return rebase


def resolve(rebase):
    content = rebase.agents.read_text()
    begin, end = content.index("<<<<<<<"), content.index("\n", content.index(">>>>>>>")) + 1
    rebase.agents.write_text(content[:begin] + RESOLVED + content[end:])
    rebase.git("add", "smolagents/agents.py")


def test_stop_names_patch_and_place_and_what_it_proposes_works(stopped):
    lines = stopped.agents.read_text().splitlines()
    first = next(n for n, line in enumerate(lines, start=1) if line.startswith("<<<<<<<"))
    for words in (
        "conflict: patches/close-twice.patch does not fit upstream 9.2.0\n",
        f"  smolagents/agents.py:{first}\n",
        "git diff upstream/9.1.0 upstream/9.2.0 -- smolagents/agents.py",
        "git show REBASE_HEAD",
        "make rebase-continue",
        "git rebase --skip",
        "make rebase-abort",
    ):
        assert words in stopped.said
    assert "+    thing.shut()" in stopped.git("diff", "upstream/9.1.0", "upstream/9.2.0")
    assert "Patch-Name: close-twice.patch" in stopped.git("show", "REBASE_HEAD")
    report = stopped.folder.report.read_text()
    assert "**Stopped by a conflict** on 9.2.0" in report
    assert "| `total-of-none.patch` | clean | clean |" in report
    assert "| `close-twice.patch` | clean |  |" in report


def test_second_start_is_refused(stopped):
    status, said = stopped("start")
    assert status == 2
    assert "a rebase is under way in .rebase; make rebase-continue" in said
    assert "<<<<<<<" in stopped.agents.read_text()


def test_continue_before_it_is_resolved_says_the_same_again(stopped):
    for _ in range(2):
        status, said = stopped("continue")
        assert (status, "close-twice.patch does not fit upstream 9.2.0" in said) == (1, True), said
    # Marks that were added are no resolution either.
    stopped.git("add", "smolagents/agents.py")
    status, said = stopped("continue")
    assert (status, "close-twice.patch does not fit upstream 9.2.0" in said) == (1, True), said
    assert "<<<<<<<" in stopped.agents.read_text()
    assert snapshot(stopped.project) == stopped.before


def test_resolved_it_goes_on_to_the_end(stopped):
    resolve(stopped)
    (stopped.folder.git.folder / "notes.txt").write_text("left by a merge tool")
    tests = stopped.project.root / "tests" / "contract" / "test_tiny.py"
    tests.write_text(tests.read_text() + "\n# changed in the meantime\n")
    status, said = stopped("continue")
    assert status == 0, said
    assert "| `close-twice.patch` | clean | resolved |" in said
    patch = (stopped.project.patches / "close-twice.patch").read_text()
    assert "-    thing.shut()\n+    if not thing.closed:\n" in patch
    assert "From: smolagents fork maintainers <maintainers@smolagents-fork.invalid>" in patch
    assert "changed in the meantime" in tests.read_text()


def test_resolution_may_be_continued_by_hand(stopped):
    resolve(stopped)
    stopped.git("rebase", "--continue")
    message = stopped.git("log", "-1", "--format=%B").replace("Patch close", "Close")
    stopped.git("commit", "--amend", "--quiet", "--message", message)
    assert stopped("continue")[0] == 0
    assert "Subject: Close-twice" in (stopped.project.patches / "close-twice.patch").read_text()


def test_merge_that_was_given_up_is_made_again(stopped):
    stopped.git("rebase", "--abort")
    status, said = stopped("continue")
    assert (status, "does not fit upstream 9.2.0" in said) == (1, True), said
    assert "<<<<<<<" in stopped.agents.read_text()


def test_patch_left_out_is_said_and_its_test_may_go_with_it(stopped):
    tests = stopped.project.root / "tests" / "contract" / "test_tiny.py"
    tests.write_text(tests.read_text().partition("def test_close_twice")[0])
    stopped.git("rebase", "--skip")
    status, said = stopped("continue")
    assert status == 0, said
    assert "`close-twice.patch` is dropped: left out by hand on 9.2.0" in said
    assert "| tests of `close-twice.patch` (dropped) | they are gone with it |" in said
    assert series_names(stopped.project.patches) == ["polite-greeting.patch", "total-of-none.patch"]


def test_abort_leaves_everything_as_it_was_and_a_resolution_is_remembered(stopped):
    resolve(stopped)
    stopped.git("rerere")
    status, said = stopped("abort")
    assert (status, "the series is on 9.0.0 as before" in said) == (0, True), said
    assert snapshot(stopped.project) == stopped.before
    assert [path.name for path in stopped.folder.path.iterdir()] == ["rr-cache"]
    for command, words in {
        "abort": "nothing to abort",
        "continue": "no rebase is under way",
    }.items():
        status, said = stopped(command)
        assert (status, words in said) == (2, True), said
    status, said = stopped("start")
    assert status == 0, said
    assert "| `close-twice.patch` | clean | resolved |" in said


def test_series_changed_in_the_meantime_is_not_overwritten(stopped):
    patch = stopped.project.patches / "polite-greeting.patch"
    patch.write_bytes(patch.read_bytes().replace(b"Retire-When: ", b"Retire-When: once "))
    resolve(stopped)
    status, said = stopped("continue")
    assert status == 2
    assert "patches/ or upstream.lock has been changed in the checkout since" in said
    assert stopped("abort")[0] == 0
    assert b"Retire-When: once " in patch.read_bytes()


def test_what_git_could_not_take_back_is_refused(rebase):
    git = Git(rebase.project.root)
    git.init("main")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--message", "all")
    rebase.publish("9.1.0", tiny_tree("9.1.0", MOVED))
    patch = rebase.project.patches / "polite-greeting.patch"
    patch.write_bytes(patch.read_bytes() + b"\n")
    status, said = rebase("start")
    assert (status, "commit or stash these first" in said) == (2, True), said
    assert "patches/polite-greeting.patch" in said
    git.run("checkout", "--quiet", ".")
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 0, said
    assert snapshot(rebase.project) != before
    git.run("restore", ".")
    assert snapshot(rebase.project) == before


@pytest.mark.parametrize("text", ["{", '{"date": 5}', "[]"])
def test_damaged_plan_is_a_message_and_can_be_aborted(stopped, text):
    stopped.folder.plan_file.write_text(text)
    status, said = stopped("continue")
    assert (status, "damaged, or of another version" in said) == (2, True), said
    assert stopped("abort")[0] == 0


def test_checkout_that_cannot_be_written_to_is_a_message(rebase):
    rebase.publish("9.1.0", tiny_tree("9.1.0"))
    (rebase.project.root / ".rebase").write_text("")  # where the plan would be
    status, said = rebase("start")
    assert (status, "error: " in said, ".rebase" in said) == (2, True, True), said


def test_file_that_upstream_removed_is_a_conflict_without_marks(rebase):
    tree = tiny_tree("9.1.0")
    moved = tree.pop("smolagents/agents.py")
    tree["smolagents/console.py"] += b"\n\nx = 1\n"
    tree["smolagents/__init__.py"] = tree["smolagents/__init__.py"].replace(b".agents", b".other")
    tree["smolagents/other.py"] = b"# all new\n" * 5 + moved[:20]
    rebase.publish("9.1.0", tree)
    status, said = rebase("start")
    assert status == 1, said
    assert "  DU smolagents/agents.py\n" in said
    rebase.git("rm", "--quiet", "smolagents/agents.py")
    status, said = rebase("continue")
    assert status == 1, said
    assert "patches/total-of-none.patch does not fit" in said
    assert rebase("abort")[0] == 0


def test_behaviour_lost_in_a_clean_merge_is_caught_and_can_be_repaired(rebase):
    """One patch that upstream has, one that merges; later definitions make both of no effect."""
    rebase.publish("9.1.0", tiny_tree("9.1.0", TAKEN, SECOND_DEFINITIONS))
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert "stopped: the series fits, but the result does not hold" in said
    assert "\ntests of `polite-greeting.patch`:\ntests/contract/test_tiny.py::" in said
    report = rebase.folder.report.read_text()
    assert "| `polite-greeting.patch` | clean |" in report
    assert "| tests of `polite-greeting.patch` | **FAILED** |" in report
    assert "| tests of `total-of-none.patch` (dropped) | **FAILED** |" in report
    assert "| tests of `close-twice.patch` | 1 passed |" in report
    assert snapshot(rebase.project) == before
    text = rebase.agents.read_text().replace('return "hello" + name', 'return "hello, " + name')
    rebase.agents.write_text(text.replace("return sum(numbers)", "return sum(numbers or ())"))
    refused, said = rebase("continue")
    assert (refused, "not committed would be lost" in said) == (1, True), said
    rebase.git("commit", "--all", "--quiet", "--fixup", "HEAD^")
    rebase.git("rebase", "--quiet", "--interactive", "--autosquash", "upstream/9.1.0")
    status, said = rebase("continue")
    assert status == 0, said
    assert "numbers or ()" in (rebase.project.patches / "polite-greeting.patch").read_text()


def test_wheel_that_does_not_import_is_said_first_and_nothing_is_tested(rebase):
    rebase.contract = rebase.regression = True
    rebase.publish("9.1.0", tiny_tree("9.1.0", ("FIRST_3 = 3\n", "FIRST_3 = None[0]\n")))
    status, said = rebase("start")
    assert status == 1, said
    assert "`import smolagents`: FAILED" in said
    assert "TypeError: 'NoneType' object is not subscriptable" in said
    assert "tests of" not in said
    assert "contract" not in said
    assert "upstream's own tests" not in said


def test_failed_contract_leaves_upstreams_own_tests_to_decide(rebase, monkeypatch):
    """Upstream breaks what no patch is about."""
    ran = []

    def suite(**options):
        inspect.signature(run_suite).bind(**options)
        ran.append(options)
        stale = ["t::b differs no more"] if len(ran) == 1 else []
        found = [Comparison("t::a", Kind.PASSED_BOTH, Outcome("passed"), Outcome("passed"))]
        report = Report("9.1.0", "x", found, stale)
        show(report, options["console"])
        return report

    monkeypatch.setattr(trial, "run_regression", suite)
    contract = rebase.project.root / "tests" / "contract" / "test_other.py"
    contract.write_text(
        "import smolagents\n\n\ndef test_third():\n    assert smolagents.FIRST_3 == 3\n"
    )
    contract.with_name("test_busy.py").write_text(
        "import os\n\n\ndef test_quiet():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
    )
    rebase.publish("9.1.0", tiny_tree("9.1.0", ("FIRST_3 = 3\n", "FIRST_3 = 4\n")))
    rebase.contract = rebase.regression = True
    status, said = rebase("start")
    assert status == 1, said
    assert "contract suite, without Docker and Deno: FAILED" in said
    assert "tests/contract/test_other.py::test_third: failed: " in said
    assert "test_quiet: failed" not in said
    assert "0 undeclared differences, 1 stale declarations: .rebase/report.md names" in said
    assert "STALE DEVIATION: t::b differs no more" in rebase.folder.report.read_text()
    (options,) = ran
    assert options["release"] == lockfile.load(rebase.folder.copy / "upstream.lock").version
    contract.write_text(contract.read_text().replace("== 3", "== 4"))
    status, said = rebase("continue")
    assert status == 0, said
    assert "| contract suite, without Docker and Deno | good |" in said
    unstable = "tests/contract/test_busy.py::test_quiet"
    assert f"| tests that failed and then passed alone | {unstable} |" in said


def test_check_of_a_release_that_takes_the_series_changes_nothing(rebase):
    rebase.publish("9.1.0", tiny_tree("9.1.0"))
    before = snapshot(rebase.project)
    status, said = rebase("check")
    assert status == 0, said
    assert "The series is on 9.1.0" in (rebase.project.reports / "rebase-check.md").read_text()
    assert "The checkout has not changed" in said
    assert "git restore" not in said
    assert snapshot(rebase.project) == before


def test_result_that_cannot_be_built_says_why(rebase):
    tree = tiny_tree("9.1.0")
    tree["smolagents/__init__.py"] = tree["smolagents/__init__.py"].replace(b"= ", b"= str()+")
    rebase.publish("9.1.0", tree)
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert "the series fits, but the result does not hold" in said
    assert "smolagents/__init__.py: the text to stamp" in said
    assert snapshot(rebase.project) == before


@pytest.mark.broad
@pytest.mark.slow
def test_index_that_fails_is_no_verdict_and_is_tried_again(rebase, links, monkeypatch):
    wheel, sdist = publish(links, "9.1.0", tiny_tree("9.1.0", MOVED))
    shutil.copy(wheel, rebase.project.cache)
    sdist.rename(links / "away")
    status, said = rebase("start")
    assert (status, "make rebase-continue tries again" in said) == (2, True), said
    (links / "away").rename(sdist)
    rebase.borrow = False
    monkeypatch.setattr(trial.Uv, "install", install_without_index)
    status, said = rebase("continue")
    assert (status, "its environment could not be made" in said) == (2, True), said
    monkeypatch.undo()
    assert rebase("continue")[0] == 0


def install_without_index(uv, python, *arguments, log=None):
    """Install with an index that is not there, as when a network is lost."""
    uv("pip", "install", "--python", python, "--no-index", "a-package-that-is-missing")


def test_check_tells_of_a_conflict_and_of_its_own_failure(rebase, tmp_path):
    rebase.publish("9.1.0", tiny_tree("9.1.0", CLOSE))
    before = snapshot(rebase.project)
    report = tmp_path / "report.md"
    status, said = rebase("check", "--report", str(report))
    assert status == 1, said
    assert "**Stopped by a conflict** on 9.1.0" in report.read_text()
    assert "patches/close-twice.patch does not fit upstream 9.1.0" in said
    assert snapshot(rebase.project) == before
    assert not rebase.folder.path.exists()
    assert f"make rebase-upstream does that. The report is {report}\n" in said
    status, said = rebase("check", "--to", "9.7.0", "--report", str(report))
    assert status == 2
    assert "**The check itself failed**" in said
    assert "there is no version 9.7.0 of smolagents" in report.read_text()
