"""The real series on real history, and on what upstream's 1.26.0 could have become next.

With ``WHOLE_CONTRACT=1``. Each run has the command on made-up releases (``test_rebase_made_up.py``)
and the real series on releases that conflict (``test_rebase_prepared.py``).

The made-up release is the real one with edits, served to pip from a folder.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rebase_harness import LOCKED, Rebase, checkout_copy, next_release, snapshot
from whole_contract import WHOLE

from buildsys import lock as lockfile
from buildsys.patchfile import Patch, apply_patch, parse_patch
from buildsys.series import load_series, series_names
from buildsys.tree import write_tree
from buildsys.version import read_version_file
from tools.git import Git
from tools.paths import CACHE, PATCHES, ROOT, Project
from tools.rebase.conflict import REGION
from tools.rebase.rehearsal import transplant
from tools.series.needed import tree_of
from tools.series.repository import exported, patch_bytes
from tools.upstream.fetch import fetch_sdist, fetch_wheel
from tools.upstream.relock import lock_of_release

pytestmark = [pytest.mark.network, pytest.mark.slow]

AGENTS = "smolagents/agents.py"


@pytest.fixture
def rebase(release, links: Path, tmp_path: Path) -> Rebase:
    return Rebase(checkout_copy(tmp_path / "project"), links)


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


#: A sixth built-in executor, and executors by entry point, as upstream has announced.
EXECUTORS = {
    b'"modal", "docker"}:': b'"modal", "docker", "daytona"}:',
    b'"docker": DockerExecutor,': b'"docker": DockerExecutor, "daytona": Daytona,',
    b'            raise ValueError(f"Unsupported executor type': b"""\
            import importlib.metadata
            group = {"group": "smolagents.executors", "name": self.executor_type}
            for entry in importlib.metadata.entry_points(**group):
                return entry.load()(self.additional_authorized_imports, self.logger)
            raise ValueError(f"Unsupported executor type""",
    b"\nclass CodeAgent(": b"""
class Daytona(PythonExecutor):
    __init__ = __call__ = send_tools = send_variables = lambda *_, **__: None


class CodeAgent(""",
}
USE = """
import sys
from smolagents import CodeAgent, Model
for name in sys.argv[1:]:
    with CodeAgent([], Model(), executor_type=name) as agent:
        print(type(agent.python_executor).__name__)
"""
PLUG_IN = {
    "plug.py": "from smolagents.local_python_executor import PythonExecutor\n"
    "class Plugged(PythonExecutor):\n    def __init__(self, imports, logger):\n        pass\n"
    "    __call__ = send_tools = send_variables = None\n",
    "plug-1.dist-info/METADATA": "Name: plug\nVersion: 1\n",
    "plug-1.dist-info/entry_points.txt": "[smolagents.executors]\nplugged = plug:Plugged\n",
}


