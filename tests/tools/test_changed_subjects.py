"""Marks of tests that ``make test`` leaves out, in a repository with a remote branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.git import Git
from tools.paths import ROOT
from tools.run_all.changed_subjects import SUBJECTS, unchanged_subjects

PLACES = ["hosted", "images", "kubernetes", "ray"]
ALL = ["agent_sandbox", "build", *PLACES, "tools", "wasm"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose remote branch is its only commit."""
    git = Git(tmp_path)
    git.init("main")
    for name in ("README.md", "tools/lint.py", "buildsys/tree.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("first")
    git.run("add", "--all")
    git.run("commit", "--quiet", "-m", "first")
    git.run("update-ref", "refs/remotes/origin/HEAD", "HEAD")
    return tmp_path


def test_unchanged_checkout_leaves_out_all(checkout: Path) -> None:
    assert unchanged_subjects(checkout) == ALL


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("README.md", ALL),
        ("tools/lint.py", ["agent_sandbox", "build", *PLACES, "wasm"]),
        ("tools/upstream/new.py", ["agent_sandbox", *PLACES, "wasm"]),
        ("tests/ray_nodes/new.py", [one for one in ALL if one != "ray"]),
        ("patches/series", ["agent_sandbox", "images", "kubernetes", "ray", "wasm"]),
        ("smolagents_fork/codec/new.py", ["agent_sandbox", *PLACES, "tools"]),
        ("smolagents_fork/stream/new.py", ["images", "tools"]),
        ("tests/contract/new.py", ["images", "tools"]),
        ("pyproject.toml", []),
        ("tools_of_another_name.py", ALL),
    ],
)
@pytest.mark.parametrize("committed", [False, True])
def test_changed_file_of_a_subject_has_its_tests_run(
    checkout: Path, name: str, left_out: list[str], committed: bool
) -> None:
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("changed")
    if committed:
        Git(checkout).run("add", "--all")
        Git(checkout).run("commit", "--quiet", "-m", "changed")
    assert unchanged_subjects(checkout) == left_out


def test_nothing_is_left_out_without_remote_or_git(checkout: Path, tmp_path: Path) -> None:
    assert unchanged_subjects(checkout, "origin/of-another-name") == []
    assert unchanged_subjects(tmp_path.parent / "nowhere") == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source distribution has no .ci")
def test_subjects_are_in_the_repository() -> None:
    names = {name for subject in SUBJECTS.values() for name in subject}
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []
