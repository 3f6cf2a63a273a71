"""Figures for ``ray.util.metrics``: which times the placer records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from doubled_placer import DoubledPlacer, Node, cluster_of

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
# Only detects hangs.
SECONDS = 240.0


def node_cluster(kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Node, Any]:
    """Return a node of a kind, and what a cluster of it has recorded."""
    node = Node(kind)
    cluster = cluster_of(monkeypatch, DoubledPlacer(node))
    monkeypatch.setattr(RayEngine, "cluster", lambda _self: cluster)
    return node, cluster._supervisors.placer


@pytest.mark.parametrize(
    ("kind", "executor_class", "request_of"),
    [
        ("process", ProcessExecutor, lambda executor: executor.put_file(b"text", "file")),
        pytest.param(
            "docker", DockerExecutor, lambda executor: executor.stats(), marks=pytest.mark.docker
        ),
    ],
)
def test_calls_and_requests_of_a_sandbox(
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    kind: str,
    executor_class: Any,
    request_of: Callable[[Any], object],
):
    if kind == "docker":
        request.getfixturevalue("engine")
    node, placer = node_cluster(kind, monkeypatch)
    place = RayEngine("10.0.0.1:6379", sandbox=kind, tenant="tenant1")
    try:
        with executor_class(engine=place, startup_timeout_seconds=SECONDS) as executor:
            assert executor("1 + 1").output == 2
            executor("import time\ntime.sleep(0.2)")
            with pytest.raises(Exception, match="ZeroDivisionError"):
                executor("1 / 0")
            request_of(executor)
        started = [(one[0], *one[2:]) for one in placer.times]
        assert ("wait", "", kind, "tenant1") in started
        assert ("start", "node1", kind, "tenant1") in started
        calls = [one for one in placer.times if one[0] == "call"]
        assert [one[2:] for one in calls] == 3 * [("node1", kind, "tenant1")]
        assert calls[1][1] >= 0.2
        requests = {one[2:] for one in placer.times if one[0] == "request"}
        assert requests == {("node1", kind, "")}
    finally:
        node.close()
