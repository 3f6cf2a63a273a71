"""Supervisors in the placer: heartbeats, what a lost one says, what Ray is asked for."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest
from background import eventually
from doubled_placer import Node

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorStartError, ProtocolError
from smolagents_fork.ray_cluster import node_supervisor
from smolagents_fork.ray_cluster.node_link import (
    KEY_BYTES,
    AnswerStream,
    FrameSocket,
    RequestServer,
)
from smolagents_fork.ray_cluster.plain_data import (
    Reservation,
    SlotRequest,
    SupervisorPlace,
    as_data,
)

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("ray_installed")]
# Only detects hangs.
SECONDS = 60.0
RESERVATION = Reservation("process", 4, 1.0, 0, 15.0)
REQUEST = SlotRequest("one", RESERVATION, SECONDS)


class Answering(RequestServer):
    """A supervisor that answers heartbeats as a test has it."""

    def __init__(self, *answers: Any) -> None:
        self.answers = itertools.chain(answers, itertools.repeat(True))
        self.key = b"k" * KEY_BYTES
        self.server = socket.create_server(("127.0.0.1", 0))
        self.place = SupervisorPlace("s", "n", *self.server.getsockname(), self.key, False)
        self.connections: list[socket.socket] = []
        self.listen(self.server, self.key, tls=False)

    def do_lease(self, _connection: socket.socket) -> AnswerStream:
        return AnswerStream(None, self._beat)

    def _beat(self, connection: socket.socket) -> None:
        self.connections.append(connection)
        frames = FrameSocket(connection)
        while frames.receive() is not None:
            answer = next(self.answers)
            if type(answer) is bytes:
                connection.sendall(answer)
            elif answer != "silent":
                frames.send({"ok": answer})

    def end(self, *, port: bool) -> None:
        if port:
            self.server.shutdown(socket.SHUT_RDWR)
        for connection in self.connections:
            with contextlib.suppress(OSError):  # one that was ended before
                connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def supervisors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Supervisors, of which Ray makes the one in ``places``; what they told is in ``told``."""
    from smolagents_fork.ray_cluster import placer, ray_calls

    places: list[SupervisorPlace] = []
    told: list[dict[str, Any]] = []

    class Creating:
        def __init__(self, *_arguments: Any) -> None:
            pass

        def place(self) -> SupervisorPlace | None:
            threading.Event().wait(0.01)
            return places.pop() if places else None

        def kill(self) -> None:
            pass

    monkeypatch.setattr(ray_calls, "CreatingSupervisor", Creating)
    monkeypatch.setattr(ray_calls, "check_fits", lambda _reservation: None)
    monkeypatch.setattr(ray_calls, "shown_capacity", lambda: "the cluster has nothing")
    monkeypatch.setattr(placer, "_BEAT_SECONDS", 0.02)
    made: Any = placer.Supervisors("cluster", lambda **event: told.append(event))
    made.places, made.told = places, told
    yield made
    monkeypatch.setattr(placer, "_CLOSE_SECONDS", 0.1)
    made.close()


def acquired(supervisors: Any, answering: Answering, seconds: float = SECONDS) -> Any:
    supervisors.places.append(answering.place)
    return supervisors.acquire(REQUEST, Deadline(seconds))


def lost(supervisors: Any) -> dict[str, Any]:
    assert eventually(lambda: supervisors.told, SECONDS)
    found: dict[str, Any] = supervisors.told[0]
    return found


def test_answer_that_is_no_frame_gives_the_supervisor_up(supervisors: Any):
    answering = Answering(b"\xff" * 8)
    acquired(supervisors, answering)
    found = lost(supervisors)
    assert found["lost"] == ["one"]
    assert "a frame of 4294967295 bytes" in found["reason"]


def test_process_that_has_ended_is_given_up_at_once(supervisors: Any):
    answering = Answering()
    acquired(supervisors, answering)
    assert eventually(lambda: answering.connections, SECONDS)
    answering.end(port=True)
    assert "nothing listens on its port, so its process has ended" in lost(supervisors)["reason"]
    assert supervisors.stats() == []


def test_suspected_process_is_given_up_before_the_next_heartbeat(
    supervisors: Any, monkeypatch: pytest.MonkeyPatch
):
    from smolagents_fork.ray_cluster import placer

    monkeypatch.setattr(placer, "_BEAT_SECONDS", SECONDS)
    answering = Answering()
    remote = acquired(supervisors, answering)
    assert eventually(lambda: remote.heard > remote.idle_since, SECONDS)
    answering.end(port=True)
    assert supervisors.told == []
    supervisors.suspect("unknown")
    supervisors.suspect("one")
    assert "nothing listens on its port" in lost(supervisors)["reason"]


def test_cut_connection_is_opened_again(supervisors: Any):
    answering = Answering()
    remote = acquired(supervisors, answering)
    for count in (1, 2, 3):
        assert eventually(lambda: len(answering.connections) == count, SECONDS)  # noqa: B023
        answering.end(port=False)
    heard = remote.heard
    assert eventually(lambda: remote.heard > heard, SECONDS)
    assert supervisors.told == []


