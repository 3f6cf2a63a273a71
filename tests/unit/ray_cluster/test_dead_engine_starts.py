"""Starts on nodes whose Docker engine does not answer: each is tried once, and others are used."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from background import running
from doubled_placer import DoubledPlacer, Node

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import EngineUnavailableError, ExecutorStartError
from smolagents_fork.ray_cluster import cluster_client, node_supervisor
from smolagents_fork.ray_cluster.cluster_client import Cluster
from smolagents_fork.ray_cluster.placer_process import PlacerProcess
from smolagents_fork.ray_cluster.plain_data import (
    Reservation,
    SlotRequest,
    SupervisorPlace,
    as_data,
    from_data,
)

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
# Only detects hangs.
SECONDS = 60.0
RESERVATION = Reservation("dead", 1, 1.0, 0, 15.0)


class Sandbox:
    def __init__(self) -> None:
        self.info: dict[str, Any] = {}
        self.requests: dict[str, Callable[..., Any]] = {}

    def close(self) -> None:
        pass


class DeadKind:
    """Starts sandboxes, unless its node is among the dead."""

    dead: ClassVar[set[str]] = set()
    asked: ClassVar[list[str]] = []

    def __init__(self, owner: Any) -> None:
        self.node = owner.node

    def start(self, _sandbox: str, _options: dict[str, Any]) -> Sandbox:
        self.asked.append(self.node)
        if self.node in self.dead:
            raise EngineUnavailableError("the engine does not answer")
        return Sandbox()

    def close(self) -> None:
        pass


class RealSupervisors(DoubledPlacer):
    """The placer of a cluster without Ray, with its own supervisors.

    Args:
        supervisors: from which it takes slots.
    """

    nodes_without_engine = PlacerProcess.nodes_without_engine  # type: ignore[assignment]

    def __init__(self, supervisors: Any) -> None:
        super().__init__()
        self.supervisors = supervisors

    def ask(self, op: str, seconds: float, **arguments: Any) -> Any:
        from smolagents_fork.ray_cluster import ray_calls

        if op == "nodes":
            return ray_calls.fitting_nodes(from_data(Reservation, arguments["reservation"]))
        if op == "stats":
            return [as_data(stats) for stats in self.supervisors.stats()]
        request = from_data(SlotRequest, arguments["request"])
        return as_data(self.supervisors.acquire(request, Deadline(seconds)).place)

    def post(self, op: str, sandbox: str) -> None:
        if op == "remove":
            self.supervisors.remove(sandbox)


class Nodes:
    """Nodes of a cluster, on which Ray makes a supervisor each, in turn.

    Attributes:
        asked: nodes that were asked for a start, in order.
        dead: names of the nodes whose engine does not answer.
    """

    def __init__(self, names: str, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from smolagents_fork.ray_cluster import placer, ray_calls

        self.names = list(names)
        self.dead, self.asked = set(dead), list[str]()
        monkeypatch.setattr(DeadKind, "dead", self.dead)
        monkeypatch.setattr(DeadKind, "asked", self.asked)
        monkeypatch.setattr(node_supervisor, "KINDS", {"dead": f"{__name__}:DeadKind"})
        nodes = [{"NodeID": name, "Alive": True, "Resources": {"CPU": 1.0}} for name in names]
        monkeypatch.setattr(ray_calls.ray, "nodes", lambda: nodes)
        self.made: dict[str, Node] = {}
        outer = self

        class Creating:
            """Takes Ray's place: a node without a supervisor gets one."""

            def __init__(self, _reservation: Any, _cluster: str, avoided: Any) -> None:
                free = [n for n in outer.names if n not in outer.made and n not in avoided]
                self.node = free[0] if free else None

            def place(self) -> SupervisorPlace | None:
                if self.node is None:
                    threading.Event().wait(0.01)
                    return None
                outer.made[self.node] = Node("dead", self.node)
                return outer.made[self.node].place

            def kill(self) -> None:
                pass

        monkeypatch.setattr(ray_calls, "CreatingSupervisor", Creating)
        self.supervisors = placer.Supervisors("cluster", lambda **_event: None)
        double = RealSupervisors(self.supervisors)
        monkeypatch.setattr(cluster_client, "shared_placer", lambda *_arguments: double)
        self.cluster = Cluster("127.0.0.1:6379", 4.5)
        self.sandboxes: list[str] = []

    def start(self, slot_seconds: float = SECONDS) -> str:
        """Start a sandbox and return its node."""
        made = self.cluster.start(RESERVATION, {}, timeout=SECONDS, slot_timeout=slot_seconds)
        self.sandboxes.append(made.placement.sandbox)
        return made.place.node

    def errors(self) -> dict[str, str]:
        return {one.node: one.engine_error for one in self.cluster.stats()}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Nodes]]:
    made: list[Nodes] = []

    def make(names: str, dead: str) -> Nodes:
        made.append(Nodes(names, dead, monkeypatch))
        return made[-1]

    yield make
    for one in made:
        one.supervisors.close()


