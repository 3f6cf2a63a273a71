"""A client that does not read pauses its kernel, and is closed if other clients wait for it."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass, field

import gateway_clients
import pytest
from gateway_clients import Client
from gateway_streams import FULL_BYTES, Loop, socket_stream

PATIENCE = 120.0
UPGRADE = (
    b"GET /api/kernels/k/channels HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a2V5\r\n"
    b"Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org\r\n\r\n"
)


@dataclass
class Kernel:
    """A kernel and the link to it, which note whether they are read."""

    connections: int = 1
    paused: bool = False
    sent: list[str] = field(default_factory=list)

    def get(self, _name):
        return self

    def attach(self, _client, _identity):
        return self

    def detach(self, _client):
        self.connections -= 1

    def pause(self):
        self.paused = True

    def resume(self):
        self.paused = False

    def send(self, channel, _parts):
        self.sent.append(channel)


@pytest.fixture
def loop():
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def kernel():
    return Kernel()


@pytest.fixture
def connected(loop, kernel):
    """A client of the kernel, and the other end of its connection."""
    ours, theirs = socket.socketpair()
    ended = []
    client = Client(loop, kernel, "", ended.append)
    client.begin(lambda *handlers: socket_stream(loop, ours, *handlers))
    with theirs:
        theirs.sendall(UPGRADE)
        turned(loop, lambda: client._link is not None)
        theirs.setblocking(False)
        yield client, theirs, ended
        client.close("the test is over")


def turned(loop, condition):
    """Let the loop work until the condition is true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        loop.call_later(0.01, lambda: None)
        loop.turn()


def fill(loop, client, kernel):
    """Send messages of a kernel until the gateway stops reading them."""
    message = [b'{"msg_type":"stream"}', b"{}", b"{}", b"x" * 100_000]
    for _ in range(FULL_BYTES // 50_000):
        client.received("iopub", message)
        if kernel.paused:
            return
    raise AssertionError("the kernel is never paused")


def test_kernel_goes_on_when_its_client_reads(loop, kernel, connected):
    client, theirs, ended = connected
    fill(loop, client, kernel)

    def read():
        with contextlib.suppress(BlockingIOError):
            theirs.recv(1 << 20)
        return not kernel.paused

    turned(loop, read)
    assert not ended


def test_client_alone_may_read_whenever_it_likes(loop, kernel, connected, monkeypatch):
    monkeypatch.setattr(gateway_clients, "_STALLED_SECONDS", 0.01)
    client, _, ended = connected
    fill(loop, client, kernel)
    passed = []
    loop.call_later(0.2, lambda: passed.append(True))
    turned(loop, lambda: passed)
    assert not ended
    assert kernel.paused


def test_client_that_stops_others_is_closed(loop, kernel, connected, monkeypatch, capsys):
    monkeypatch.setattr(gateway_clients, "_STALLED_SECONDS", 0.01)
    client, _, ended = connected
    kernel.connections = 2
    fill(loop, client, kernel)
    turned(loop, lambda: ended)
    assert ended == [client]
    assert kernel.connections == 1
    assert "a client that does not read was closed" in capsys.readouterr().err
