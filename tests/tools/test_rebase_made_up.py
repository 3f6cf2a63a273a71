"""The rebase on made-up releases of a few lines: what stops it, and what it reads."""

from __future__ import annotations

import shutil

import pytest
from rebase_harness import publish, snapshot, tiny_tree
from whole_contract import WHOLE

from tools.git import Git

pytestmark = pytest.mark.network  # the build backend comes from the index, once

MOVED = ("SECOND_3 = 3\n", "SECOND_3 = 3\nSECOND_HALF = 3.5\n")

TAKEN = ("    for number in numbers:\n", "    for number in numbers or ():\n")
# Second definitions further down: git merges without a word, and the patched ones are dead.
SECOND_DEFINITIONS = (
    "    return None\n",
    "    return None\n\n\ndef total(numbers):\n    return sum(numbers)\n"
    '\n\ndef greeting(name):\n    return "hello" + name\n',
)


def test_behaviour_lost_in_a_clean_merge_is_caught_and_can_be_repaired(rebase):
    """One patch that upstream has, one that merges; later definitions make both of no effect."""
    rebase.publish("9.1.0", tiny_tree("9.1.0", TAKEN, SECOND_DEFINITIONS))
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert "| `polite-greeting.patch` | clean |" in said
    assert "| `polite-greeting.patch` | 0 | **FAILED** |" in said
    assert "| `total-of-none.patch` (dropped) | 0 | **FAILED** |" in said
    assert "| `close-twice.patch` | 1 | good |" in said
    assert "stopped: the tests of polite-greeting.patch, total-of-none.patch fail" in said
    assert "make rebase-continue" in said
    assert snapshot(rebase.project) == before
    file = rebase.folder.repository / "smolagents" / "agents.py"
    text = file.read_text().replace('return "hello" + name', 'return "hello, " + name')
    file.write_text(text.replace("return sum(numbers)", "return sum(numbers or ())"))
    refused, said = rebase("continue")
    assert (refused, "not committed would be lost" in said) == (1, True), said
    message = rebase.git("log", "-1", "--format=%B", "HEAD^")
    assert "Patch-Name: polite-greeting.patch" in message
    rebase.git("commit", "--all", "--quiet", "--fixup", "HEAD^")
    rebase.git("rebase", "--quiet", "--interactive", "--autosquash", "upstream/9.1.0")
    status, said = rebase("continue")
    assert status == 0, said
    assert "numbers or ()" in (rebase.project.patches / "polite-greeting.patch").read_text()


def test_contract_suite_is_part_of_the_verdict_and_redundant_patches_are_named(rebase):
    """Upstream has one patch's behaviour in other words, and breaks what no patch is about."""
    contract = rebase.project.root / "tests" / "contract" / "test_other.py"
    contract.write_text(
        "import smolagents\n\n\ndef test_third():\n    assert smolagents.FIRST_3 == 3\n"
    )
    other_words = ("def total(numbers):\n", "def total(numbers):\n    numbers = numbers or []\n")
    rebase.publish("9.1.0", tiny_tree("9.1.0", other_words, ("FIRST_3 = 3\n", "FIRST_3 = 4\n")))
    rebase.contract = True
    status, said = rebase("start")
    assert status == 1, said
    assert "stopped: the contract suite fails" in said
    assert "tests/contract/test_other.py::test_third: failed: " in said
    assert "- `total-of-none.patch`: its tests pass without it; **retire it**" in said
    assert "polite-greeting.patch`: its tests pass without it" not in said
    contract.write_text(contract.read_text().replace("== 3", "== 4"))
    status, said = rebase("continue")
    assert status == 0, said
    assert "Contract suite (without Docker and Deno): good." in said


def test_upstreams_tags_are_the_bases_and_the_release_is_the_last(rebase, tmp_path):
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


def test_check_tells_of_a_conflict_and_of_its_own_failure(rebase, tmp_path):
    rebase.publish("9.1.0", tiny_tree("9.1.0", ("    thing.close()\n", "    thing.shut()\n")))
    before = snapshot(rebase.project)
    report = tmp_path / "report.md"
    status, said = rebase("check", "--report", str(report))
    assert status == 1, said
    assert "**Stopped by a conflict** on 9.1.0" in report.read_text()
    assert "patches/close-twice.patch does not fit upstream 9.1.0" in said
    assert snapshot(rebase.project) == before
    assert not rebase.folder.path.exists()
    status, said = rebase("check", "--to", "9.7.0", "--report", str(report))
    assert status == 2
    assert "**The check itself failed**" in said
    assert "there is no version 9.7.0 of smolagents" in report.read_text()


def test_interrupted_download_is_tried_again_by_continue(rebase, links):
    wheel, sdist = publish(links, "9.1.0", tiny_tree("9.1.0", MOVED))
    shutil.copy(wheel, rebase.project.cache)
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


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
@pytest.mark.slow
def test_check_in_a_fresh_environment(rebase, tmp_path):
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
    before = snapshot(rebase.project)
    report = tmp_path / "report.md"
    status, said = rebase("check", "--to", "9.1.0", "--report", str(report))
    assert status == 0, said
    assert "| `close-twice.patch` | 2 | good |" in report.read_text()
    assert "The series is on 9.1.0" in report.read_text()
    assert snapshot(rebase.project) == before
    assert not rebase.folder.path.exists()
