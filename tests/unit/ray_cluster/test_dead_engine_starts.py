"""Starts on nodes whose Docker engine does not answer: each is tried once, and others are used."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from background import running

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import EngineUnavailableError, ExecutorStartError
from smolagents_fork.ray_cluster.helper import helper_main
from smolagents_fork.ray_cluster.helper.helper_main import Helper
from smolagents_fork.ray_cluster.links.helper_frames import FrameSocket
from smolagents_fork.ray_cluster.reservation import Reservation

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
# Only detects hangs.
SECONDS = 60.0
RESERVATION = Reservation("docker", 1, 1.0, 0, 15.0)


class Nodes:
    """Nodes of a cluster, on which supervisors are made in turn; those in ``dead`` have no engine.

    Attributes:
        asked: nodes that were asked for a start, in order.
        dead: names of the nodes whose engine does not answer.
    """

    def __init__(self, names: str, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from smolagents_fork.ray_cluster.helper import cluster_capacity, supervisors

        self.names, self.dead = list(names), set(dead)
        self.asked: list[str] = []
        nodes = [{"NodeID": name, "Alive": True, "Resources": {"CPU": 1.0}} for name in names]
        monkeypatch.setattr(cluster_capacity.ray, "nodes", lambda: nodes)
        monkeypatch.setattr(helper_main, "probe_head", lambda *_arguments: None)
        self.supervisors = supervisors.Supervisors("cluster", print)
        monkeypatch.setattr(self.supervisors, "_watch", lambda _remote: None)
        monkeypatch.setattr(self.supervisors, "_created", self._created)
        self._remote_class = supervisors.Remote

    def _created(self, reservation: Reservation) -> Any:
        used = {one.node for one in self.supervisors._remotes.get(reservation, ())}
        avoided = self.supervisors._avoided(reservation)
        free = [name for name in self.names if name not in used and name not in avoided]
        if not free:
            return None
        place = {
            "supervisor": f"of {free[0]}", "node": free[0], "address": f"10.0.0.{free[0]}",
            "port": None, "why_no_port": "", "tls": False, "pid": 1,
        }  # fmt: skip
        remote = self._remote_class(None, place, reservation)

        def ask(_seconds: float, method: str, *_arguments: Any) -> Any:
            if method == "remove":
                return None
            self.asked.append(remote.node)
            if remote.node in self.dead:
                raise EngineUnavailableError("the engine does not answer")
            return {"info": {}, "ticket": b""}

        remote.ask, remote.begin = ask, lambda *_arguments: None  # type: ignore[method-assign]
        return remote

    def errors(self) -> dict[str, str]:
        return {one["node"]: one["engine_error"] for one in self.supervisors.stats()}


@contextlib.contextmanager
def helper_of(nodes: Nodes) -> Iterator[Helper]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        helper = Helper(FrameSocket(ours))
        helper._supervisors = nodes.supervisors
        yield helper


def start(helper: Helper) -> str:
    """Start a sandbox and return its node."""
    node = helper.do_start(RESERVATION.as_data(), {}, "", "", SECONDS, SECONDS)["node"]
    assert isinstance(node, str)
    return node


def test_node_without_its_engine_is_left_for_another(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("123", "12", monkeypatch)
    with helper_of(nodes) as helper:
        assert start(helper) == "3"
        assert nodes.asked == ["1", "2", "3"]
        failed = {name: f"node 10.0.0.{name} ({name}): the engine does not answer" for name in "12"}
        assert nodes.errors() == {**failed, "3": ""}


def test_each_node_is_tried_once_and_named(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("123", "123", monkeypatch)
    with helper_of(nodes) as helper, pytest.raises(EngineUnavailableError) as caught:
        start(helper)
    assert nodes.asked == ["1", "2", "3"]
    assert str(caught.value) == "; and ".join(
        f"node 10.0.0.{name} ({name}): the engine does not answer" for name in "123"
    )


def test_not_every_node_of_a_large_cluster_is_tried(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("123456789", "123456789", monkeypatch)
    with helper_of(nodes) as helper:
        with pytest.raises(EngineUnavailableError, match=r"10\.0\.0\.4 \(4\)"):
            start(helper)
        assert nodes.asked == ["1", "2", "3", "4"]


def test_busy_node_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("12", "2", monkeypatch)
    with helper_of(nodes) as helper:
        sandbox = helper.do_start(RESERVATION.as_data(), {}, "", "", SECONDS, SECONDS)["sandbox"]
        with running(start, helper) as other:
            other.until(lambda: nodes.errors().get("2"), SECONDS)
            helper.do_remove(sandbox)
            assert other.result(SECONDS) == "1"
        assert nodes.asked == ["1", "2", "1"]


def test_wait_that_ends_names_the_nodes_that_were_tried(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("1", "", monkeypatch)
    monkeypatch.setattr(nodes.supervisors, "_create_missing", lambda _reservation: None)
    with helper_of(nodes) as helper, pytest.raises(ExecutorStartError) as caught:
        helper._acquired(RESERVATION, "", Deadline(0.0), {"1": "node 1: the engine is gone"})
    assert "no slot for a sandbox became free in 0 s" in str(caught.value)
    assert str(caught.value).endswith("; before that, node 1: the engine is gone")


def test_waiting_starts_say_what_is_used_and_asked_for(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("1", "", monkeypatch)
    free = {"CPU": 0.5, "memory": float(1 << 29)}
    monkeypatch.setattr("ray.available_resources", lambda: free)
    with helper_of(nodes) as helper:
        sandbox = helper.do_start(RESERVATION.as_data(), {}, "", "", SECONDS, SECONDS)["sandbox"]
        assert helper.do_waiting() == ""
        with running(start, helper) as other:
            other.until(helper.do_waiting, SECONDS)
            text = helper.do_waiting()
            helper.do_remove(sandbox)
            assert other.result(SECONDS) == "1"
    assert text.startswith("1 of 1 slots in use on 1 nodes, ")
    assert text.endswith(
        " more asked of Ray, each with 1 CPUs (slots_per_node=1); the cluster has 1 nodes, "
        "1 CPUs and 0.0 GiB, of which 0.5 CPUs and 0.5 GiB are free"
    )


def test_engine_that_answers_again_is_used_again(monkeypatch: pytest.MonkeyPatch):
    nodes = Nodes("1", "1", monkeypatch)
    with helper_of(nodes) as helper:
        with pytest.raises(EngineUnavailableError, match=r"^node 10\.0\.0\.1 \(1\): the engine"):
            start(helper)
        assert nodes.errors() != {"1": ""}
        nodes.dead.clear()
        assert start(helper) == "1"
        assert nodes.errors() == {"1": ""}
