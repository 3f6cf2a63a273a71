"""Host side of the placer process: locks of its own for each cluster, and what it tells."""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.forks import Owner
from smolagents_fork.ray_cluster import placer_process
from smolagents_fork.ray_cluster.placer_process import Placement, PlacerProcess, shared_placer


class SilentPlacer(PlacerProcess):
    """A placer whose connection always succeeds; its process is not asked for it."""

    def _wait_for_connection(self) -> None:
        pass


class Fake:
    """A placer that is connected once ``ready`` is set."""

    ready: ClassVar[dict[str, threading.Event]] = {}
    connecting: ClassVar[dict[str, threading.Event]] = {}

    def __init__(self, address: str, seconds: float) -> None:
        self.address = address
        self.owner = Owner()
        self.ended = ""
        self.users: set[object] = set()
        self.unused_since = 0.0
        self.connecting[address].set()
        assert self.ready[address].wait(60)

    def send_times(self) -> None:
        pass

    def close(self) -> None:
        self.ended = "closed"

    def wait(self, seconds: float) -> None:
        pass

    def release(self, user: object) -> None:
        self.users.discard(user)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch):
    names = ("slow.test:1", "quick.test:1")
    monkeypatch.setattr(placer_process, "PlacerProcess", Fake)
    monkeypatch.setattr(Fake, "ready", {name: threading.Event() for name in names})
    monkeypatch.setattr(Fake, "connecting", {name: threading.Event() for name in names})
    yield names
    for name in names:
        Fake.ready[name].set()
        placer_process._address_locks.pop(name, None)
        found = placer_process._placers.pop(name, None)
        if found is not None:
            found.close()


def test_cluster_that_does_not_answer_keeps_no_other_waiting(fakes: tuple[str, str]):
    slow, quick = fakes
    user = object()
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(shared_placer(slow, 1.0, user)))
    thread.start()
    assert Fake.connecting[slow].wait(60)
    Fake.ready[quick].set()
    other = shared_placer(quick, 1.0, user)
    assert not found
    Fake.ready[slow].set()
    thread.join(60)
    assert found == [placer_process._placers[slow]]
    assert shared_placer(slow, 1.0, user) is found[0]
    other.release(user)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[SilentPlacer]:
    monkeypatch.setattr(placer_process, "check_head", lambda *_arguments: None)
    made = SilentPlacer("silent.test:1", 1.0)
    yield made
    made.close()
    made.wait(0.0)


def test_request_after_the_end_is_an_error(silent: SilentPlacer):
    silent.close()
    silent.wait(0.0)
    with pytest.raises(EngineUnavailableError, match="is lost: the placer process: it was closed"):
        silent.ask("stats", 60.0)
    placement = Placement("late")
    silent.watch(placement)
    assert placement.lost == "Ray's placer process: it was closed"


def test_placement_is_told_of_its_end_and_its_streams_end(silent: SilentPlacer):
    placements = Placement("one"), Placement("other")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for placement in placements:
            silent.watch(placement)
        placements[0].add(theirs)
        silent._handle({"lost": ["one", "unknown"], "reason": "silence"})
        assert ours.recv(1) == b""
    assert placements[0].why_lost(0.0) == "silence"
    assert placements[0].removed.is_set()
    assert placements[1].lost == ""
    silent._handle({"removed": "other"})
    assert placements[1].removed.is_set()


def test_placements_are_not_kept(silent: SilentPlacer):
    silent.watch(Placement("one"))
    gc.collect()
    assert dict(silent._placements) == {}


def test_killed_placer_loses_its_placements_and_says_why(silent: SilentPlacer):
    placement = Placement("one")
    silent.watch(placement)
    silent._process.kill()
    assert placement.why_lost(60.0) == "Ray's placer process: it ended with exit code -9"
    with pytest.raises(EngineUnavailableError, match="it ended with exit code -9"):
        silent.ask("stats", 60.0)


def test_times_are_sent_together(silent: SilentPlacer, monkeypatch: pytest.MonkeyPatch):
    posted: list[tuple[str, dict[str, object]]] = []
    monkeypatch.setattr(silent, "post", lambda op, **arguments: posted.append((op, arguments)))
    silent.send_times()
    assert posted == []
    times = [("call", 0.5, "node1", "process", "tenant1"), ("call", 1.5, "node2", "docker", "")]
    for time in times:
        silent.record(*time)
    silent.send_times()
    silent.send_times()
    assert posted == [("record", {"times": times})]
    for _ in range(placer_process._MOST_TIMES + 1):  # nobody sends them any more
        silent.record(*times[0])
    assert len(silent._times) == placer_process._MOST_TIMES