def test_silence_gives_the_supervisor_up_and_its_node_gets_no_other(
    supervisors: Any, monkeypatch: pytest.MonkeyPatch
):
    from smolagents_fork.ray_cluster import ray_calls

    monkeypatch.setattr(Reservation, "silent_seconds", 0.3)
    acquired(supervisors, Answering(*["silent"] * 1000))
    assert "it did not answer for" in lost(supervisors)["reason"]
    monkeypatch.setattr(ray_calls, "alive_nodes", lambda: {"n": {}, "other": {}})
    monkeypatch.setattr(ray_calls, "answers", lambda _node: False)
    monkeypatch.setattr(ray_calls, "fitting_nodes", lambda _reservation: ["n", "other"])
    assert supervisors._avoided(REQUEST) == {"n"}
    monkeypatch.setattr(ray_calls, "fitting_nodes", lambda _reservation: ["n"])
    assert supervisors._avoided(REQUEST) == ()
    monkeypatch.setattr(ray_calls, "fitting_nodes", lambda _reservation: ["n", "other"])
    monkeypatch.setattr(ray_calls, "answers", lambda _node: True)
    assert supervisors._avoided(REQUEST) == ()


def test_supervisor_without_sandboxes_ends(supervisors: Any, monkeypatch: pytest.MonkeyPatch):
    from smolagents_fork.ray_cluster import placer

    monkeypatch.setattr(placer, "_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(node_supervisor, "KINDS", {"process": f"{__name__}:NoKind"})
    node = Node("process")
    supervisors.places.append(node.place)
    supervisors.acquire(REQUEST, Deadline(SECONDS))
    supervisors.remove("one")
    assert eventually(lambda: node.exits, SECONDS)
    assert eventually(lambda: supervisors.stats() == [], SECONDS)
    assert supervisors.told == []


class NoKind:
    def __init__(self, _owner: Any) -> None:
        pass

    def close(self) -> None:
        pass


def test_unreachable_port_is_said(supervisors: Any):
    answering = Answering()
    answering.end(port=True)
    assert eventually(lambda: answering.server.fileno() < 0, SECONDS)
    with pytest.raises(ExecutorStartError) as caught:
        acquired(supervisors, answering)
    assert str(caught.value).startswith("node 127.0.0.1 (n): no connection to the supervisor at ")
    assert str(caught.value).endswith(
        "Connection refused; nodes need to be reached at any port that their system gives"
    )


def test_other_use_of_tls_is_said(supervisors: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_USE_TLS", "1")
    with pytest.raises(ExecutorStartError, match="RAY_USE_TLS is not the same here and on the"):
        acquired(supervisors, Answering())


def test_head_that_does_not_list_its_nodes_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch):
    from smolagents_fork.ray_cluster import placer, ray_calls

    answered = threading.Event()
    monkeypatch.setattr(ray_calls.ray, "nodes", lambda: answered.wait(SECONDS) and [])
    for name in ("_NODES_SECONDS", "_SHOWN_SECONDS"):
        monkeypatch.setattr(ray_calls, name, 0.01)
    monkeypatch.setattr(ray_calls, "CreatingSupervisor", MagicMock(place=lambda: None))
    ray_calls.check_fits(RESERVATION)
    made = placer.Supervisors("cluster", print)
    with pytest.raises(ExecutorStartError, match=r"became free in 0 s: .* the head did not say"):
        made.acquire(REQUEST, Deadline(0.0))
    answered.set()


def test_supervisor_is_made_once_and_spread_with_all_its_slots_reserved(
    monkeypatch: pytest.MonkeyPatch,
):
    from smolagents_fork.ray_cluster import ray_calls

    made: list[dict[str, Any]] = []

    def create(_class: Any, args: Any, kwargs: Any, **options: Any) -> Any:
        """Take Ray's place behind its own options, with which it would make the actor."""
        made.append(options)
        return MagicMock()

    place = SupervisorPlace("s", "n", "10.0.0.1", 1, b"", False)
    monkeypatch.setattr(ray_calls.ray.actor.ActorClass, "_remote", create)
    monkeypatch.setattr(ray_calls.ray, "wait", lambda found, timeout: (found, []))
    monkeypatch.setattr(ray_calls.ray, "get", lambda _found, timeout: ("ok", as_data(place)))
    reservation = Reservation("process", 4, 0.5, 1 << 30, 15.0)
    created = ray_calls.CreatingSupervisor(reservation, "cluster", ["b", "a"])
    assert created.place() == place
    (options,) = made
    assert options["scheduling_strategy"] == "SPREAD"
    assert options["max_restarts"] == 0
    assert not options.get("max_task_retries")
    assert (options["num_cpus"], options["memory"]) == (4 * 0.5, 4 << 30)
    assert options["label_selector"] == {"ray.io/node-id": "!in(a,b)"}


def test_answer_of_a_supervisor_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch):
    from smolagents_fork.ray_cluster import ray_calls

    monkeypatch.setattr(ray_calls.ray.actor.ActorClass, "_remote", lambda *_, **__: MagicMock())
    monkeypatch.setattr(ray_calls.ray, "wait", lambda found, timeout: (found, []))
    for answer in (None, ("ok",), ("ok", {"supervisor": 1})):
        monkeypatch.setattr(ray_calls.ray, "get", lambda _found, timeout, answer=answer: answer)
        with pytest.raises(ProtocolError):
            ray_calls.CreatingSupervisor(RESERVATION, "cluster", []).place()
