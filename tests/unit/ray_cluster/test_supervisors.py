"""The placer: heartbeats, what a lost supervisor says, what Ray is asked for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from background import eventually, running
from doubled_placer import Node

from smolagents_fork.codec import encode
from smolagents_fork.errors import (
    DecodeError,
    EngineUnavailableError,
    ExecutorStartError,
    ProtocolError,
)
from smolagents_fork.ray_cluster.node_link import FrameSocket
from smolagents_fork.ray_cluster.plain_data import Reservation, SupervisorPlace

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
# Only detects hangs.
SECONDS = 60.0
RESERVATION = Reservation("process", 4, 1.0, 0, 15.0)


@pytest.fixture
def ray_calls(ray_installed: None) -> Any:
    """The module, which imports Ray."""
    from smolagents_fork.ray_cluster import ray_calls

    return ray_calls


class Host:
    """The host's end of a placer's connection.

    Attributes:
        placer: the placer.
        places: of the supervisors that Ray makes.
    """

    def __init__(self, placer: Any, channel: FrameSocket, places: list[SupervisorPlace]) -> None:
        self.placer = placer
        self.places = places
        self.channel = channel

    def receive(self) -> dict[str, Any]:
        """Return the next message of the placer."""
        found = self.channel.receive(SECONDS)
        assert found is not None
        return found

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer to a request."""
        self.channel.send({"number": 1, "op": op, "arguments": arguments})
        return self.receive()

    def create(self, node: Node | None = None, seconds: float = SECONDS) -> Any:
        """Have a supervisor made; return its place, or the error."""
        self.places += [node.place] if node is not None else []
        found = self.ask(
            "create",
            creation="made",
            reservation=RESERVATION,
            without=[],
            avoided=[],
            seconds=seconds,
        )
        return found.get("ok", found.get("error"))


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node("echo", "n")
    yield made
    made.close()


