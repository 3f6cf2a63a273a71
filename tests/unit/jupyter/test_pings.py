"""Pings in both directions after an earlier send timed out or the stream is full."""

from __future__ import annotations

import struct

import pytest
from background import running
from doubled_gateway import opened_connection
from websocket_frames import read_frame

from smolagents_fork.jupyter.websocket import WaitTimeout


@pytest.fixture
def opened():
    with opened_connection() as ends:
        yield ends


def test_gateways_ping_is_answered_after_the_time_of_what_was_sent_before(opened):
    connection, far = opened
    connection._sock.send_for(0)
    far.sendall(b"\x89\x03abc")
    assert connection.receive(60) is None
    assert read_frame(far.recv) == (0x8A, b"abc")


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


def test_ping_does_not_wait_for_a_thread_that_sends(opened):
    connection, far = opened
    with connection._send_lock, running(connection.ping, 0.05) as ping:
        ping.result(60)
    connection.ping(timeout=60)
    assert far.recv(1) == struct.pack("B", 0x89)
