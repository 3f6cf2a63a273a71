"""Program of the helper process: every request gets an answer, every failed start is undone."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from smolagents_fork.errors import ExecutorStartError, ProtocolError
from smolagents_fork.ray_cluster.helper import helper_main
from smolagents_fork.ray_cluster.helper.helper_main import Helper
from smolagents_fork.ray_cluster.links.helper_frames import MOST_BYTES, FrameSocket
from smolagents_fork.ray_cluster.reservation import Reservation


class SlowRemote:
    """A supervisor that answers no start in time."""

    shown = "10.0.0.1 (abc)"
    lost = ""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.begun: list[tuple[Any, ...]] = []
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, seconds: float, *arguments: Any) -> Any:
        self.asked.append(arguments)
        if self.answer is None:
            raise ExecutorStartError("no answer")
        return self.answer

    def begin(self, *arguments: Any) -> None:
        self.begun.append(arguments)


class OneSupervisor:
    def __init__(self, remote: SlowRemote) -> None:
        self.remote = remote
        self.released: list[SlowRemote] = []

    def acquire(self, *_arguments: Any) -> SlowRemote:
        return self.remote

    def release(self, remote: SlowRemote) -> None:
        self.released.append(remote)


@pytest.mark.parametrize("answer", [None, ["not", "a", "start"], {"info": {}, "ticket": "text"}])
def test_failed_start_is_undone_on_its_node(answer: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(helper_main, "probe_head", lambda *_arguments: None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        helper = Helper(FrameSocket(ours))
        remote = SlowRemote(answer)
        supervisors = OneSupervisor(remote)
        monkeypatch.setattr(helper, "_supervisors", supervisors)
        reservation = Reservation("process", 1, 1.0, 0, 15.0).as_data()
        with pytest.raises((ExecutorStartError, ProtocolError), match=r"node 10\.0\.0\.1"):
            helper.do_start(reservation, {}, "", "", 60.0, 60.0)
        assert supervisors.released == [remote]
        assert remote.begun == [("remove", remote.asked[0][1])]


def test_value_that_cannot_be_sent_is_answered_with_an_error(monkeypatch: pytest.MonkeyPatch):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        helper = Helper(FrameSocket(ours))
        for value in (bytes(MOST_BYTES + 1), object()):
            monkeypatch.setattr(helper, "do_stats", lambda value=value: value)
            helper._answer({"id": 7, "op": "stats", "arguments": {}}, None)
            answer = FrameSocket(theirs).receive()
            assert answer is not None
            assert answer["id"] == 7
            assert "error" in answer
