"""The layers of ``smolagents_fork``, and that the check which holds them can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.layers import LAYERS, PACKAGE, violations
from tools.layers_picture import PICTURE, draw
from tools.paths import ROOT


def test_imports_keep_to_the_layers():
    assert violations(ROOT / PACKAGE) == []


def test_every_part_has_a_layer():
    parts = {part for row in LAYERS for part in row}
    folder = ROOT / PACKAGE
    # An empty folder is what an interpreter's cache leaves of a part that was removed.
    there = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/*.py")}
    assert there <= parts


def test_committed_picture_is_the_table():
    assert PICTURE.read_text("utf-8") == draw(), "run: python -m tools.layers_picture"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("errors.py", "import smolagents_fork.executors.base", "executors is a higher layer than"),
        ("codec/x.py", "from smolagents_fork.bridge import y", "bridge is a higher layer than cod"),
        ("codec/x.py", "from ..executors import base", "executors is a higher layer than codec"),
        ("jupyter/x.py", "from smolagents_fork import sandboxes", "are siblings"),
        ("jupyter/x.py", "def f():\n    from ..interpreter import run", "are siblings"),
        ("bridge/x.py", "import smolagents.tools", "only upstream imports smolagents"),
        ("new/x.py", "", "part 'new' has no layer"),
    ],
)
def test_violation_is_found(tmp_path: Path, name: str, text: str, words: str):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert [words in line for line in violations(tmp_path)] == [True]


def test_allowed_imports_are_no_violation(tmp_path: Path):
    (tmp_path / "executors").mkdir()
    (tmp_path / "executors" / "x.py").write_text(
        "import docker\nfrom ..codec import encode\nfrom . import base\n"
        "from smolagents_fork.upstream import Tool\n"
    )
    (tmp_path / "upstream.py").write_text("from smolagents.tools import Tool\n")
    assert violations(tmp_path) == []
