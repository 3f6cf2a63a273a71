"""Shared by the tests of the series and of the rebase."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rebase_harness import LOCKED, Rebase, all_files, commit_tiny_series, tiny_project

from tools.paths import CACHE, Project
from tools.series.edit import close_series, open_series
from tools.upstream.fetch import fetch_sdist, fetch_wheel, unpack_wheel


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.tools)


@pytest.fixture(scope="session")
def tiny_template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A made-up project with its series exported; not to be written to."""
    project = tiny_project(tmp_path_factory.mktemp("tiny") / "project")
    git = open_series(project, project.build / "series")
    commit_tiny_series(git)
    close_series(project, git.folder)
    shutil.rmtree(git.folder)
    return project


@pytest.fixture
def tiny(tiny_template: Project, tmp_path: Path) -> Project:
    """A made-up project of one's own."""
    return Project(Path(shutil.copytree(tiny_template.root, tmp_path / "project")))


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder of releases of one's own."""
    (tmp_path / "links").mkdir()
    return tmp_path / "links"


@pytest.fixture
def rebase(tiny: Project, links: Path) -> Rebase:
    """The rebase command in a made-up project."""
    return Rebase(tiny, links)


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The locked release's package."""
    fetch_sdist(LOCKED, CACHE)
    site = unpack_wheel(fetch_wheel(LOCKED, CACHE), tmp_path_factory.mktemp("release"))
    return {name: data for name, data in all_files(site).items() if name.startswith("smolagents/")}
