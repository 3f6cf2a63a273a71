"""Nodes of the tests' Ray cluster that give up while they start."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray_nodes import cluster as module
from ray_nodes.cluster import RayCluster

# Only detects hangs.
SECONDS = 60.0


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """A cluster of which nothing runs, and which is waited for without pauses."""
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _seconds: None)
    monkeypatch.setattr(module, "time", clock)
    return RayCluster(1, str(tmp_path), "token", None)


def starts_after(giving_up: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the first starts of a node end early; return where each start is noted."""
    started: list[str] = []

    def start(cluster: RayCluster, node: str) -> None:
        started.append(node)
        text = "timed out" if len(started) <= giving_up else "Ray runtime started."
        (Path(cluster.folder) / f"{node}.log").write_text(text)

    monkeypatch.setattr(RayCluster, "_start", start)
    return started


def test_node_that_gives_up_is_started_again(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch):
    started = starts_after(2, monkeypatch)
    cluster._begin(["node1", "node2"], deadline=time.monotonic() + SECONDS)
    assert started == ["node1", "node2", "node1", "node2"]


def test_node_that_never_starts_is_an_error_with_its_log(
    cluster: RayCluster, monkeypatch: pytest.MonkeyPatch
):
    started = starts_after(99, monkeypatch)
    with pytest.raises(AssertionError, match="node1 ended: timed out"):
        cluster._begin(["node1"], deadline=time.monotonic() + SECONDS)
    assert started == ["node1"] * 5
