"""Leases over any stream: requests that a full connection cannot take, and output without end."""

from __future__ import annotations

import contextlib
import socket

import pytest
from background import PATIENCE_SECONDS, eventually
from websockets.protocol import Protocol, Side

from smolagents_fork.sandboxes import lease_keeper
from smolagents_fork.sandboxes.docker.streams.exec_stream import ExecStream
from smolagents_fork.sandboxes.kubernetes.channel_socket import ChannelSocket
from smolagents_fork.sandboxes.lease_keeper import Lease


@pytest.fixture
def ends():
    """A connection that does not block, and its other end."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(PATIENCE_SECONDS)
    with ours, theirs:
        yield ours, theirs


def plain(pieces):
    """Return what a raw connection has carried."""
    return b"".join(pieces)


def of_pod(pieces):
    """Return what the messages of a pod's WebSocket have carried, without their channel."""
    reader = Protocol(Side.SERVER, max_size=None)
    for piece in pieces:
        reader.receive_data(piece)
    return b"".join(bytes(message.data)[1:] for message in reader.events_received())


@pytest.mark.parametrize(
    ("wrapper", "carried"),
    [(lambda sock: sock, plain), (ExecStream, plain), (ChannelSocket, of_pod)],
    ids=["socket", "container", "pod"],
)
def test_requests_wait_until_a_full_connection_takes_them(ends, wrapper, carried):
    ours, theirs = ends
    lease = Lease(wrapper(ours), lambda: None, 3600)
    with contextlib.closing(lease):
        count = 2  # the renewal with which it begins, and the last
        while not lease.has_unsent:
            lease.first_process.interrupt()
            count += 1
        assert lease.first_process.interrupt()
        pieces = []
        while carried(pieces).count(b"\n") < count:
            pieces.append(theirs.recv(1 << 20))
        numbers = [int(line.split()[1]) for line in carried(pieces).splitlines()]
    assert numbers == [*range(1, count + 1)]
    assert eventually(lambda: theirs.recv(100) in (b"end\n", b""))


def test_output_without_end_does_not_keep_other_leases_from_their_answers(monkeypatch, ends):
    class Endless:
        def __init__(self, sock):
            self.sock = sock

        def recv(self, size):
            return b"x" * size

        def __getattr__(self, name):
            return getattr(self.sock, name)

    monkeypatch.setattr(lease_keeper, "_keeper", lease_keeper._Keeper())
    ours, theirs = ends
    with contextlib.ExitStack() as stack:
        noisy, noisy_end = map(stack.enter_context, socket.socketpair())
        endless = Lease(Endless(noisy), lambda: None, 3600)
        stack.callback(endless.close)
        noisy_end.sendall(b"x")  # readable for ever
        lease = Lease(ours, lambda: None, 3600)
        stack.callback(lease.close)
        request = theirs.recv(100)
        theirs.sendall(b"\x1eanswer 1 S\n")
        assert request == b"state 1\n"
        assert lease.first_process.wait(PATIENCE_SECONDS)
