"""Time limits of a stream apply to a whole transfer, not to each byte."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest
from background import running

from smolagents_fork.stream.timed_socket import TimedSocket

# Only detects hangs.
PROMPT_SECONDS = 60.0


@pytest.fixture
def ends():
    """Give both ends of a stream: ours and the sandbox's."""
    near, far = socket.socketpair()
    with near, far:
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        yield TimedSocket(near), far


def trickle(far, until):
    """Write and read a byte now and then, until the other end stops."""
    far.settimeout(0.02)
    while not until():
        with contextlib.suppress(OSError):
            far.send(b"x")
        with contextlib.suppress(OSError):
            far.recv(1)
        time.sleep(0.02)


def read_for(near, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        near.recv(1)


def test_slow_bytes_do_not_prolong_a_wait(ends):
    near, far = ends
    done = []
    with running(trickle, far, lambda: bool(done)):
        try:
            near.receive_for(30, at_most=0.5)
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                read_for(near, PROMPT_SECONDS)
            assert 0.4 < time.monotonic() - started < PROMPT_SECONDS
            assert near.received > 0
        finally:
            done.append(True)


def test_slow_reader_does_not_prolong_sending(ends):
    near, far = ends
    done = []
    with running(trickle, far, lambda: bool(done)):
        try:
            near.send_for(0.5)
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                near.sendall(b"x" * 10_000_000)
            assert time.monotonic() - started < PROMPT_SECONDS
        finally:
            done.append(True)


def test_received_bytes_are_read_without_time_to_wait(ends):
    near, far = ends
    far.sendall(b"here")
    near.receive_for(0, at_most=30)
    assert near.recv(10) == b"here"
    with pytest.raises(TimeoutError):
        near.recv(10)
    near.receive_for(0, at_most=0)
    far.sendall(b"more")
    with pytest.raises(TimeoutError):
        near.recv(10)
    assert near.received == 4
