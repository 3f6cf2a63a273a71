"""ZeroMQ's protocol on the side of the kernels: beside pyzmq, and against hostile bytes."""

from __future__ import annotations

import contextlib
import socket
import struct

import pytest
import zmq
from gateway_kernels import Connection
from gateway_process import PATIENCE

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB"[:27]
HELLO = GREETING + b"\x04\x1a\x05READY\x0bSocket-Type\x00\x00\x00\x04XPUB"
HOSTILE = {
    "nothing": b"",
    "other protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n".ljust(64),
    "old version": GREETING.replace(b"\x7f\x03", b"\x7f\x01"),
    "error": GREETING + b"\x04\x0d\x05ERROR\x06denied",
    "message before ready": GREETING + b"\x00\x01a",
    "unknown flags": HELLO + b"\xf0\x01a",
    "exabytes": HELLO + b"\x02" + b"\xff" * 8,
    "more than a message may have": HELLO + b"\x02" + struct.pack("!Q", (1 << 30) + 1),
    "endless parts": HELLO + b"\x01\x00" * 5000,
    "half a frame": HELLO + b"\x00\x05abc",
}


class Link:
    """Notes what a connection reports."""

    def __init__(self):
        self.messages, self.opened_channels, self.reasons = [], [], []

    def opened(self, channel):
        self.opened_channels.append(channel)

    def received(self, channel, parts):
        self.messages.append((channel, [bytes(part) for part in parts]))

    def kernel_is_full(self, channel, full):
        pass

    def lost(self, reason):
        self.reasons.append(reason)


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_hostile_kernel_ends_its_connection_only(loop, turned, tmp_path, data):
    path = str(tmp_path / "kernel")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        link = Link()
        connection = Connection(loop, path, "iopub", b"me", link)
        peer, _ = listening.accept()
        with peer:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            turned(lambda: link.reasons)
    assert len(link.reasons) == 1
    assert link.messages == []
    assert connection.stream.closed


def test_listener_that_accepts_nothing_is_not_waited_for(loop, tmp_path):
    path = str(tmp_path / "kernel")
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(path)
        listening.listen(0)
        with pytest.raises(BlockingIOError):  # noqa: PT012  # the queue's length is the system's
            while True:
                connection = Connection(loop, path, "shell", b"me", Link())
                stack.callback(connection.stream.end, "done")


@pytest.fixture
def kernel_sockets(tmp_path):
    """The kernel's side on pyzmq: a ROUTER and an XPUB."""
    context = zmq.Context()
    router, publisher = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
    for sock, name in ((router, "router"), (publisher, "publisher")):
        sock.bind(f"ipc://{tmp_path / name}")
        sock.setsockopt(zmq.RCVTIMEO, int(PATIENCE * 1000))
    yield router, publisher
    context.destroy(linger=0)


def test_messages_pass_both_ways_beside_pyzmq(loop, turned, tmp_path, kernel_sockets):
    router, publisher = kernel_sockets
    link = Link()
    dealer = Connection(loop, str(tmp_path / "router"), "shell", b"client-1", link)
    subscriber = Connection(loop, str(tmp_path / "publisher"), "iopub", b"client-1", link)
    turned(lambda: set(link.opened_channels) == {"shell", "iopub"})
    big = bytes(range(256)) * 40_000
    dealer.send([b"", b"x", b"y" * 255, b"z" * 256, big])
    turned(lambda: router.poll(0))
    while not dealer.stream.closed and dealer.stream.unsent:
        loop.call_later(0.01, lambda: None)
        loop.turn()
    assert router.recv_multipart() == [b"client-1", b"", b"x", b"y" * 255, b"z" * 256, big]
    assert publisher.recv_multipart() == [b"\x01"]
    router.send_multipart([b"client-1", b"reply", big, b""])
    publisher.send_multipart([b"topic", b"said"])
    turned(lambda: len(link.messages) == 2)
    assert dict(link.messages) == {"shell": [b"reply", big, b""], "iopub": [b"topic", b"said"]}
    assert link.reasons == []
    for connection in (dealer, subscriber):
        connection.stream.end("done")
