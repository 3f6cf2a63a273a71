"""The layers of ``smolagents_fork``; their check can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.lint import COMMANDS, PACKAGE, repeated_names
from tools.paths import ROOT


def lint(folder: Path) -> tuple[int, str]:
    """Hold the package in a folder against the configuration."""
    done = subprocess.run(
        [*COMMANDS["layers"], ROOT / ".importlinter"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the package, to which a test adds a module."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=ignored)
    assert lint(folder)[0] == 0
    return folder


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("codec/added.py", "from ..executors import base", "layers of the package BROKEN"),
        (
            "jupyter/added.py",
            "def f():\n    from ..interpreter import x",
            "layers of the package BR",
        ),
        ("added.py", "", "- smolagents_fork.added\n"),
        (
            "bridge/added.py",
            "import smolagents.tools",
            "only upstream looks smolagents up, by name BROKEN",
        ),
        ("bridge/added.py", "import docker.errors", "who knows docker BROKEN"),
        ("executors/process/added.py", "from ..local import x", "rooms of executors BROKEN"),
        ("executors/added.py", "from ..ray_cluster import x", "who knows ray BROKEN"),
        ("interpreter/guarded/meter.py", "from . import api", "interpreter.guarded BROKEN"),
        (
            "codec/added.py",
            "if TYPE_CHECKING:\n    from . import added2",
            "no cycles, even inside a folder BROKEN",
        ),
    ],
)
def test_violation_is_found(copy: Path, name: str, text: str, words: str):
    path, other = copy / PACKAGE / name, copy / PACKAGE / "codec" / "added2.py"
    before = path.read_text() if path.exists() else ""
    other.write_text("from . import added" if "added2" in text else "")
    path.write_text(f"{before}\n{text}\n")
    try:
        status, said = lint(copy)
    finally:
        other.unlink()
        path.write_text(before) if before else path.unlink()
    assert (status, words in said) == (1, True), said


def test_name_that_stands_twice_is_found(tmp_path: Path):
    for folder in ("codec", "jupyter"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "frames.py").touch()
    assert repeated_names(tmp_path) == [
        "codec/frames.py and jupyter/frames.py: a module's name stands once in the package"
    ]
