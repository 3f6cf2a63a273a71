"""Pings in both directions after an earlier send timed out or the stream is full."""

from __future__ import annotations

import base64
import hashlib
import socket
import struct

import pytest
from background import running

from smolagents_fork.jupyter.websocket import Connection, TimedSocket, WaitTimeout
from smolagents_fork.jupyter.wire import SUBPROTOCOL_V1

# RFC 6455, section 1.3.
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def answer(far):
    """Answer the WebSocket handshake like a gateway."""
    request = b""
    while b"\r\n\r\n" not in request:
        request += far.recv(4096)
    key = next(x for x in request.split(b"\r\n") if x.lower().startswith(b"sec-websocket-key"))
    digest = hashlib.sha1(key.partition(b": ")[2] + _GUID).digest()
    far.sendall(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Protocol: " + SUBPROTOCOL_V1.encode() + b"\r\n"
        b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n"
    )


@pytest.fixture
def opened():
    near, far = socket.socketpair()
    far.settimeout(60)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    with far:
        with running(answer, far):
            connection = Connection(
                TimedSocket(near), "/", token=None, timeout=60, limit_for=lambda _start: 1 << 20
            )
        yield connection, far
        connection.close()


def test_gateways_ping_is_answered_after_the_time_of_what_was_sent_before(opened):
    connection, far = opened
    connection._sock.send_for(0)
    far.sendall(b"\x89\x03abc")
    assert connection.receive(60) is None
    head = far.recv(2)
    assert (head[0], head[1]) == (0x8A, 0x80 | 3)
    mask, masked = far.recv(4), far.recv(3)
    assert bytes(a ^ b for a, b in zip(mask, masked, strict=False)) == b"abc"


def test_unread_ping_keeps_connection_open(opened):
    connection, far = opened
    filled = 0
    far.setblocking(False)
    connection._sock.send_for(60)
    while True:
        try:
            filled += connection._sock._sock.send(b"\0" * 512)
        except BlockingIOError:
            break
    connection.ping(timeout=0.05)
    with pytest.raises(WaitTimeout):
        connection.receive(0)
    far.setblocking(True)
    while filled:
        filled -= len(far.recv(min(filled, 65536)))
    connection.ping(timeout=60)
    assert far.recv(1) == struct.pack("B", 0x89)
