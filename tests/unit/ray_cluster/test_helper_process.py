"""Host side of the helper process: locks of its own for each cluster, and closed descriptors."""

from __future__ import annotations

import os
import threading
from typing import ClassVar

import pytest

from smolagents_fork.errors import EngineUnavailableError
from smolagents_fork.forks import Owner
from smolagents_fork.ray_cluster import helper_process
from smolagents_fork.ray_cluster.helper_process import HelperProcess, released, shared_helper


class SilentHelper(HelperProcess):
    """A helper whose connection always succeeds; its process is never asked."""

    def _connect(self, seconds: float) -> None:
        pass


class Fake:
    """A helper that is connected once ``ready`` is set."""

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

    def send_calls(self) -> None:
        pass

    def close(self) -> None:
        self.ended = "closed"

    def wait(self, seconds: float) -> bool:
        return True


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch):
    names = ("slow.test:1", "quick.test:1")
    monkeypatch.setattr(helper_process, "HelperProcess", Fake)
    monkeypatch.setattr(Fake, "ready", {name: threading.Event() for name in names})
    monkeypatch.setattr(Fake, "connecting", {name: threading.Event() for name in names})
    yield names
    for name in names:
        Fake.ready[name].set()
        helper_process._address_locks.pop(name, None)
        found = helper_process._helpers.pop(name, None)
        if found is not None:
            found.close()


def test_cluster_that_does_not_answer_keeps_no_other_waiting(fakes: tuple[str, str]):
    slow, quick = fakes
    user = object()
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(shared_helper(slow, 1.0, user)))
    thread.start()
    assert Fake.connecting[slow].wait(60)
    Fake.ready[quick].set()
    other = shared_helper(quick, 1.0, user)
    assert not found
    Fake.ready[slow].set()
    thread.join(60)
    assert found == [helper_process._helpers[slow]]
    assert shared_helper(slow, 1.0, user) is found[0]
    released(other, user)


def test_request_after_the_end_closes_its_descriptor():
    helper = SilentHelper("silent.test:1", 1.0)
    try:
        helper.close()
        read, write = os.pipe()
        request = helper.begin("relay", write)
        assert request.done.is_set()
        assert isinstance(request.error, EngineUnavailableError)
        assert os.read(read, 1) == b""
        os.close(read)
    finally:
        helper.close()
        helper.wait(0.0)


def test_times_of_calls_are_sent_together(monkeypatch: pytest.MonkeyPatch):
    helper = SilentHelper("silent.test:2", 1.0)
    try:
        posted: list[tuple[str, dict[str, object]]] = []
        monkeypatch.setattr(helper, "post", lambda op, **arguments: posted.append((op, arguments)))
        helper.send_calls()
        assert posted == []
        calls = [("supervisor1", "tenant1", 0.5), ("supervisor2", "", 1.5)]
        for call in calls:
            helper.record_call(*call)
        helper.send_calls()
        helper.send_calls()
        assert posted == [("record_calls", {"calls": calls})]
        helper.close()
        for _ in range(helper_process._MOST_CALLS + 1):  # nobody sends them any more
            helper.record_call("supervisor1", "", 1.0)
    finally:
        helper.close()
        helper.wait(0.0)
