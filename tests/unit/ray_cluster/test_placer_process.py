"""Host side of the placer process: locks of its own for each cluster, and what it tells."""

from __future__ import annotations

import queue
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import MagicMock

import pytest
from background import eventually, running
from doubled_placer import DoubledPlacer

from smolagents_fork.errors import EngineUnavailableError, ExecutorStartError
from smolagents_fork.ray_cluster import placer_process, supervisors
from smolagents_fork.ray_cluster.placer_process import PlacerProcess
from smolagents_fork.ray_cluster.supervisors import Cluster, shared_supervisors


class SilentPlacer(PlacerProcess):
    """A placer whose connection always succeeds; its process is not asked for it."""

    #: Supervisors that were lost, and why.
    lost: queue.SimpleQueue[tuple[str, str]]

    def _wait_for_connection(self, _connected: Future[Any]) -> None:
        pass


@dataclass
class Connection:
    """A placer that connects once ``ready`` is set."""

    begun: threading.Event = field(default_factory=threading.Event)
    ready: threading.Event = field(default_factory=threading.Event)

    def connect(self) -> DoubledPlacer:
        self.begun.set()
        assert self.ready.wait(60)
        return DoubledPlacer()


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Connection]]:
    made = {name: Connection() for name in ("slow.test:1", "quick.test:1")}
    monkeypatch.setattr(supervisors, "PlacerProcess", lambda address, *_: made[address].connect())
    monkeypatch.setattr(supervisors, "_shared", {})
    monkeypatch.setattr(supervisors, "_address_locks", {})
    yield made
    for connection in made.values():
        connection.ready.set()


def test_cluster_that_does_not_answer_keeps_no_other_waiting(connections: dict[str, Connection]):
    slow, quick = connections
    user = object()
    with running(shared_supervisors, slow, 1.0, user) as waiting:
        assert connections[slow].begun.wait(60)
        connections[quick].ready.set()
        shared_supervisors(quick, 1.0, user)
        assert not waiting.ended
        connections[slow].ready.set()
        found = waiting.result(60)
    assert shared_supervisors(slow, 1.0, user) is found is supervisors._shared[slow]


def test_cluster_that_is_used_after_its_end_has_a_placer(connections: dict[str, Connection]):
    connections["quick.test:1"].ready.set()
    cluster = Cluster("quick.test:1", 1.0)
    placer: Any = cluster.supervisors.placer
    cluster.close()
    assert cluster not in placer.users
    assert cluster.supervisors.placer is placer
    assert cluster in placer.users
    placer.ended = "it was closed"
    assert cluster.supervisors.placer is not placer


@pytest.fixture
def silent(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SilentPlacer]:
    """A placer, which runs the test's program if it has one."""
    program = getattr(request, "param", placer_process.BOOTSTRAP)
    monkeypatch.setattr(placer_process, "BOOTSTRAP", program)
    monkeypatch.setattr(placer_process, "check_head", lambda *_arguments: None)
    # The tests do what is done then.
    monkeypatch.setattr(placer_process, "_TICK_SECONDS", 3600.0)
    lost: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    made = SilentPlacer("silent.test:1", 1.0, lambda *event: lost.put(event))
    made.lost = lost
    yield made
    made.close()
    made.wait(0.0)


def test_request_after_the_end_is_an_error(silent: SilentPlacer):
    silent.close()
    silent.wait(0.0)
    for _ in range(2):
        with pytest.raises(
            EngineUnavailableError, match="is lost: the placer process: it was closed"
        ):
            silent.ask("heard", 60.0)
    assert silent.lost.get(timeout=60.0) == ("", "Ray's placer process: it was closed")


def test_placer_for_which_there_is_no_thread_is_ended(monkeypatch: pytest.MonkeyPatch):
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **keywords: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **keywords))
        return started[0]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    refusal = RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, "start", MagicMock(side_effect=refusal))
    with pytest.raises(RuntimeError, match="new thread"):
        SilentPlacer("cluster.test:1", 1.0, lambda *_: None)
    assert started[0].returncode is not None
    started[0].stderr.close()


def test_killed_placer_says_why_to_all_that_wait(silent: SilentPlacer):
    waiting = silent.request("heard")
    silent._process.kill()
    assert silent.lost.get(timeout=60.0) == (
        "", "Ray's placer process: it ended with exit code -9"
    )  # fmt: skip
    for answer in (waiting, silent.request("heard")):
        with pytest.raises(EngineUnavailableError, match="it ended with exit code -9"):
            answer.result(60.0)
    connection = silent._kept[0]
    assert eventually(lambda: connection.fileno() == -1)


ANSWERS = """
import json, socket, sys
number, _, sys.path[:] = json.loads(sys.argv[1])
from smolagents_fork.ray_cluster.node_link import FrameSocket
host = FrameSocket(socket.socket(fileno=number))
requests = [host.receive(), host.receive()]
host.send({"number": 2, "error": ["ExecutorStartError", "no", ""]})
host.send({"number": 3, "ok": None})
host.send({"number": 1, "ok": "value"})
host.send({"lost": "supervisor", "reason": "silence"})
host.send({"odd": 1})
"""


@pytest.mark.parametrize("silent", [ANSWERS], indirect=True, ids=["answers"])
def test_answers_find_their_requests(silent: SilentPlacer):
    first, second = silent.request("heard"), silent.request("heard")
    assert first.result(60.0) == "value"
    assert isinstance(second.exception(60.0), ExecutorStartError)
    reason = "Ray's placer process: it sent what it may not ('lost')"
    lost = [silent.lost.get(timeout=60.0) for _ in range(2)]
    assert lost == [("supervisor", "silence"), ("", reason)]


def test_unused_placer_ends_and_one_that_is_used_stays(
    silent: SilentPlacer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(placer_process, "_LINGER_SECONDS", -1.0)
    user = threading.Event()  # any object that can be referenced weakly
    assert silent.use(user)
    silent._end_unused()
    assert not silent.ended
    del user
    silent._end_unused()
    assert silent.ended == "it was closed"
    assert not silent.use(threading.Event())
