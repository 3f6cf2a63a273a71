"""The series on revisions that are not released: a branch, a commit, pull requests."""

from __future__ import annotations

import pytest
from rebase_harness import snapshot, tiny_tree

from tools.git import Git
from tools.series.repository import commit_tree

pytestmark = pytest.mark.network  # the build backend comes from the index, once

HAS_TOTAL = ("    for number in numbers:\n", "    for number in numbers or ():\n")
OTHER_WORDS = ('    words = "hello"\n', '    words = "good day"\n')


@pytest.fixture(scope="module")
def upstream(tmp_path_factory):
    """Upstream's repository as it might be: main, a branch, and two pull requests."""
    git = Git(tmp_path_factory.mktemp("upstream"))
    git.init("main")
    trees = {
        "refs/heads/main": tiny_tree("9.1.0.dev0", ("FIRST_5 = 5\n", "")),
        "refs/heads/rewrite": tiny_tree("9.1.0.dev0", OTHER_WORDS, HAS_TOTAL),
        "refs/pull/7/head": tiny_tree("9.1.0.dev0", ("SECOND_2 = 2\n", "")),
        "refs/pull/31/head": tiny_tree("9.1.0.dev0", OTHER_WORDS),
    }
    for ref, tree in trees.items():
        commit_tree(git, {f"src/{name}": data for name, data in tree.items()}, "work", ref)
    git.run("config", "uploadpack.allowAnySHA1InWant", "true")
    return git


def check(rebase, upstream, *arguments):
    before = snapshot(rebase.project)
    status, said = rebase("check", "--upstream-git", str(upstream.folder), *arguments)
    assert snapshot(rebase.project) == before
    report = (rebase.project.reports / "rebase-check.md").read_text()
    assert report in said
    return status, report


def test_unreleased_main_that_takes_the_series(rebase, upstream):
    status, report = check(rebase, upstream, "--to", "main")
    assert status == 0
    assert "| patch | main |" in report
    assert "| `close-twice.patch` | clean |" in report


def test_commit_is_a_revision_too(rebase, upstream):
    status, _ = check(rebase, upstream, "--to", upstream.text("rev-parse", "main"))
    assert status == 0


def test_every_conflict_is_named_by_patch_in_one_run(rebase, upstream):
    status, report = check(rebase, upstream, "--to", "rewrite")
    assert status == 1
    assert "| `polite-greeting.patch` | **conflict** in smolagents/agents.py |" in report
    assert "| `total-of-none.patch` | in upstream |" in report
    assert "| `close-twice.patch` | clean |" in report


def test_pull_requests_are_columns(rebase, upstream):
    status, report = check(rebase, upstream, "--pulls", "7,31")
    assert status == 1
    assert "| patch | refs/pull/7/head | refs/pull/31/head |" in report
    assert "| `polite-greeting.patch` | clean | **conflict** in smolagents/agents.py |" in report
    assert check(rebase, upstream, "--pulls", "all") == (status, report)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "gone"], "couldn't find remote ref gone"),
        (["--pulls", "8"], "couldn't find remote ref refs/pull/8/head"),
        (["--pulls", "x"], "couldn't find remote ref refs/pull/x/head"),
    ],
)
def test_revision_that_cannot_be_had_is_no_verdict(rebase, upstream, arguments, words):
    status, report = check(rebase, upstream, *arguments)
    assert (status, words in report) == (2, True), report


def test_branch_without_repository_is_an_error(rebase):
    status, said = rebase("check", "--to", "main")
    assert (status, "UPSTREAM_GIT is missing" in said) == (2, True), said