@pytest.fixture
def host(ray_calls: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A placer, for which Ray makes the supervisors that a test has."""
    from smolagents_fork.ray_cluster import placer

    places: list[SupervisorPlace] = []

    class Creating:
        def __init__(self, *_arguments: Any) -> None:
            pass

        def place(self) -> SupervisorPlace | None:
            threading.Event().wait(0.01)
            return places.pop() if places else None

        def kill(self) -> None:
            pass

    monkeypatch.setattr(ray_calls, "CreatingSupervisor", Creating)
    monkeypatch.setattr(ray_calls, "make_histograms", MagicMock())
    monkeypatch.setattr(ray_calls, "fitting_nodes", lambda _reservation: ["n"])
    monkeypatch.setattr(placer, "_LEAST_SECONDS", 0.1)
    monkeypatch.setattr(placer, "_CLOSE_SECONDS", 1.0)
    ours, theirs = map(FrameSocket, socket.socketpair())
    made = placer.Placer(theirs, "auto")
    with running(made.serve):
        yield Host(made, ours, places)
        ours.close()
    theirs.close()


@pytest.mark.parametrize(("nodes", "avoided"), [(["n", "other"], ["m", "n"]), (["n"], ["m"])])
def test_node_is_avoided_where_another_can_have_the_supervisor(
    host: Host,
    ray_calls: Any,
    monkeypatch: pytest.MonkeyPatch,
    nodes: list[str],
    avoided: list[str],
):
    given: list[list[str]] = []

    def create(_reservation: Any, avoided: list[str]) -> Any:
        given.append(list(avoided))
        raise ExecutorStartError("enough")

    monkeypatch.setattr(ray_calls, "CreatingSupervisor", create)
    monkeypatch.setattr(ray_calls, "fitting_nodes", lambda _reservation: nodes)
    with pytest.raises(ExecutorStartError, match="enough"):
        host.placer.do_create("made", RESERVATION, ["m"], ["n"], SECONDS)
    assert given == [avoided]


def test_supervisor_that_has_to_end_is_told(host: Host, node: Node):
    assert host.create(node) == node.place
    supervisor = node.place.supervisor
    host.channel.send({"number": 2, "op": "end", "arguments": {"supervisor": supervisor}})
    found = [host.receive(), host.receive()]
    assert {"lost": supervisor, "reason": ""} in found
    assert {"number": 2, "ok": None} in found
    assert eventually(lambda: node.exits == 1, SECONDS)


def test_supervisor_that_was_cancelled_is_not_made(host: Host):
    arguments = {"reservation": RESERVATION, "without": [], "avoided": [], "seconds": SECONDS}
    created = {"creation": "made", **arguments}
    host.channel.send({"number": 1, "op": "create", "arguments": created})
    assert eventually(lambda: host.placer._creations, SECONDS)
    host.channel.send({"number": 2, "op": "cancel", "arguments": {"creation": "made"}})
    found = {message["number"]: message["ok"] for message in (host.receive(), host.receive())}
    assert found == {1: None, 2: None}
    assert not host.placer._creations


def test_supervisor_that_is_late_is_not_made(host: Host):
    assert host.create(seconds=0.0) is None


def test_unreachable_port_is_said(host: Host, node: Node):
    node.close()
    assert eventually(lambda: node._server.fileno() < 0, SECONDS)
    name, text, _ = host.create(node)
    assert name == "ExecutorStartError"
    assert text.startswith("node 127.0.0.1 (n): no connection to the supervisor at ")
    assert text.endswith(
        "Connection refused; nodes must be reachable at any port that their system assigns"
    )


def test_other_use_of_tls_is_said(host: Host, node: Node, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_USE_TLS", "1")
    name, text, _ = host.create(node)
    assert name == "ExecutorStartError"
    assert "RAY_USE_TLS differs between this process and the node" in text


def test_head_that_does_not_list_its_nodes_keeps_nobody_waiting(
    ray_calls: Any, monkeypatch: pytest.MonkeyPatch
):
    answered = threading.Event()
    monkeypatch.setattr(ray_calls.ray, "nodes", lambda: answered.wait(SECONDS) and [])
    for name in ("_NODES_SECONDS", "_SHOWN_SECONDS"):
        monkeypatch.setattr(ray_calls, name, 0.01)
    with pytest.raises(EngineUnavailableError, match=r"^the head did not say within 0 s which"):
        ray_calls.fitting_nodes(RESERVATION)
    assert ray_calls.describe_capacity().startswith("the head did not say")
    answered.set()


def test_supervisor_is_made_once_and_spread_with_all_its_slots_reserved(
    ray_calls: Any, monkeypatch: pytest.MonkeyPatch
):
    made: list[dict[str, Any]] = []

    def create(_class: Any, args: Any, kwargs: Any, **options: Any) -> Any:
        """Take Ray's place behind its own options, with which it would make the actor."""
        made.append(options)
        return MagicMock()

    place = SupervisorPlace("s", "n", "10.0.0.1", 1, b"", False)
    monkeypatch.setattr(ray_calls.ray.actor.ActorClass, "_remote", create)
    monkeypatch.setattr(ray_calls.ray, "wait", lambda found, timeout: (found, []))
    monkeypatch.setattr(ray_calls.ray, "get", lambda _found, timeout: encode(place))
    reservation = Reservation("process", 4, 0.5, 1 << 30, 15.0)
    created = ray_calls.CreatingSupervisor(reservation, ["b", "a"])
    assert created.place() == place
    (options,) = made
    assert options["scheduling_strategy"] == "SPREAD"
    assert options["max_restarts"] == 0
    assert not options.get("max_task_retries")
    assert (options["num_cpus"], options["memory"]) == (4 * 0.5, 4 << 30)
    assert options["label_selector"] == {"ray.io/node-id": "!in(a,b)"}


def test_answer_of_a_supervisor_that_is_none_is_refused(
    ray_calls: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ray_calls.ray.actor.ActorClass, "_remote", lambda *_, **__: MagicMock())
    monkeypatch.setattr(ray_calls.ray, "wait", lambda found, timeout: (found, []))
    for answer in (None, {"ok": 1}, encode({"ok": 1}), b"{"):
        monkeypatch.setattr(ray_calls.ray, "get", lambda _found, timeout, answer=answer: answer)
        with pytest.raises((ProtocolError, DecodeError)):
            ray_calls.CreatingSupervisor(RESERVATION, []).place()


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "ray://10.0.0.1:10001"])
def test_packages_go_to_the_nodes_complete_and_without_compiled_files(
    ray_calls: Any, monkeypatch: pytest.MonkeyPatch, address: str
):
    found: dict[str, set[str]] = {}

    def init(runtime_env: dict[str, Any], **_arguments: Any) -> Any:
        for folder in map(Path, runtime_env["py_modules"]):
            files = [path for path in folder.rglob("*") if path.is_file()]
            found[folder.name] = {path.relative_to(folder).as_posix() for path in files}
        return SimpleNamespace(address_info={"gcs_address": "10.0.0.1:6379"})

    monkeypatch.setattr(ray_calls.ray, "init", init)
    assert ray_calls.connect_to_ray(address) == "10.0.0.1:6379"
    assert "ray_cluster/node_supervisor.py" in found["smolagents_fork"]
    assert "_images/jupyter/install.sh" in found["smolagents_fork"]
    assert "client.py" in found["docker"]
    assert not [name for names in found.values() for name in names if "__pycache__" in name]


def test_refused_token_is_said(ray_calls: Any, monkeypatch: pytest.MonkeyPatch):
    refuse = MagicMock(side_effect=RuntimeError("rpc: InvalidAuthToken"))
    monkeypatch.setattr(ray_calls.ray, "init", refuse)
    with pytest.raises(EngineUnavailableError, match=r"10\.0\.0\.1:6379 refused the token"):
        ray_calls.connect_to_ray("10.0.0.1:6379")
