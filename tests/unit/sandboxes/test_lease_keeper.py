"""Leases over any stream: requests that a full connection cannot take, and output without end."""

from __future__ import annotations

import contextlib
import socket

import pytest
from background import PATIENCE_SECONDS
from websockets.protocol import Protocol, Side

from smolagents_fork.sandboxes.docker.streams.exec_stream import ExecStream
from smolagents_fork.sandboxes.kubernetes.channel_socket import ChannelSocket
from smolagents_fork.sandboxes.lease_keeper import Lease


@pytest.fixture
def ends():
    """A connection that does not block, which the lease closes, and its other end."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(PATIENCE_SECONDS)
    with theirs:
        yield ours, theirs


def read_to_end(theirs):
    """Wait until the lease has closed its connection."""
    while theirs.recv(1 << 20):
        pass


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
    read_to_end(theirs)


def test_output_without_end_does_not_keep_other_leases_from_their_answers(ends):
    class Endless:
        def __init__(self, sock):
            self.sock = sock

        def recv(self, size):
            return b"x" * size

        def __getattr__(self, name):
            return getattr(self.sock, name)

    ours, theirs = ends
    noisy, noisy_end = socket.socketpair()
    with noisy_end:
        noisy_end.sendall(b"x")  # readable for ever
        with contextlib.closing(Lease(Endless(noisy), lambda: None, 3600)):
            with contextlib.closing(Lease(ours, lambda: None, 3600)) as lease:
                assert theirs.recv(100) == b"state 1\n"
                theirs.sendall(b"\x1eanswer 1 S\n")
                assert lease.first_process.wait(PATIENCE_SECONDS)
            read_to_end(theirs)
        with contextlib.suppress(ConnectionResetError):  # by the byte that nobody has read
            read_to_end(noisy_end)
