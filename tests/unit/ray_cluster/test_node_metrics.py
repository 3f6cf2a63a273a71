"""Figures for ``ray.util.metrics``: which times a node and the helper process record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from doubled_helper import Node, cluster_of

from smolagents_fork import ProcessExecutor
from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.ray_cluster.cluster_client import Cluster
from smolagents_fork.ray_cluster.node.node_metrics import NodeMetrics
from smolagents_fork.ray_cluster.remote_children import RemoteChildren
from smolagents_fork.ray_cluster.reservation import Reservation

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
RESERVATION = Reservation("process", 4, 1.0, 0, 15.0)


@dataclass(frozen=True)
class Figure:
    """One observation of a histogram, behind Ray's own checks of names and tags."""

    name: str
    seconds: float
    node: str
    tenant: str


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    import ray.util.metrics

    found: list[Figure] = []

    class Recorded:
        """Ray's histogram in C++, which sends what it gets to the node's agent."""

        def __init__(self, name: str, description: str, boundaries: Any, tags: Any) -> None:
            assert "in seconds" in description
            assert sorted(boundaries) == boundaries
            assert tags == ("node", "tenant")
            self.name = name

        def record(self, value: float, tags: dict[str, str]) -> None:
            found.append(Figure(self.name, value, **tags))

    monkeypatch.setattr(ray.util.metrics, "CythonHistogram", Recorded)
    return found


@dataclass(frozen=True)
class Place:
    """An engine whose node is in this process."""

    cluster: Cluster

    def children(self, request: Any, *, note: Callable[[str], None]) -> RemoteChildren:
        return RemoteChildren(self.cluster, RESERVATION, request, "tenant1")


def named(figures: list[Figure], name: str) -> list[Figure]:
    return [one for one in figures if one.name == f"smolagents_fork_{name}_seconds"]


def test_start_calls_and_requests_of_a_sandbox(
    figures: list[Figure], monkeypatch: pytest.MonkeyPatch
):
    node = Node("process")
    try:
        with ProcessExecutor(engine=Place(cluster_of(monkeypatch, [node]))) as executor:
            assert executor("1 + 1").output == 2
            executor("import time\ntime.sleep(0.2)")
            executor.put_file(b"text", "file")
        assert [(one.node, one.tenant) for one in named(figures, "start")] == [("node1", "tenant1")]
        calls = named(figures, "call")
        assert {(one.node, one.tenant) for one in calls} == {("node1", "tenant1")}
        assert max(one.seconds for one in calls) >= 0.2
        assert {(one.node, one.tenant) for one in named(figures, "request")} == {("node1", "")}
        assert all(one.seconds >= 0 for one in figures)
    finally:
        node.close()


def test_wait_for_a_slot(figures: list[Figure], monkeypatch: pytest.MonkeyPatch):
    from smolagents_fork.ray_cluster.helper import supervisors

    monkeypatch.setattr(supervisors, "shown_capacity", lambda: "the cluster has nothing")
    made = supervisors.Supervisors("cluster", print)
    monkeypatch.setattr(made, "_create_missing", lambda _reservation: None)
    with pytest.raises(ExecutorStartError, match="no slot for a sandbox became free"):
        made.acquire(RESERVATION, "tenant1", Deadline(0.05))
    (wait,) = named(figures, "wait")
    assert (wait.node, wait.tenant) == ("", "tenant1")
    assert wait.seconds >= 0.05


def test_time_of_a_failed_block_is_recorded(figures: list[Figure]):
    metrics = NodeMetrics("node1", "start")
    with pytest.raises(KeyError), metrics.timed("start", ""):
        raise KeyError
    assert [one.name for one in figures] == ["smolagents_fork_start_seconds"]
    metrics.record("other", "", 1.0)
    assert len(figures) == 1