def used(tree: dict[str, bytes], folder: Path, *names: str) -> list[str]:
    """Make agents with executors of these names, a plug-in's among them; gives their classes."""
    write_tree({**tree, **{name: text.encode() for name, text in PLUG_IN.items()}}, folder)
    done = subprocess.run(
        [sys.executable, "-c", USE, *names],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def upstream_next(release: dict[str, bytes], patch: Patch) -> dict[str, bytes]:
    """A release with the text of one patch, a new executor, and an edit that conflicts."""
    tree = apply_patch(patch, release)
    for old, new in EXECUTORS.items():
        assert tree[AGENTS].count(old) == 1
        tree[AGENTS] = tree[AGENTS].replace(old, new)
    node = method(tree[AGENTS], "CodeAgent", "cleanup")
    lines = tree[AGENTS].splitlines(keepends=True)
    first = node.body[1].lineno - 1  # after the docstring
    tree[AGENTS] = b"".join([*lines[:first], b"        closing = True\n", *lines[first:]])
    return tree


def changes_of(patch: bytes) -> list[bytes]:
    """Return the added and removed lines: the context may have a placed line of another patch."""
    return re.findall(rb"^[+-](?![+-]{2} ).*$", patch, flags=re.MULTILINE)


@pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")
def test_series_written_on_1_24_0_reaches_the_next_release(rebase, links, release, tmp_path):
    """By the command alone, but for conflicts; the next release contains one of the patches.

    Releases that have a new executor change the check right below executor-class's hook. The
    new executor works in the fork, beside the fork's own.
    """

    def keep_both() -> None:
        text = file.read_bytes()
        (region,) = REGION.finditer(text)
        hook = region["patch"].removesuffix(region["base"])
        file.write_bytes(text[: region.start()] + hook + region["upstream"] + text[region.end() :])
        rebase.git("add", AGENTS)

    project = rebase.project
    committed = patch_bytes(project)
    contained = "export-executor-types.patch"
    (patch,) = (one for one in load_series(project.patches) if one.name.endswith(contained))
    coming = upstream_next(release, patch)
    version = next_release(links, coming)
    assert transplant(project, "1.24.0") == ["executor-class.patch"]
    assert lockfile.load(project.lock).version == "1.24.0"
    assert read_version_file(project.version_file) == ("1.24.0", 1)
    written_on_1_24_0 = patch_bytes(project)
    assert list(written_on_1_24_0) == list(committed)
    assert written_on_1_24_0 != committed
    before = snapshot(project)
    rebase.index = True  # the real index has the releases in between
    status, said = rebase("start")
    assert status == 1, said
    assert f"from smolagents 1.24.0 to {version}: 1.24.0, 1.25.0, " in said
    assert "conflict: patches/executor-class.patch does not fit upstream 1.2" in said
    file = rebase.folder.repository / AGENTS
    keep_both()
    status, said = rebase("continue")
    assert status == 1, said
    assert f"conflict: patches/executor-class.patch does not fit upstream {version}" in said
    keep_both()
    status, said = rebase("continue")
    assert status == 1, said
    assert f"conflict: patches/idempotent-cleanup.patch does not fit upstream {version}" in said
    assert "  smolagents/agents.py: hunk 1 of 1 (@@ -" in said
    assert "make rebase-continue" in said
    assert "make rebase-abort" in said
    assert snapshot(project) == before
    # On the locked release the patches do what the committed ones do.
    git = Git(Path(shutil.copytree(rebase.folder.repository, tmp_path / "repository")))
    git.run("cherry-pick", "--quit")
    git.run("reset", "--quiet", "--hard", f"series/{LOCKED}")
    on_locked = exported(git, f"upstream/{LOCKED}")
    assert list(on_locked) == list(committed)
    for name, data in committed.items():
        assert changes_of(on_locked[name]) == changes_of(data)
    # What is printed: edit the marks away, add, continue.
    text = file.read_text()
    begin, end = text.index("<<<<<<<"), text.index("\n", text.index(">>>>>>>")) + 1
    patched = text[begin:end].partition("=======\n")[2].partition(">>>>>>>")[0]
    file.write_text(f"{text[:begin]}        closing = True\n{patched}{text[end:]}")
    rebase.git("add", AGENTS)
    status, said = rebase("continue")
    assert status == 0, said
    assert "FAILED" not in said
    assert re.search(r"\| `idempotent-cleanup.patch` \|.* clean \| resolved \|", said), said
    assert read_version_file(project.version_file) == (version, 1)
    kept = (project.patches / "idempotent-cleanup.patch").read_text()
    assert "\n         closing = True\n" in kept
    assert f"`{contained}` is dropped: upstream {version} contains it" in said
    assert f"| `{contained}` (dropped) | 1 | good |" in said
    assert series_names(project.patches) == [name for name in committed if name != contained]
    assert f"`{contained}` is dropped: " in project.changelog.read_text()
    # The verdict knows only what the fork knew before. What is new works, and one plug-in in both.
    assert used(coming, tmp_path / "upstream", "daytona", "plugged") == ["Daytona", "Plugged"]
    fork = tree_of(coming, load_series(project.patches), LOCKED)
    names = used(fork, tmp_path / "fork", "daytona", "plugged", "process")
    assert names == ["Daytona", "Plugged", "ProcessExecutor"]


def test_locked_release_is_locked_again_with_the_same_lock():
    wheel, sdist = fetch_wheel(LOCKED, CACHE), fetch_sdist(LOCKED, CACHE)
    assert lock_of_release(LOCKED, wheel, sdist) == lockfile.load(ROOT / "upstream.lock")


def test_patches_of_the_repository_are_as_parsed():
    """The two patches that this file's edits name exist."""
    names = series_names(PATCHES)
    assert {"idempotent-cleanup.patch", "export-executor-types.patch"} <= set(names)
    for name, data in patch_bytes(Project(ROOT)).items():
        assert parse_patch(name, data).size