def test_node_without_its_engine_is_left_for_another(cluster: Any):
    nodes = cluster("123", "12")
    assert nodes.start() == "3"
    assert nodes.asked == ["1", "2", "3"]
    failed = {name: f"node 127.0.0.1 ({name}): the engine does not answer" for name in "12"}
    assert nodes.errors() == {**failed, "3": ""}


def test_each_node_is_tried_once_and_named(cluster: Any):
    nodes = cluster("123", "123")
    with pytest.raises(EngineUnavailableError) as caught:
        nodes.start()
    assert nodes.asked == ["1", "2", "3"]
    assert str(caught.value) == "; and ".join(
        f"node 127.0.0.1 ({name}): the engine does not answer" for name in "123"
    )


def test_not_every_node_of_a_large_cluster_is_tried(cluster: Any):
    nodes = cluster("123456789", "123456789")
    with pytest.raises(EngineUnavailableError, match=r"127\.0\.0\.1 \(4\)"):
        nodes.start()
    assert nodes.asked == ["1", "2", "3", "4"]


def test_busy_node_is_waited_for(cluster: Any):
    nodes = cluster("12", "2")
    assert nodes.start() == "1"
    with running(nodes.start) as other:
        other.until(lambda: nodes.errors().get("2"), SECONDS)
        nodes.supervisors.remove(nodes.sandboxes[0])
        assert other.result(SECONDS) == "1"
    assert nodes.asked == ["1", "2", "1"]


def test_wait_that_ends_names_the_nodes_that_were_tried(cluster: Any):
    nodes = cluster("12", "2")
    nodes.start()
    with pytest.raises(ExecutorStartError) as caught:
        nodes.start(0.5)
    assert "no slot for a sandbox became free in 0 s" in str(caught.value)
    assert str(caught.value).endswith(
        "; before that, node 127.0.0.1 (2): the engine does not answer"
    )


def test_waiting_starts_say_what_is_used_and_asked_for(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
):
    nodes = cluster("1", "")
    free = {"CPU": 0.5, "memory": float(1 << 29)}
    monkeypatch.setattr("ray.available_resources", lambda: free)
    nodes.start()
    assert nodes.supervisors.waiting() == ""
    with running(nodes.start) as other:
        other.until(nodes.supervisors.waiting, SECONDS)
        text = nodes.supervisors.waiting()
        nodes.supervisors.remove(nodes.sandboxes[0])
        assert other.result(SECONDS) == "1"
    assert text.startswith("1 of 1 slots in use on 1 nodes, ")
    assert text.endswith(
        " more asked of Ray, each with 1 CPUs (slots_per_node=1); the cluster has 1 nodes, "
        "1 CPUs and 0.0 GiB, of which 0.5 CPUs and 0.5 GiB are free"
    )


def test_start_that_is_removed_while_it_waits_ends(cluster: Any):
    nodes = cluster("1", "")
    nodes.start()
    request = SlotRequest("second", RESERVATION, SECONDS)
    with running(nodes.supervisors.acquire, request, Deadline(SECONDS)) as other:
        other.until(nodes.supervisors.waiting, SECONDS)
        nodes.supervisors.remove("second")
        error = other.error(SECONDS)
    assert "sandbox second was removed before it started" in str(error)
    assert nodes.supervisors.waiting() == ""


def test_engine_that_answers_again_is_used_again(cluster: Any):
    nodes = cluster("1", "1")
    with pytest.raises(EngineUnavailableError, match=r"^node 127\.0\.0\.1 \(1\): the engine"):
        nodes.start()
    assert nodes.errors() != {"1": ""}
    nodes.dead.clear()
    assert nodes.start() == "1"
    assert nodes.errors() == {"1": ""}
