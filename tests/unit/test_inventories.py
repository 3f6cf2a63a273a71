"""Executors whose sandboxes the command line asks for: pods only where a cluster is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from smolagents_fork.command_line import inventories
from smolagents_fork.command_line.inventories import INVENTORIES, Where

OTHERS = ["docker", "process", "wasm"]


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The path that ``KUBECONFIG`` names; there is no such file yet, and no service account."""
    path = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(path))
    monkeypatch.setattr(inventories, "_ACCOUNT", tmp_path / "token")
    monkeypatch.setattr(inventories, "find_spec", lambda _name: object())
    return path


def test_pods_are_asked_for_where_a_cluster_is_named(config: Path):
    assert Where().executors() == OTHERS
    assert Where(namespace="agents").executors() == list(INVENTORIES)
    config.touch()
    assert Where().executors() == list(INVENTORIES)
    assert Where("docker").executors() == ["docker"]


def test_pods_are_not_asked_for_without_the_client(config: Path, monkeypatch: pytest.MonkeyPatch):
    config.touch()
    monkeypatch.setattr(inventories, "find_spec", lambda _name: None)
    assert Where().executors() == OTHERS
    assert Where("kubernetes").executors() == ["kubernetes"]
