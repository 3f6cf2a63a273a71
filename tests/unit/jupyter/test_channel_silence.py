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

    lost = False

    def __init__(self, bytes_a_wait):
        self.now = 1000.0
        self.received = 0
        self.pings = 0
        self._bytes_a_wait = bytes_a_wait

    def clock(self):
        return self.now

    def send(self, pieces, *, timeout, stop=None):
        pass

    def lose(self, reason):
        raise ConnectionLost(reason)

    def ping(self, timeout=1.0):
        self.pings += 1

    def receive(self, timeout):
        self.now += timeout
        self.received += self._bytes_a_wait
        raise WaitTimeout


def waited_for(connection, monkeypatch, seconds, **keywords):
    monkeypatch.setattr(channels, "time", SimpleNamespace(monotonic=connection.clock))
    channel = Channel(connection, Requests("session", "comm"), **keywords)
    request = channel.execute("1", sink=Sink())
    channel.wait(request, Deadline(seconds, clock=connection.clock))


def test_silence_ends_the_connection(monkeypatch):
    connection = SlowConnection(0)
    with pytest.raises(ConnectionLost, match="has not answered a ping for 21 s"):
        waited_for(connection, monkeypatch, 600)
    assert connection.pings


@pytest.mark.parametrize("serves_itself", [False, True])
def test_silence_of_the_first_process_too_ends_the_connection_soon(monkeypatch, serves_itself):
    connection = SlowConnection(0)
    first = AnsweringFirstProcess(connection, answers=0)
    with pytest.raises(ConnectionLost, match="nothing was received for 7 s"):
        waited_for(connection, monkeypatch, 600, serves_itself=serves_itself, first_process=first)


def test_partial_message_is_not_silence(monkeypatch):
    connection = SlowConnection(1)
    with pytest.raises(DeadlinePassed):
        waited_for(connection, monkeypatch, 600)
    assert connection.now == 1600.0
    assert not connection.pings


class AnsweringFirstProcess:
    """First process that answers each question at once, on the clock of a connection."""

    connected, links = True, 1

    def __init__(self, connection, answers=10**9):
        self.connection, self.left = connection, answers
        self.heard_at = connection.now

    def ask(self):
        if self.left:
            self.left -= 1
            self.heard_at = self.connection.now
        return True


def test_kernel_that_serves_itself_is_busy_while_the_first_process_answers(monkeypatch):
    connection = SlowConnection(0)
    first = AnsweringFirstProcess(connection)
    with pytest.raises(DeadlinePassed):
        waited_for(connection, monkeypatch, 600, serves_itself=True, first_process=first)
    assert connection.now == 1600.0


def test_gateway_of_another_process_has_to_answer_itself(monkeypatch):
    connection = SlowConnection(0)
    first = AnsweringFirstProcess(connection)
    with pytest.raises(ConnectionLost, match="has not answered a ping for 21 s"):
        waited_for(connection, monkeypatch, 600, serves_itself=False, first_process=first)


def test_kernel_that_serves_itself_is_busy_where_there_is_no_first_process(monkeypatch):
    connection = SlowConnection(0)
    with pytest.raises(DeadlinePassed):
        waited_for(connection, monkeypatch, 600, serves_itself=True)
