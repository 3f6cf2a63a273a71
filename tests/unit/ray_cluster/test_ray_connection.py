"""Placer's connection to Ray: what it asks for, and how Ray's errors are told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from smolagents_fork.errors import EngineUnavailableError

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "ray://10.0.0.1:10001"])
def test_packages_go_to_the_nodes_complete_and_without_compiled_files(
    monkeypatch: pytest.MonkeyPatch, address: str
):
    import ray

    from smolagents_fork.ray_cluster import ray_calls

    found: dict[str, set[str]] = {}

    def init(runtime_env: dict[str, Any], **_arguments: Any) -> Any:
        for folder in map(Path, runtime_env["py_modules"]):
            files = [path for path in folder.rglob("*") if path.is_file()]
            found[folder.name] = {path.relative_to(folder).as_posix() for path in files}
        return SimpleNamespace(address_info={"gcs_address": "10.0.0.1:6379"})

    monkeypatch.setattr(ray, "init", init)
    assert ray_calls.connect_to_ray(address) == "10.0.0.1:6379"
    assert "ray_cluster/node_supervisor.py" in found["smolagents_fork"]
    assert "_images/jupyter/install.sh" in found["smolagents_fork"]
    assert "client.py" in found["docker"]
    assert not [name for names in found.values() for name in names if "__pycache__" in name]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("rpc: InvalidAuthToken", r"10\.0\.0\.1:6379 refused the token"),
        (
            "Version mismatch: Ray: 2.1",
            r"connect to 10\.0\.0\.1:6379: .*: Ray: 2\.1; this process has Ray",
        ),
    ],
)
def test_error_of_the_connection_is_said(monkeypatch: pytest.MonkeyPatch, said: str, words: str):
    import ray

    from smolagents_fork.ray_cluster import ray_calls

    def refuse(**_arguments: Any) -> NoReturn:
        raise RuntimeError(said)

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(EngineUnavailableError, match=words):
        ray_calls.connect_to_ray("10.0.0.1:6379")
