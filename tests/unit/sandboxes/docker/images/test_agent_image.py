"""The image of agents: the installed smolagents, the same bytes each time, and what it requires."""

from __future__ import annotations

import importlib.metadata
import io
import re
import zipfile
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.sandboxes.docker.images import image_plans

REPOSITORY = Path(__file__).resolve().parents[5]


def test_archive_has_both_packages_and_the_metadata(tmp_path: Path) -> None:
    data = image_plans.archive_installation()
    version = importlib.metadata.version("smolagents")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert {
        "smolagents/agents.py",
        "smolagents/prompts/code_agent.yaml",
        "smolagents_fork/agent_sandbox/supervisor.py",
    } <= set(names)
    assert not [path for path in names if "__pycache__" in path]
    (copied,) = importlib.metadata.distributions(path=[str(tmp_path)])
    assert (copied.name, copied.version) == ("smolagents", version)
    assert {entry.name for entry in copied.entry_points} >= {"smolagent", "smolagents-fork"}


def test_archive_has_the_same_bytes_each_time() -> None:
    assert image_plans.archive_installation() == image_plans.archive_installation()


def test_distribution_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_plans, "_DISTRIBUTION", "not-there")
    with pytest.raises(ExecutorStartError, match="'not-there' is not installed"):
        image_plans.archive_installation()


def test_image_requires_what_smolagents_requires() -> None:
    # Executors on the host need docker; "editables" is an editable install's.
    required = {
        re.split(r"[<>=~!;\[ ]", line)[0].lower()
        for line in importlib.metadata.requires("smolagents") or ()
        if "extra ==" not in line
    } - {"docker", "editables"}
    lines = (REPOSITORY / "docker/agent/requirements.in").read_text().splitlines()
    listed = {re.split(r"[<>=~!;\[ ]", line)[0] for line in lines if line and line[0] != "#"}
    assert listed == required


def test_image_has_one_version_of_what_kernel_and_smolagents_require() -> None:
    versions = [
        dict(re.findall(r"^([\w.-]+)==(\S+)", path.read_text(), re.MULTILINE))
        for path in sorted((REPOSITORY / "docker").glob("*/requirements.txt"))
    ]
    shared = versions[0].keys() & versions[1].keys()
    assert len(shared) > 3
    assert {name: versions[0][name] for name in shared} == {
        name: versions[1][name] for name in shared
    }
