"""docs/start/installs.md: the marked rows, with pip and uv and an index that a test controls."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from private_index import serving, write_wheel
from whole_contract import every

from buildsys.lock import load
from buildsys.version import fork_version
from tools.paths import ROOT, Project

UPSTREAM = load(ROOT / "upstream.lock").version
NEXT = "99.0.0"
FORK = fork_version(Project().version_file, load(ROOT / "upstream.lock"))

pytestmark = [pytest.mark.broad, pytest.mark.slow]


class Reader(NamedTuple):
    """A reader's folder, with an environment and an index."""

    folder: Path
    index: Path
    run: Callable[..., subprocess.CompletedProcess[str]]

    def pip(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call pip in the environment."""
        return self.run(sys.executable, "-m", "pip", "--python", "env/bin/python", *arguments)

    def uv(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call ``uv pip`` for the environment."""
        command, *rest = arguments
        return self.run(
            sys.executable, "-m", "uv", "pip", command, "--python", "env/bin/python", *rest
        )

    @property
    def installed(self) -> str:
        """The line of a freeze that names smolagents."""
        return self.uv("freeze").stdout.strip()


@pytest.fixture
def reader(tmp_path) -> Iterator[Reader]:
    """Give an environment without packages, and an index with the fork and upstream."""
    index = tmp_path / "index"
    for version in (FORK, UPSTREAM):
        write_wheel(index, "smolagents", version)
    venv.create(tmp_path / "env", with_pip=False)
    (tmp_path / "constraints.txt").write_text(f"smolagents=={FORK}\n")
    left_out = ("PIP_", "UV_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    with serving(index) as port:
        address = f"http://127.0.0.1:{port}/simple"
        env |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": address, "PIP_NO_CACHE_DIR": "1"}
        env |= {"UV_DEFAULT_INDEX": address, "UV_NO_CONFIG": "1", "UV_NO_CACHE": "1"}

        def run(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
            )

        yield Reader(tmp_path, index, run)


def test_freeze_records_where_the_fork_came_from(reader):
    wheel = next(reader.index.glob("simple/smolagents/*fork*"))
    reader.pip("install", str(wheel))
    frozen = reader.pip("freeze").stdout.strip()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert frozen == f"smolagents @ {wheel.as_uri()}#sha256={digest}"
    reader.uv("install", "--reinstall", f"smolagents=={FORK}")
    assert reader.installed == f"smolagents=={FORK}"


@pytest.mark.parametrize("installer", every(2, ["uv", "pip"]))
def test_upgrade_replaces_the_fork_unless_a_constraint_keeps_it(reader, installer):
    call = getattr(reader, installer)
    assert call("install", f"smolagents=={UPSTREAM}").returncode == 0
    assert reader.installed == f"smolagents=={FORK}", "the newest that satisfies =="
    write_wheel(reader.index, "smolagents", NEXT)
    assert call("install", "-U", "-c", "constraints.txt", "smolagents").returncode == 0
    assert reader.installed == f"smolagents=={FORK}"
    assert call("install", "-U", "smolagents").returncode == 0
    assert reader.installed == f"smolagents=={NEXT}"


def test_constraint_is_an_error_where_no_index_has_the_fork(reader):
    next(reader.index.glob("simple/smolagents/*fork*")).unlink()
    write_wheel(reader.index, "smolagents", NEXT)
    assert reader.uv("install", "-c", "constraints.txt", "smolagents").returncode != 0
    assert reader.installed == ""


def test_hash_refuses_another_file(reader):
    wheel = next(reader.index.glob("simple/smolagents/*fork*"))
    pinned = reader.folder / "requirements.txt"
    right = hashlib.sha256(wheel.read_bytes()).hexdigest()
    for digest, expected in (("0" * 64, ""), (right, f"smolagents=={FORK}")):
        pinned.write_text(f"smolagents=={FORK} --hash=sha256:{digest}\n")
        reader.pip("install", "--require-hashes", "-r", "requirements.txt")
        assert reader.installed == expected
