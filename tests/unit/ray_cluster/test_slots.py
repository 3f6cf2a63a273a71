"""Slots of supervisors: starts on nodes whose Docker engine does not answer, and on busy nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from background import running
from doubled_placer import STARTING, DoubledPlacer, EchoKind, Node, cluster_of

from smolagents_fork.errors import (
    EngineUnavailableError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
)
from smolagents_fork.ray_cluster.plain_data import Reservation
from smolagents_fork.ray_cluster.remote_sandbox import RemoteSandbox

# Only detects hangs.
SECONDS = 60.0
RESERVATION = Reservation("echo", 1, 1.0, 0, 15.0)


class Nodes(DoubledPlacer):
    """Nodes of a cluster, on which Ray makes a supervisor each, in turn.

    Attributes:
        asked: nodes that were asked for a start, in order.
        dead: names of the nodes whose engine does not answer.
    """

    def __init__(self, names: str, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dead, self.asked = set(dead), list[str]()
        monkeypatch.setattr(EchoKind, "before", staticmethod(self._note_start))
        super().__init__(*[Node("echo", name) for name in names])
        self.made: list[str] = []
        self.supervisors = cluster_of(monkeypatch, self).supervisors
        self.sandboxes: list[RemoteSandbox] = []

    def _note_start(self, _sandbox: str) -> None:
        self.asked.append(STARTING.node)
        if STARTING.node in self.dead:
            raise EngineUnavailableError("the engine does not answer")

    def node_for(
        self, reservation: Reservation, without: Sequence[str], avoided: Sequence[str]
    ) -> Node | None:
        """Return one without a supervisor."""
        free = [name for name in self._by_name if name not in {*self.made, *without}]
        free.sort(key=lambda name: name in avoided)
        self.made += free[:1]
        return self._by_name[free[0]] if free else None

    def start(self, slot_seconds: float = SECONDS, reservation: Reservation = RESERVATION) -> str:
        """Start a sandbox and return its node."""
        sandbox = self.supervisors.start(
            reservation, {}, RemoteSandbox, timeout=SECONDS, slot_timeout=slot_seconds
        )
        self.sandboxes.append(sandbox)
        return sandbox.supervisor.place.node

    def errors(self) -> dict[str, str]:
        return {one.node: one.engine_error for one in self.supervisors.stats()}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Nodes]:
    return lambda names, dead: Nodes(names, dead, monkeypatch)


def test_node_without_its_engine_is_left_for_another(cluster: Any):
    nodes = cluster("123", "12")
    assert nodes.start() == "3"
    assert nodes.asked == ["1", "2", "3"]
    failed = {name: f"node 127.0.0.1 ({name}): the engine does not answer" for name in "12"}
    assert nodes.errors() == {**failed, "3": ""}


@pytest.mark.parametrize(("names", "asked"), [("123", "123"), ("123456789", "1234")])
def test_each_of_four_nodes_is_tried_once_and_named(cluster: Any, names: str, asked: str):
    nodes = cluster(names, names)
    with pytest.raises(EngineUnavailableError) as caught:
        nodes.start()
    assert nodes.asked == list(asked)
    assert str(caught.value) == "; and ".join(
        f"node 127.0.0.1 ({name}): the engine does not answer" for name in asked
    )


def test_busy_node_is_waited_for(cluster: Any):
    nodes = cluster("12", "2")
    assert nodes.start() == "1"
    with running(nodes.start) as other:
        other.until(lambda: nodes.errors().get("2"), SECONDS)
        nodes.sandboxes[0].end()
        assert other.result(SECONDS) == "1"
    assert nodes.asked == ["1", "2", "1"]
    assert nodes.cancelled == nodes.creations[-1:]


def test_wait_that_ends_names_the_nodes_that_were_tried(cluster: Any):
    nodes = cluster("12", "2")
    nodes.start()
    with pytest.raises(ExecutorStartError) as caught:
        nodes.start(0.5)
    assert "no slot for a sandbox became free in 0 s" in str(caught.value)
    assert " nodes, 1 more asked of Ray, each with" in str(caught.value)
    assert str(caught.value).endswith(
        "; before that, node 127.0.0.1 (2): the engine does not answer"
    )


def test_supervisor_that_has_ended_meanwhile_is_left_for_another(cluster: Any):
    nodes = cluster("12", "")
    nodes.start()
    nodes.sandboxes[0].end()
    nodes._by_name["1"].close()
    nodes.supervisors._lose(nodes.sandboxes[0].supervisor.place.supervisor, "its process has ended")
    assert nodes.start() == "2"
    nodes._by_name["2"]._closed = True  # it ends, and nobody has been told
    nodes.sandboxes[1].end()
    with pytest.raises(SandboxDiedError, match="the supervisor has ended"):
        nodes.supervisors.start(RESERVATION, {}, RemoteSandbox, timeout=0.3)


def test_creation_that_fails_is_said(cluster: Any, monkeypatch: pytest.MonkeyPatch):
    nodes = cluster("1", "")

    def refuse(**_arguments: Any) -> None:
        raise ExecutorStartError("no node is large enough")

    monkeypatch.setattr(nodes, "do_create", refuse)
    with pytest.raises(ExecutorStartError, match=r"^no node is large enough$"):
        nodes.start()
    monkeypatch.setattr(nodes, "do_create", lambda **_arguments: "odd")
    with pytest.raises(ProtocolError, match="expected SupervisorPlace"):
        nodes.start()


def test_node_that_was_given_up_is_left_for_another_for_a_while(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
):
    nodes = cluster("12", "")
    nodes.start()
    nodes.supervisors._lose(nodes.sandboxes[0].supervisor.place.supervisor, "silence")
    assert nodes.supervisors._list_avoided_nodes() == ["1"]
    nodes.made.clear()
    assert nodes.start() == "2"
    nodes.supervisors._given_up["1"] = 0.0
    assert nodes.supervisors._list_avoided_nodes() == []


def test_engine_that_answers_again_is_used_again(cluster: Any):
    nodes = cluster("1", "1")
    with pytest.raises(EngineUnavailableError, match=r"^node 127\.0\.0\.1 \(1\): the engine"):
        nodes.start()
    assert nodes.errors() != {"1": ""}
    nodes.dead.clear()
    assert nodes.start() == "1"
    assert nodes.errors() == {"1": ""}
