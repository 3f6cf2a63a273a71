"""Containers on a Ray cluster: the same results, errors and limits as on one machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from background import acting
from ray_nodes.cluster import RayCluster

from smolagents_fork import DockerExecutor, DockerPool, RayEngine
from smolagents_fork.errors import (
    ExecutorError,
    SandboxDiedError,
    SandboxTimeoutError,
)

pytestmark = pytest.mark.docker
# Only detects hangs.
_SECONDS = 240.0


def engine_of(cluster: RayCluster, **options: Any) -> RayEngine:
    chosen = {"slots_per_node": 4, "memory_per_slot": "64m", "cpus_per_slot": 0.5, **options}
    # A busy machine delays heartbeats, and no node is lost here.
    return RayEngine(cluster.address, lease_seconds=60.0, **chosen)


def make(cluster: RayCluster, **keywords: Any) -> DockerExecutor:
    keywords.setdefault("timeout_seconds", _SECONDS)
    return DockerExecutor(engine=engine_of(cluster), startup_timeout_seconds=_SECONDS, **keywords)


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


@pytest.fixture
def pool(cluster: RayCluster, engine: Any) -> Iterator[DockerPool]:
    with DockerPool(
        min_size=2,
        max_size=4,
        max_per_tenant=2,
        engine=engine_of(cluster),
        acquire_timeout_seconds=_SECONDS,
        startup_timeout_seconds=_SECONDS,
    ) as made:
        yield made


def test_pool_on_a_cluster_has_quotas(pool: DockerPool) -> None:
    assert pool.wait_until_ready(timeout=_SECONDS)
    with (
        DockerExecutor(pool=pool, tenant="a") as one,
        DockerExecutor(pool=pool, tenant="a"),
    ):
        assert one("1 + 1").output == 2
        with pytest.raises(ExecutorError, match="tenant 'a' has all it may have"):
            pool.acquire(0.01, tenant="a")
        with DockerExecutor(pool=pool, tenant="b") as other:
            assert other("2 + 2").output == 4


def test_c_code_that_keeps_pythons_lock_is_stopped_and_the_state_kept(
    cluster: RayCluster, engine: Any
) -> None:
    with make(cluster, timeout_seconds=5.0, interrupt_grace_seconds=_SECONDS) as executor:
        with pytest.raises(SandboxTimeoutError, match="its state kept"):
            executor("import re\nkept = 1\nre.match(r'(a+)+$', 'a' * 40 + 'b')")
        assert executor.variables()["kept"] == 1


def test_memory_that_runs_out_is_said(cluster: RayCluster, engine: Any) -> None:
    with make(cluster, memory="200m") as executor:
        with pytest.raises(SandboxDiedError, match="out of memory: raise memory="):
            executor("x = bytearray(1 << 30)")
        assert executor("1 + 1").output == 2
