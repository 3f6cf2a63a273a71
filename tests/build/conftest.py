"""The real release, unpacked, and copies of the build inputs that tests may damage."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildsys import lock as lockfile
from tools.paths import CACHE, ROOT
from tools.upstream.fetch import fetch_wheel, unpack_wheel


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.build)


@pytest.fixture(scope="session")
def pristine_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack upstream's release like an installer; read-only."""
    version = lockfile.load(ROOT / "upstream.lock").version
    return unpack_wheel(fetch_wheel(version, CACHE), tmp_path_factory.mktemp("release"))


@pytest.fixture
def site(pristine_site: Path, tmp_path: Path) -> Path:
    """Copy the release, so that a test may damage it."""
    bytecode = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(pristine_site, tmp_path / "site", ignore=bytecode))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """Copy the inputs of a build, so that a test may damage them."""
    root = tmp_path / "project"
    (root / "smolagents_fork").mkdir(parents=True)
    shutil.copy(ROOT / "smolagents_fork" / "_version.py", root / "smolagents_fork")
    shutil.copy(ROOT / "upstream.lock", root)
    shutil.copytree(ROOT / "patches", root / "patches")
    before = {path.relative_to(root) for path in root.rglob("*")}
    yield root
    left = {path.relative_to(root) for path in root.rglob("*")} - before
    assert not {path for path in left if path.parts[0] not in {"patches", "upstream.lock"}}, (
        "a build wrote into the project"
    )
