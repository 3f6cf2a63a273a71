"""A client that does not read pauses its kernel, and is closed if other clients wait for it."""

from __future__ import annotations

import contextlib
import socket
import struct
from dataclasses import dataclass, field

import gateway_clients
import pytest
from gateway_clients import Client
from gateway_streams import FULL_BYTES, socket_stream

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
def kernel():
    return Kernel()


@pytest.fixture
def connected(loop, kernel, turned):
    """A client of the kernel, and the other end of its connection."""
    ours, theirs = socket.socketpair()
    ended = []
    client = Client(loop, kernel, "", ended.append)
    client.begin(lambda *handlers: socket_stream(loop, ours, *handlers))
    with theirs:
        theirs.sendall(UPGRADE)
        turned(lambda: client._link is not None)
        theirs.setblocking(False)
        yield client, theirs, ended
        client.close("the test is over")


def fill(client, kernel):
    """Send messages of a kernel until the gateway stops reading them."""
    message = [b'{"msg_type":"stream"}', b"{}", b"{}", b"x" * 100_000]
    for _ in range(FULL_BYTES // 50_000):
        client.received("iopub", message)
        if kernel.paused:
            return
    raise AssertionError("the kernel is never paused")


def test_kernel_goes_on_when_its_client_reads(turned, kernel, connected):
    client, theirs, ended = connected
    fill(client, kernel)

    def read():
        with contextlib.suppress(BlockingIOError):
            theirs.recv(1 << 20)
        return not kernel.paused

    turned(read)
    assert not ended


def test_client_alone_may_read_whenever_it_likes(loop, turned, kernel, connected, monkeypatch):
    monkeypatch.setattr(gateway_clients, "_STALLED_SECONDS", 0.01)
    client, _, ended = connected
    fill(client, kernel)
    passed = []
    loop.call_later(0.2, lambda: passed.append(True))
    turned(lambda: passed)
    assert not ended
    assert kernel.paused


def test_client_that_stops_others_is_closed(turned, kernel, connected, monkeypatch, capsys):
    monkeypatch.setattr(gateway_clients, "_STALLED_SECONDS", 0.01)
    client, _, ended = connected
    kernel.connections = 2
    fill(client, kernel)
    turned(lambda: ended)
    assert ended == [client]
    assert kernel.connections == 1
    assert "a client that does not read was closed" in capsys.readouterr().err


def request():
    """A message to the shell channel in the layout v1, as a frame."""
    parts = [b"shell", b"{}", b"{}", b"{}", b"{}"]
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    table = [len(offsets), *offsets]
    payload = struct.pack(f"<{len(table)}Q", *table) + b"".join(parts)
    return struct.pack("!BB", 0x82, 0x80 | len(payload)) + b"\0\0\0\0" + payload


def test_client_that_does_not_read_may_go_on_sending(turned, kernel, connected):
    client, theirs, ended = connected
    fill(client, kernel)
    theirs.sendall(request())
    turned(lambda: kernel.sent == ["shell"])
    assert kernel.paused
    assert not ended


def test_pings_of_a_client_that_does_not_read_take_no_memory(turned, kernel, connected):
    client, theirs, ended = connected
    fill(client, kernel)
    theirs.sendall(request())
    turned(lambda: kernel.sent)
    before = client._stream.unsent
    for number in range(1000):
        ping = struct.pack("!BBLL", 0x89, 0x84, 0, number)
        turned(lambda ping=ping: sent(theirs, ping))
    turned(lambda: sent(theirs, request()))
    turned(lambda: len(kernel.sent) == 2)
    assert client._stream.unsent <= before
    received = bytearray()

    def read():
        with contextlib.suppress(BlockingIOError):
            received.extend(theirs.recv(1 << 20))
        return received.endswith(struct.pack("!BBL", 0x8A, 4, 999))

    turned(read)
    assert not kernel.paused
    assert not ended


def sent(sock, data):
    """Send without waiting; return whether all of it was taken."""
    try:
        return sock.send(data) == len(data)
    except BlockingIOError:
        return False
