"""Containers on a Ray cluster: the same results, errors and limits as on one machine."""

from __future__ import annotations

from typing import Any

import pytest
from background import acting
from ray_nodes.cluster import RayCluster

from smolagents_fork import DockerExecutor, RayEngine
from smolagents_fork.errors import (
    ExecutorError,
    SandboxDiedError,
)

pytestmark = pytest.mark.docker
# Only detects hangs.
_SECONDS = 240.0


def make(cluster: RayCluster, **keywords: Any) -> DockerExecutor:
    keywords.setdefault("timeout_seconds", _SECONDS)
    slots = {"slots_per_node": 4, "memory_per_slot": "64m", "cpus_per_slot": 0.5}
    # A busy machine delays heartbeats, and no node is lost here.
    place = RayEngine(cluster.address, lease_seconds=60.0, **slots)
    return DockerExecutor(engine=place, startup_timeout_seconds=_SECONDS, **keywords)


def test_container_that_dies_is_reported_and_replaced(cluster: RayCluster, engine: Any) -> None:
    with make(cluster) as executor:
        executor.send_tools({"double": lambda number: 2 * number})
        container = executor._sandbox.container_id
        code = "begin()\nimport time\ntime.sleep(600)"
        begun: list[bool] = []

        def kill() -> None:
            engine.api.kill(container)

        executor.send_tools({"begin": lambda: begun.append(True)})
        with acting(lambda: begun, kill), pytest.raises(SandboxDiedError) as caught:
            executor(code)
        assert "exit code 137" in str(caught.value)
        assert executor("double(2)").output == 4


def test_missing_image_is_an_error_that_names_the_node(cluster: RayCluster, engine: Any) -> None:
    with pytest.raises(ExecutorError) as caught:
        make(cluster, image="no-such-image:1", build_timeout_seconds=60.0)
    text = str(caught.value)
    assert "no-such-image:1" in text
    shown = [f"node {address} ({node[:8]}): " for address, node in cluster.alive(_SECONDS).items()]
    assert any(text.startswith(node) for node in shown), text


def test_memory_that_runs_out_is_said(cluster: RayCluster, engine: Any) -> None:
    with make(cluster, memory="200m") as executor:
        with pytest.raises(SandboxDiedError, match="out of memory: raise memory="):
            executor("x = bytearray(1 << 30)")
        assert executor("1 + 1").output == 2
