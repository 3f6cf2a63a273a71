"""kill -9 of a node's Docker engine: the call gets an error, and no container is left."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from background import Background, eventually, process_gone, running
from own_clusters import own_cluster
from ray_nodes.cluster import RayCluster
from second_engine import SecondEngine, second_engine
from whole_contract import WHOLE

from smolagents_fork import DockerExecutor, RayEngine
from smolagents_fork.errors import EngineUnavailableError, SandboxDiedError
from smolagents_fork.sandboxes.docker.engine import connect, disconnect
from smolagents_fork.sandboxes.docker.engine_address import EngineAddress

# Only detects hangs.
SECONDS = 240.0
LEASE = 10.0
# As a supervisor says it that has asked this engine before, and a new one, for removals take slots.
DEAD = "(the engine does not answer|no Docker engine answers)"

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1"),
]


@pytest.fixture
def node_engine(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SecondEngine]:
    """An engine with the default image, which the nodes of a new cluster use."""
    with second_engine(image) as made:
        monkeypatch.setenv("DOCKER_HOST", made.address)
        yield made


@pytest.fixture
def own(node_engine: SecondEngine, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayCluster]:
    """A cluster of one node."""
    with own_cluster(monkeypatch) as cluster:
        yield cluster


def first_processes(engine: SecondEngine) -> list[int]:
    """Return the first process of each of the engine's containers."""
    client = connect(EngineAddress(engine.address))
    try:
        found = client.containers.list()
        return [client.api.inspect_container(one.id)["State"]["Pid"] for one in found]
    finally:
        disconnect(client)


def started(place: RayEngine, stack: contextlib.ExitStack) -> DockerExecutor:
    return stack.enter_context(
        DockerExecutor(
            engine=place,
            lease_seconds=LEASE,
            startup_timeout_seconds=SECONDS,
            timeout_seconds=2 * SECONDS,
        )
    )


def begun_call(
    executor: DockerExecutor, code: str, released: threading.Event, stack: contextlib.ExitStack
) -> Background:
    """Begin a call and wait until its code runs; its tool ``wait`` waits for ``released``."""
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        released.wait(SECONDS)

    executor.send_tools({"begin": begun.set, "wait": wait})
    call = stack.enter_context(running(executor, code))
    call.until(begun.is_set, SECONDS)
    return call


def test_dead_engine_in_every_phase(own: RayCluster, node_engine: SecondEngine) -> None:
    place = RayEngine(own.address, slots_per_node=3, cpus_per_slot=0.5, memory_per_slot="64m")
    released = threading.Event()
    with contextlib.ExitStack() as stack:
        users = stack.enter_context(contextlib.closing(place.cluster()))
        idle, calling, asking = (started(place, stack) for _ in range(3))
        stack.callback(released.set)
        processes = first_processes(node_engine)
        assert len(processes) == 3
        endless = "begin()\nimport time\nwhile True: time.sleep(0.05)"
        call = begun_call(calling, endless, released, stack)
        tool_call = begun_call(asking, "wait()", released, stack)
        node_engine.process.kill()
        # Their parent is not the engine, so they live on; nobody renews their leases.
        died = call.error(SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        assert "the engine does not answer" in str(died)
        # Each by its own lease.
        assert eventually(lambda: all(map(process_gone, processes)), SECONDS)
        # The tool's own work is not cut short: the loss is reported once it is over.
        assert not tool_call.ended
        released.set()
        died = tool_call.error(SECONDS)
        assert isinstance(died, SandboxDiedError), repr(died)
        with pytest.raises(SandboxDiedError):
            idle("1")
        for executor in (idle, calling, asking):
            with pytest.raises(EngineUnavailableError, match=f"^node .* {DEAD}"):
                executor("1")
        errors = [one.engine_error for one in users.stats()]
        assert any(re.search(DEAD, error) for error in errors), errors


@pytest.mark.usefixtures("links")
def test_start_tries_every_node_and_names_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    with own_cluster(monkeypatch, namespaces=True) as cluster:
        with pytest.raises(EngineUnavailableError) as caught:
            DockerExecutor(engine=RayEngine(cluster.address), startup_timeout_seconds=SECONDS)
        for node in cluster.nodes:
            shown = f"node {cluster.address_of(node)} ("
            assert str(caught.value).count(shown) == 1, caught.value
