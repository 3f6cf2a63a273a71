"""The layers of ``smolagents_fork``; their check can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.layers import LAYERS, PACKAGE, room_imports, violations
from tools.layers_picture import PICTURE, draw
from tools.paths import ROOT


def test_imports_keep_to_the_layers():
    assert violations(ROOT / PACKAGE) == []


def test_every_part_has_a_layer():
    parts = {part for row in LAYERS for part in row}
    folder = ROOT / PACKAGE
    # The bytecode cache of a removed part leaves an empty folder.
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


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"sandboxes/resource_limits.py": "def f():\n    from .provisioner import Sandbox"},
            "provisioner is a higher room than resource_limits",
        ),
        (
            {"executors/process/x.py": "from ..local import run"},
            "local and process are siblings",
        ),
        (
            {"executors/validation.py": "from .base import Executor"},
            "base is a higher room than validation",
        ),
        (
            {"executors/base.py": "from ..sandboxes.docker.engine import connect"},
            "only __init__.py and executors/docker/ and executors/ray/ and "
            "ray_cluster/docker_node.py and "
            "sandboxes/docker/ know docker",
        ),
        (
            {"bridge/x.py": "import docker.errors"},
            "only __init__.py and executors/docker/ and executors/ray/ and "
            "ray_cluster/docker_node.py and "
            "sandboxes/docker/ know docker",
        ),
        (
            {
                "codec/a.py": "if TYPE_CHECKING:\n    from .b import B",
                "codec/b.py": "from .a import A",
            },
            "import cycle: codec.a -> codec.b -> codec.a",
        ),
        (
            {"codec/frames.py": "", "jupyter/frames.py": ""},
            "codec/frames.py and jupyter/frames.py: a module's name stands once in the package",
        ),
    ],
)
def test_violation_inside_a_part_is_found(tmp_path: Path, files: dict[str, str], words: str):
    write(tmp_path, files)
    assert [words in line for line in violations(tmp_path)] == [True]


def test_rooms_are_drawn_as_they_are():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.split("## The rooms")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w/]+)` \| [^|]+ \| ([^|]+) \|$", table, re.MULTILINE)
    drawn = {room: set(re.findall(r"`([\w/]+)`", imported)) for room, imported in rows}
    assert drawn == room_imports(ROOT / PACKAGE)


def test_files_named_on_the_page_exist():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    walk = page.split("## One call from the agent")[1].split("\n## ")[0]
    named = re.findall(r"\b((?:bridge|docker|executors|jupyter|sandboxes)/[\w/]+\.py)\b", walk)
    assert len(named) > 10
    for name in named:
        assert (ROOT / PACKAGE / name).is_file() or (ROOT / name).is_file(), name


def test_allowed_imports_are_no_violation(tmp_path: Path):
    (tmp_path / "executors").mkdir()
    (tmp_path / "executors" / "x.py").write_text(
        "import json\nfrom ..codec import encode\nfrom . import base\n"
        "from smolagents_fork.upstream import Tool\n"
    )
    (tmp_path / "upstream.py").write_text("from smolagents.tools import Tool\n")
    assert violations(tmp_path) == []
