"""A conversation with the kernel goes on over another connection; nothing is lost or repeated."""

from __future__ import annotations

import contextlib
import socket
import time
import uuid
from collections.abc import Iterator

import pytest
from fault_proxy import FaultProxy
from test_kernel_server import PATIENCE, TOKEN, Client, Server

from smolagents_fork.deadline import Deadline
from smolagents_fork.jupyter.channel import Channel, message_limit
from smolagents_fork.jupyter.protocol import Requests
from smolagents_fork.jupyter.resumption import ResumableConnection
from smolagents_fork.jupyter.websocket import (
    Connection,
    ConnectionLost,
    address_with,
    channels_path,
    create_kernel,
)
from smolagents_fork.stream.timed_socket import TimedSocket


class ResumingClient(Client):
    """A client whose connections pass a proxy, and follow one another."""

    def __init__(self, server: Server, proxy: FaultProxy, patience: float = PATIENCE) -> None:
        self._proxy = proxy
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as sock:
            self.model = create_kernel(TimedSocket(sock), address_with(TOKEN), timeout=PATIENCE)
        self._session = uuid.uuid4().hex
        self.connection = ResumableConnection(
            self._connect(0, PATIENCE),
            self._connect,
            may_run=lambda: server.process.poll() is None,
            heard_at=None,
            patience=patience,
        )
        self.channel = Channel(self.connection, Requests(self._session, "comm"))
        self.printed = ""

    def _connect(self, received: int, seconds: float) -> Connection:
        address = ("127.0.0.1", self._proxy.port)
        return Connection(
            TimedSocket(socket.create_connection(address, timeout=seconds)),
            address_with(TOKEN),
            channels_path(self.model.id, self._session),
            timeout=seconds,
            limit=message_limit(1_000_000, 1 << 28),
            received=received,
        )


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One for the tests of the module, each of which has a client of its own."""
    with Server() as process:
        yield process


@pytest.fixture
def proxy(server: Server) -> Iterator[FaultProxy]:
    """A port in front of the kernel's."""
    with FaultProxy(("127.0.0.1", server.port)) as port:
        yield port


@pytest.fixture
def client(server: Server, proxy: FaultProxy) -> Iterator[ResumingClient]:
    """A client over the proxy."""
    with contextlib.closing(ResumingClient(server, proxy)) as made:
        yield made


def test_output_is_whole_over_many_losses(client, proxy):
    code = "for n in range(5000): print(n, 'x' * 1000, flush=not n % 7)"
    request = client.begin(code)
    deadline = Deadline(PATIENCE)
    next_reset = time.monotonic()
    while not request.done:
        assert not deadline.expired()
        client.channel.turn(request, deadline.at_most(1.0))
        if time.monotonic() > next_reset and proxy.accepted < 5:
            proxy.reset()
            next_reset = time.monotonic() + 0.1
    assert [int(line.split()[0]) for line in client.printed.splitlines()] == list(range(5000))
    assert proxy.accepted > 2


def test_request_that_is_sent_while_there_is_no_connection_runs_later(client, proxy):
    client.run("runs = 0")
    proxy.reset(refuse=True)
    client.connection.lose("the test has cut it")
    request = client.begin("runs += 1\nprint(runs)")
    assert client.connection.lost
    proxy.heal()
    assert client.end(request) == "1\n"


def test_lost_connection_is_given_up_when_patience_ends(server, proxy):
    with contextlib.closing(ResumingClient(server, proxy, patience=1.0)) as client:
        client.run("1")
        proxy.reset(refuse=True)
        with pytest.raises(ConnectionLost):
            client.run("1")


def test_client_that_another_has_taken_over_from_does_not_come_back(server, client, proxy):
    client.run("kept = 5")
    with contextlib.closing(server.connect(client.model)) as second:
        with pytest.raises(ConnectionLost, match="another client has connected"):
            client.run("1")
        assert second.run("print(kept)") == "5\n"
    proxy.heal()


def test_conversation_that_another_client_has_ended_is_refused(server, client, proxy):
    client.run("kept = 5")
    proxy.reset(refuse=True)
    with contextlib.closing(server.connect(client.model)) as second:
        assert second.run("print(kept)") == "5\n"
        proxy.heal()
        with pytest.raises(ConnectionLost, match="another client has taken over"):
            client.run("1")
        assert second.run("print(kept)") == "5\n"
