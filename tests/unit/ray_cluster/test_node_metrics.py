"""Figures for ``ray.util.metrics``: which times a node and the helper process record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from doubled_helper import Node, cluster_of

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.ray_cluster.node.node_metrics import NodeMetrics
from smolagents_fork.ray_cluster.reservation import Reservation

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
# Only detects hangs.
SECONDS = 240.0
RESERVATION = Reservation("process", 4, 1.0, 0, 15.0)


@dataclass(frozen=True)
class Figure:
    """One observation of a histogram, behind Ray's own checks of names and tags."""

    name: str
    seconds: float
    node: str
    kind: str
    tenant: str

    @property
    def tags(self) -> tuple[str, str, str]:
        return self.node, self.kind, self.tenant


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    import ray.util.metrics

    found: list[Figure] = []

    class Recorded:
        """Ray's histogram in C++, which sends what it gets to the node's agent."""

        def __init__(self, name: str, description: str, boundaries: Any, tags: Any) -> None:
            assert "in seconds" in description
            assert sorted(boundaries) == boundaries
            assert tags == ("node", "kind", "tenant")
            self.name = name

        def record(self, value: float, tags: dict[str, str]) -> None:
            found.append(Figure(self.name, value, **tags))

    monkeypatch.setattr(ray.util.metrics, "CythonHistogram", Recorded)
    return found


def named(figures: list[Figure], name: str) -> list[Figure]:
    return [one for one in figures if one.name == f"smolagents_fork_{name}_seconds"]


@pytest.mark.parametrize(
    ("kind", "executor_class", "request_of"),
    [
        ("process", ProcessExecutor, lambda executor: executor.put_file(b"text", "file")),
        pytest.param(
            "docker", DockerExecutor, lambda executor: executor.stats(), marks=pytest.mark.docker
        ),
    ],
)
def test_start_calls_and_requests_of_a_sandbox(
    figures: list[Figure],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    kind: str,
    executor_class: Any,
    request_of: Callable[[Any], object],
):
    if kind == "docker":
        request.getfixturevalue("engine")
    node = Node(kind)
    cluster = cluster_of(monkeypatch, [node])
    monkeypatch.setattr(RayEngine, "cluster", lambda _self, note: cluster)
    place = RayEngine("10.0.0.1:6379", sandbox=kind, tenant="tenant1")
    try:
        with executor_class(engine=place, startup_timeout_seconds=SECONDS) as executor:
            assert executor("1 + 1").output == 2
            executor("import time\ntime.sleep(0.2)")
            with pytest.raises(Exception, match="ZeroDivisionError"):
                executor("1 / 0")
            request_of(executor)
        calls = named(figures, "call")
        assert [one.tags for one in calls] == 3 * [("node1", kind, "tenant1")]
        assert calls[1].seconds >= 0.2
        # One that only prepares an image has no tenant.
        assert named(figures, "start")[-1].tags == ("node1", kind, "tenant1")
        assert {one.tags for one in named(figures, "request")} == {("node1", kind, "")}
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
    assert wait.tags == ("", "process", "tenant1")
    assert wait.seconds >= 0.05


def test_time_of_a_failed_block_is_recorded(figures: list[Figure]):
    metrics = NodeMetrics("node1", "start")
    with pytest.raises(KeyError), metrics.timed("start", "process", ""):
        raise KeyError
    assert [one.name for one in figures] == ["smolagents_fork_start_seconds"]
    metrics.record("other", "process", "", 1.0)
    assert len(figures) == 1
