"""The wheel of the installed distribution: complete, recorded, the same each time."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import io
import re
import zipfile
from pathlib import Path

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.sandboxes.docker.images import installed_wheel as module
from smolagents_fork.sandboxes.docker.images.installed_wheel import installed_wheel

REPOSITORY = Path(__file__).resolve().parents[4]


def test_wheel_has_both_packages_and_a_true_record() -> None:
    name, data = installed_wheel()
    version = importlib.metadata.version("smolagents")
    assert name == f"smolagents-{version}-py3-none-any.whl"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        record = f"smolagents-{version}.dist-info/RECORD"
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        for path, digest, size in rows[:-1]:
            content = archive.read(path)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            assert (digest, size) == (f"sha256={hashed.decode()}", str(len(content)))
    assert [row[0] for row in rows] == names
    assert rows[-1] == [record, "", ""]
    assert {
        "smolagents/agents.py",
        "smolagents/prompts/code_agent.yaml",
        "smolagents_fork/agent_sandbox/supervisor.py",
        f"smolagents-{version}.dist-info/METADATA",
        f"smolagents-{version}.dist-info/entry_points.txt",
        f"smolagents-{version}.dist-info/WHEEL",
    } <= set(names)
    assert not [path for path in names if "__pycache__" in path]


def test_wheel_has_the_same_bytes_each_time() -> None:
    assert installed_wheel() == installed_wheel()


def test_distribution_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DISTRIBUTION", "not-there")
    with pytest.raises(ExecutorStartError, match="'not-there' is not installed"):
        installed_wheel()


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
