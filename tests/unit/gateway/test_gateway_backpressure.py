"""A client that does not read pauses its kernel, and is closed if other clients wait for it."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass, field

import gateway_clients
import pytest
from gateway_doubles import DoubledKernel, connected_client
from gateway_streams import FULL_BYTES


@dataclass
class Kernel(DoubledKernel):
    """A kernel that notes the channels on which a client sends."""

    sent: list[str] = field(default_factory=list)

    def send(self, channel, _parts):
        self.sent.append(channel)


@pytest.fixture
def kernel():
    return Kernel()


@pytest.fixture
def connected(loop, kernel, turned):
    """A client of the kernel, and the other end of its connection."""
    ended = []
    with connected_client(loop, kernel, turned, ended.append) as (client, theirs):
        yield client, theirs, ended


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
