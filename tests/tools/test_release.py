"""A whole release but its publication: files, commits, tag, and an installation from them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from whole_contract import WHOLE

from buildsys.lock import load
from buildsys.version import fork_version
from tools.command import run
from tools.paths import ROOT, Project
from tools.rebase.trial import copy_checkout
from tools.release.__main__ import export_release, main

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.limit(600)]

DATE = "2031-02-03"


def git(folder: Path, *arguments: str) -> str:
    return run(["git", *arguments], timeout_seconds=60, cwd=folder, env=os.environ)


def clone(folder: Path) -> Path:
    """Copy what git takes of the checkout into a repository of one commit."""
    copy_checkout(Project(), folder)
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "A Maintainer")
    git(folder, "config", "user.email", "a@maintainer.invalid")
    git(folder, "add", "-A", "--force")
    git(folder, "commit", "-q", "-m", "all")
    return folder


def clone_of_tag(origin: Path, version: str, folder: Path) -> Path:
    git(origin, "clone", "-q", "--branch", f"v{version}", str(origin), str(folder))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def version() -> str:
    project = Project()
    return fork_version(project.version_file, load(project.lock))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a release in a clone and return the clone."""
    root = clone(tmp_path_factory.mktemp("first") / "clone")
    assert main(["--date", DATE], root) == 0
    return root


def test_release_has_every_file_with_its_sum(released, version):
    out = released / "dist" / "release"
    sums = [line.split("  ") for line in (out / "SHA256SUMS").read_text().splitlines()]
    assert {name for _, name in sums} == {
        "RELEASE_NOTES.md",
        "constraints.txt",
        f"smolagents-{version}-py3-none-any.whl",
        f"smolagents-{version}.tar.gz",
        f"smolagents-{version}.cdx.json",
    }
    for digest, name in sums:
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    bill = json.loads((out / f"smolagents-{version}.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == version
    assert {"docker", "rich", "requests"} <= {one["name"] for one in bill["components"]}
    assert "### Added" in (out / "RELEASE_NOTES.md").read_text()


def test_release_is_tagged_and_next_one_begun(released, version):
    tagged = git(released, "show", f"v{version}:CHANGELOG.md")
    assert f"## [{version}] - {DATE}\n" in tagged
    assert (
        git(released, "tag", "-l", "--format=%(objecttype) %(taggername)") == "tag A Maintainer\n"
    )
    project = Project(released)
    following = fork_version(project.version_file, load(project.lock))
    assert int(following.rpartition(".")[2]) == int(version.rpartition(".")[2]) + 1
    changelog = project.changelog.read_text()
    assert changelog.index(f"## [{following}] - unreleased") < changelog.index(
        f"[{version}] - {DATE}"
    )
    assert f"smolagents=={following}" in (released / "README.md").read_text()
    assert git(released, "status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_trial_on_another_path_makes_same_bytes_and_changes_nothing(released, tmp_path):
    root = clone(tmp_path / "another" / "folder")
    before = git(root, "rev-parse", "HEAD")
    assert main(["--dry", "--date", DATE], root) == 0
    assert git(root, "status", "--porcelain", "--untracked-files=no") == ""
    assert (git(root, "rev-parse", "HEAD"), git(root, "tag")) == (before, "")
    out, first = root / "dist" / "release", released / "dist" / "release"
    assert (out / "SHA256SUMS").read_text() == (first / "SHA256SUMS").read_text()


def test_tag_has_the_tree_that_release_was_made_from(released, version, tmp_path):
    """So the workflow that a tag starts makes the same files (--tagged)."""
    root = clone(tmp_path / "clone")
    expected = export_release(Project(root), version, tmp_path / "expected", DATE).root
    checkout = clone_of_tag(released, version, tmp_path / "checkout")
    tagged = export_release(Project(checkout), version, tmp_path / "tagged", None).root
    assert contents(tagged) == contents(expected)


def write_index(wheels: Path, index: Path) -> Path:
    """Write a package index of wheels, by the last commands of the workflow's step."""
    workflow = (ROOT / ".github" / "workflows" / "pages.yml").read_text("utf-8")
    _, _, step = workflow.partition("            done\n")
    commands, _, _ = step.partition("      - uses:")
    shutil.copytree(wheels, index / "build" / "releases")
    (index / "build" / "site" / "index").mkdir(parents=True)
    script = commands.replace(".venv/bin/python", sys.executable)
    run(["sh", "-ec", script], timeout_seconds=300, cwd=index, env=os.environ)
    return index / "build" / "site" / "index"


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
@pytest.mark.skipif(not shutil.which("jq"), reason="the workflow's step needs jq")
def test_release_installs_from_static_index_alone(released, version, tmp_path):
    """The index gets the dependencies' wheels, too; then nothing else can be asked."""
    out = released / "dist" / "release"
    run(
        [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
            "--find-links", out, "--dest", tmp_path / "wheels", "-r", out / "constraints.txt",
        ],
        timeout_seconds=300, env=os.environ,
    )  # fmt: skip
    index = write_index(tmp_path / "wheels", tmp_path / "index")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UV_OFFLINE": "1"}
    uv, python = [sys.executable, "-m", "uv"], tmp_path / "environment" / "bin" / "python"
    for command in (
        [*uv, "venv", "-q", "--python", sys.executable, tmp_path / "environment"],
        [
            *uv, "pip", "install", "-q", "--python", python, "--require-hashes",
            "--default-index", (index / "simple").as_uri(), "-r", out / "constraints.txt",
        ],
    ):  # fmt: skip
        run(command, timeout_seconds=300, env=environment)
    program = (
        "import smolagents; from smolagents_fork import ProcessExecutor\n"
        "print(smolagents.__version__)\n"
        "with ProcessExecutor([]) as executor: print(executor('6 * 7').output)"
    )
    printed = run([python, "-c", program], timeout_seconds=120, env=environment)
    assert printed == f"{version}\n42\n"


def test_release_of_changed_checkout_is_refused(released, capsys):
    (released / "NOTICE").write_text("changed")
    assert main([], released) == 2
    assert "the checkout has changes; commit or stash them first" in capsys.readouterr().err
    git(released, "checkout", "-q", "NOTICE")
