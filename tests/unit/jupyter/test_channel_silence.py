"""A gateway counts as dead after silence, but not while a long message arrives."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.jupyter import channel as channels
from smolagents_fork.jupyter.channel import Channel, DeadlinePassed
from smolagents_fork.jupyter.protocol import Requests, Sink
from smolagents_fork.jupyter.websocket import ConnectionLost, WaitTimeout


class SlowConnection:
    """Connection without a complete message: every wait receives some bytes on the test's clock."""

    def __init__(self, bytes_a_wait):
        self.now = 1000.0
        self.received = 0
        self.pings = 0
        self._bytes_a_wait = bytes_a_wait

    def clock(self):
        return self.now

    def send(self, pieces, *, binary, timeout):
        pass

    def ping(self, timeout=1.0):
        self.pings += 1

    def receive(self, timeout):
        self.now += timeout
        self.received += self._bytes_a_wait
        raise WaitTimeout


def waited_for(connection, monkeypatch, seconds):
    monkeypatch.setattr(channels, "time", SimpleNamespace(monotonic=connection.clock))
    channel = Channel(connection, Requests("session", "comm"))
    request = channel.execute("1", sink=Sink())
    channel.wait(request, Deadline(seconds, clock=connection.clock))


def test_silence_ends_the_connection(monkeypatch):
    connection = SlowConnection(0)
    with pytest.raises(ConnectionLost, match="has not answered a ping for 21 s"):
        waited_for(connection, monkeypatch, 600)
    assert connection.pings


def test_partial_message_is_not_silence(monkeypatch):
    connection = SlowConnection(1)
    with pytest.raises(DeadlinePassed):
        waited_for(connection, monkeypatch, 600)
    assert connection.now == 1600.0
    assert not connection.pings
