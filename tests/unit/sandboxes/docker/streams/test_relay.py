"""The relay between the engine's stream and the gateway: both ways at once, to the last word."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess

import pytest
from background import running

from smolagents_fork.sandboxes.containers.relay import relay_command

MUCH = os.urandom(3_000_000)  # more than pipes and sockets hold


@pytest.fixture
def ends():
    """The gateway's end of the connection, and the relay as a process with pipes."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listener.settimeout(60)
        argv = relay_command(listener.getsockname()[1], 60)
        pipe = subprocess.PIPE
        relay = stack.enter_context(
            subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        )
        stack.callback(relay.kill)
        gateway = stack.enter_context(listener.accept()[0])
        gateway.settimeout(60)
        yield gateway, relay


def test_relay_waits_for_a_gateway_that_listens_late_and_ends_with_the_host():
    with socket.socket() as listener:
        listener.settimeout(60)
        listener.bind(("127.0.0.1", 0))
        argv = relay_command(listener.getsockname()[1], 60)
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, bufsize=0) as relay:
            relay.stdin.write(b"early")
            listener.listen()
            with listener.accept()[0] as gateway:
                gateway.settimeout(60)
                assert received(gateway, 5) == b"early"
                relay.stdin.close()
                assert relay.wait(60) == 0
                assert gateway.recv(1) == b""


def received(gateway, count):
    data = bytearray()
    while len(data) < count and (piece := gateway.recv(1 << 20)):
        data += piece
    return bytes(data)


def put(pipe, data):
    """All of ``data``: a pipe may take a part of it."""
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) :]


def test_large_value_goes_in_where_nobody_reads_what_comes_out(ends):
    gateway, relay = ends
    with running(gateway.sendall, MUCH, stop=relay.kill):
        with running(put, relay.stdin, MUCH, stop=relay.kill):
            assert received(gateway, len(MUCH)) == MUCH
        told = bytearray()
        while len(told) < len(MUCH):
            told += relay.stdout.read(1 << 20)
        assert told == MUCH


def test_last_words_of_a_gateway_that_ends_are_passed_on(ends):
    gateway, relay = ends
    gateway.sendall(MUCH[:60_000])
    gateway.close()
    # The host goes on sending, and reads only then.
    with contextlib.suppress(BrokenPipeError):
        for _ in range(20):
            relay.stdin.write(b"more")
    assert b"".join(iter(lambda: relay.stdout.read(1 << 20), b"")) == MUCH[:60_000]
    assert relay.wait(60) == 0
    assert relay.stderr.read() == b""
