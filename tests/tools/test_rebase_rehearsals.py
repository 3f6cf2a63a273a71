"""The real series on real history, and on what upstream's 1.26.0 could have become next.

The made-up releases are the real one with an edit, served to pip from a folder.
"""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from rebase_harness import Rebase, all_files, checkout_copy, publish, snapshot

from buildsys import lock as lockfile
from buildsys.patchfile import apply_patch, parse_patch
from buildsys.series import load_series, series_names
from buildsys.version import read_version_file
from tools.paths import CACHE, ROOT, Project
from tools.rebase.rehearsal import transplant
from tools.series.repository import patch_bytes
from tools.upstream.fetch import fetch_sdist, fetch_wheel, unpack_wheel

pytestmark = [pytest.mark.network, pytest.mark.slow]

LOCKED = lockfile.load(ROOT / "upstream.lock").version
AGENTS = "smolagents/agents.py"


@pytest.fixture(scope="session")
def release(tmp_path_factory) -> dict[str, bytes]:
    """The locked release's package."""
    fetch_sdist(LOCKED, CACHE)
    site = unpack_wheel(fetch_wheel(LOCKED, CACHE), tmp_path_factory.mktemp("release"))
    return {name: data for name, data in all_files(site).items() if name.startswith("smolagents/")}


@pytest.fixture(scope="session")
def checkout(tmp_path_factory, release) -> Project:
    """A copy of this checkout; not to be written to."""
    return checkout_copy(tmp_path_factory.mktemp("checkout") / "project")


@pytest.fixture
def rebase(checkout: Project, links: Path, tmp_path: Path) -> Rebase:
    return Rebase(Project(Path(shutil.copytree(checkout.root, tmp_path / "project"))), links)


def next_release(links: Path, tree: dict[str, bytes]) -> str:
    """Publish the release after the locked one."""
    major, minor, _ = LOCKED.split(".")
    version = f"{major}.{int(minor) + 1}.0"
    init = tree["smolagents/__init__.py"]
    old, new = f'__version__ = "{LOCKED}"'.encode(), f'__version__ = "{version}"'.encode()
    assert init.count(old) == 1
    tree = {**tree, "smolagents/__init__.py": init.replace(old, new)}
    publish(links, version, tree, lockfile.load(ROOT / "upstream.lock").scripts)
    return version


def method(source: bytes, class_name: str, name: str) -> ast.FunctionDef:
    (body,) = (
        node.body
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == class_name
    )
    (found,) = (
        node for node in body if isinstance(node, ast.FunctionDef) and node.name == name
    )  # fmt: skip
    return found


def test_series_written_on_1_24_0_reaches_the_locked_release_by_the_command_alone(rebase, links):
    project = rebase.project
    committed = patch_bytes(project)
    placed = transplant(project, "1.24.0")
    assert lockfile.load(project.lock).version == "1.24.0"
    assert read_version_file(project.version_file) == ("1.24.0", 1)
    written_on_1_24_0 = patch_bytes(project)
    assert list(written_on_1_24_0) == list(committed)
    assert written_on_1_24_0 != committed
    rebase.index = True  # the real index has the releases
    status, said = rebase("start", "--to", LOCKED)
    assert status == 0, said
    assert f"from smolagents 1.24.0 to {LOCKED}: 1.24.0, 1.25.0, " in said
    after = patch_bytes(project)
    assert list(after) == list(committed)
    different = {name for name, data in committed.items() if after[name] != data}
    assert different == set(placed)
    assert lockfile.load(project.lock) == lockfile.load(ROOT / "upstream.lock")
    assert "FAILED" not in said


def test_release_that_contains_one_patch_and_conflicts_with_another(rebase, links, release):
    contained = "export-executor-types.patch"
    (patch,) = (one for one in load_series(rebase.project.patches) if one.name.endswith(contained))
    tree = apply_patch(patch, release)
    node = method(tree[AGENTS], "CodeAgent", "cleanup")
    lines = tree[AGENTS].splitlines(keepends=True)
    first = node.body[1].lineno - 1  # after the docstring
    tree[AGENTS] = b"".join([*lines[:first], b"        closing = True\n", *lines[first:]])
    version = next_release(links, tree)
    before = snapshot(rebase.project)
    status, said = rebase("start")
    assert status == 1, said
    assert f"conflict: patches/idempotent-cleanup.patch does not fit upstream {version}" in said
    assert "  smolagents/agents.py: hunk 1 of 1 (@@ -" in said
    assert "make rebase-continue" in said
    assert "make rebase-abort" in said
    assert snapshot(rebase.project) == before
    # The way that is printed: edit the marks away, add, continue.
    file = rebase.folder.repository / "smolagents" / "agents.py"
    text = file.read_text()
    begin, end = text.index("<<<<<<<"), text.index("\n", text.index(">>>>>>>")) + 1
    patched = text[begin:end].partition("=======\n")[2].partition(">>>>>>>")[0]
    file.write_text(f"{text[:begin]}        closing = True\n{patched}{text[end:]}")
    rebase.git("add", AGENTS)
    status, said = rebase("continue")
    assert status == 0, said
    assert "| `idempotent-cleanup.patch` | resolved |" in said
    assert read_version_file(rebase.project.version_file) == (version, 1)
    kept = (rebase.project.patches / "idempotent-cleanup.patch").read_text()
    assert "\n         closing = True\n" in kept
    assert f"`{contained}` is dropped: upstream {version} contains it" in said
    assert f"| `{contained}` (dropped) | 1 | good |" in said
    assert contained not in series_names(rebase.project.patches)
    assert not (rebase.project.patches / contained).exists()
    assert f"`{contained}` is dropped: " in rebase.project.changelog.read_text()


def test_patches_of_the_repository_are_as_parsed(checkout):
    """The two patches that this file's edits name exist."""
    names = series_names(checkout.patches)
    assert {"idempotent-cleanup.patch", "export-executor-types.patch"} <= set(names)
    for name, data in patch_bytes(checkout).items():
        assert parse_patch(name, data).size
