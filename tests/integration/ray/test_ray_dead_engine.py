"""kill -9 of a node's Docker engine: the call gets an error, and no container is left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from background import eventually, running
from own_clusters import one_node_cluster
from second_engine import SecondEngine, ended, second_engine
from whole_contract import WHOLE

from smolagents_fork import DockerExecutor, RayEngine
from smolagents_fork.errors import EngineUnavailableError, SandboxDiedError
from smolagents_fork.sandboxes.docker.engine import connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress
from tools.ray_cluster.cluster import RayCluster

# Only detects hangs.
SECONDS = 240.0
LEASE = 10.0

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1"),
]


@pytest.fixture
def node_engine(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecondEngine]:
    """An engine with the default image, which the nodes of a new cluster use."""
    image = DockerExecutor.setup(progress=lambda _line: None)
    with second_engine(image) as made:
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made


@pytest.fixture
def own(node_engine: SecondEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayCluster]:
    """A cluster of one node."""
    with one_node_cluster(monkeypatch) as cluster:
        yield cluster


def first_process(engine: SecondEngine) -> int:
    """Return the first process of the engine's only container."""
    client = connect(EngineAddress(engine.address))
    try:
        (container,) = client.containers.list()
        return int(client.api.inspect_container(container.id)["State"]["Pid"])
    finally:
        disconnect(client)


def test_containers_of_a_dead_engine_end_with_their_lease(
    own: RayCluster, node_engine: SecondEngine
) -> None:
    place = RayEngine(own.address, slots_per_node=2, cpus_per_slot=0.5, memory_per_slot="64m")
    begun = threading.Event()
    with DockerExecutor(
        engine=place,
        lease_seconds=LEASE,
        startup_timeout_seconds=SECONDS,
        timeout_seconds=2 * SECONDS,
    ) as executor:
        process = first_process(node_engine)
        executor.send_tools({"begin": begun.set})
        # Its parent is not the engine, so it lives on; nobody renews its lease.
        with running(executor, "begin()\nimport time\nwhile True: time.sleep(0.05)") as call:
            call.until(begun.is_set, SECONDS)
            node_engine.process.kill()
            error = call.error(SECONDS)
        assert isinstance(error, SandboxDiedError), repr(error)
        assert "the engine does not answer" in str(error)
        assert eventually(lambda: ended(process), SECONDS)
        with pytest.raises(EngineUnavailableError, match=r"on node .* does not answer"):
            executor("1")
