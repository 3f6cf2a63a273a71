"""Connections that a multiplexer carries: its succession, its ends, and hostile frames."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import resource
import select
import socket
import socketserver
import struct
import tracemalloc

import pytest
from background import running
from proxy_double import ProxyDouble, listed, received, received_with, started_multiplexer
from web_servers import serving

from smolagents_fork.deadline import Deadline
from smolagents_fork.guest.frames import HEADER, Kind, pack_frame
from smolagents_fork.sandboxes import connection_multiplexer
from smolagents_fork.sandboxes.connection_multiplexer import LISTENING, WINDOW
from smolagents_fork.sandboxes.multiplexer_start import wait_until_listening

SECONDS = 60
LARGE = bytes(range(256)) * 20_000


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it receives, and ends when its client does."""

    def handle(self):
        with contextlib.suppress(OSError):
            while data := self.request.recv(65536):
                self.request.sendall(data)


@pytest.fixture
def echo():
    with serving(handler=Echo) as server:
        yield server


@pytest.fixture
def proxied_echo(echo):
    """A proxy whose sandbox may reach the server."""
    double = ProxyDouble([listed(echo, plain=True)], is_multiplexed=True)
    yield double
    double.close()


@pytest.fixture
def stream(proxied_echo):
    """The sandbox's end of a stream that the proxy serves in place of its multiplexer's."""
    ours, theirs = socket.socketpair()
    proxied_echo.proxy.serve_stream(theirs)
    with ours:
        ours.settimeout(SECONDS)
        yield ours


def request_of(server):
    target = f"api.test:{server.port}"
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode()


def test_both_sides_have_the_same_header_and_kinds():
    names = ("CONNECTION", "BYTES", "NO_MORE", "CLOSED", "PASSED_ON")
    assert [getattr(connection_multiplexer, name) for name in names] == [
        Kind[name] for name in names
    ]
    assert connection_multiplexer.HEADER.format == HEADER.format


def test_bytes_arrive_whole_in_both_directions(proxied_echo, echo):
    with proxied_echo.tunnel(echo) as connection:

        def send():
            connection.sendall(LARGE)
            connection.shutdown(socket.SHUT_WR)

        with running(send):
            back = received(connection)
    assert hashlib.sha256(back).hexdigest() == hashlib.sha256(LARGE).hexdigest()


def test_client_that_does_not_read_delays_nobody_else(proxied_echo, echo):
    with proxied_echo.tunnel(echo) as slow:
        slow.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            for _ in range(1000):  # until no buffer between here and the server takes more
                slow.send(LARGE)
        with proxied_echo.tunnel(echo) as other:
            other.sendall(b"hello")
            assert received_with(other, b"hello") == b"hello"


def test_next_multiplexer_takes_the_port_over(proxied_echo, echo):
    with proxied_echo.tunnel(echo) as before:
        process, near, _ = started_multiplexer(proxied_echo.port)
        proxied_echo.proxy.serve_stream(near)
        assert proxied_echo.multiplexer.wait(SECONDS) == 0
        assert received(before) == b""
    proxied_echo.multiplexer = process
    with proxied_echo.tunnel(echo) as connection:
        connection.sendall(b"again")
        assert received_with(connection, b"again") == b"again"


def test_multiplexer_is_waited_for_whatever_number_its_stream_has():
    number = 1500  # select(2) takes numbers below 1024
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= number:
        pytest.skip("too few descriptors")
    near, far = socket.socketpair()
    with near, far, socket.socket(fileno=fcntl.fcntl(near, fcntl.F_DUPFD_CLOEXEC, number)) as high:
        with pytest.raises(TimeoutError):
            wait_until_listening(high, Deadline(0.1))
        far.sendall(LISTENING)
        wait_until_listening(high, Deadline(SECONDS))


def test_multiplexer_ends_with_its_stream():
    process, near, port = started_multiplexer()
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        near.close()
        assert process.wait(SECONDS) == 0
        assert received(connection) == b""


def test_client_that_resets_its_connection_leaves_the_others(proxied_echo, echo):
    with proxied_echo.tunnel(echo) as kept:
        for _ in range(200):
            with proxied_echo.connect() as connection:
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.sendall(request_of(echo))
        kept.sendall(b"here")
        assert received_with(kept, b"here") == b"here"


HOSTILE = {
    "unknown kind": HEADER.pack(99, 1, 0),
    "kind of another conversation": HEADER.pack(Kind.RUN, 1, 0),
    "long piece": HEADER.pack(Kind.BYTES, 1, 1 << 20),
    "longest piece": HEADER.pack(Kind.BYTES, 1, (1 << 32) - 1),
    "connection with a body": HEADER.pack(Kind.CONNECTION, 2, 1),
    "connection opened twice": pack_frame(Kind.CONNECTION, 1),
    "short count": pack_frame(Kind.PASSED_ON, 1, b"x"),
    "no count": pack_frame(Kind.PASSED_ON, 1),
    "count of bytes that were not sent": pack_frame(Kind.PASSED_ON, 1, struct.pack("!I", WINDOW)),
    "bytes behind the end": pack_frame(Kind.NO_MORE, 1) + pack_frame(Kind.BYTES, 1, b"x"),
    "more than the window": pack_frame(Kind.BYTES, 1, b"x" * 65536) * (WINDOW // 65536 + 200),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_frames_end_the_stream(stream, attack: str):
    stream.sendall(pack_frame(Kind.CONNECTION, 1))
    with contextlib.suppress(ConnectionError):  # closed before all was sent
        stream.sendall(HOSTILE[attack])
    received(stream)


def test_frames_of_unknown_connections_are_ignored(stream, echo):
    for kind in (Kind.BYTES, Kind.NO_MORE, Kind.CLOSED, Kind.PASSED_ON):
        stream.sendall(
            pack_frame(kind, 7, b"1234" if kind in (Kind.BYTES, Kind.PASSED_ON) else b"")
        )
    stream.sendall(pack_frame(Kind.CONNECTION, 1) + pack_frame(Kind.BYTES, 1, request_of(echo)))
    assert b"HTTP/1.1 200 " in received_with(stream, b"\r\n\r\n")


def test_number_that_was_closed_may_be_opened_again(stream, echo):
    for _ in range(100):
        stream.sendall(pack_frame(Kind.CONNECTION, 1) + pack_frame(Kind.CLOSED, 1))
    stream.sendall(pack_frame(Kind.CONNECTION, 1) + pack_frame(Kind.BYTES, 1, request_of(echo)))
    assert b"HTTP/1.1 200 " in received_with(stream, b"\r\n\r\n")


def test_frames_in_single_bytes_are_taken(stream, echo):
    for byte in pack_frame(Kind.CONNECTION, 1) + pack_frame(Kind.BYTES, 1, request_of(echo)):
        stream.sendall(bytes([byte]))
    assert b"HTTP/1.1 200 " in received_with(stream, b"\r\n\r\n")


def test_connections_beyond_the_limit_are_closed(stream):
    stream.sendall(b"".join(pack_frame(Kind.CONNECTION, number) for number in range(1000)))
    assert pack_frame(Kind.CLOSED, 999) in received_with(stream, pack_frame(Kind.CLOSED, 999))


@pytest.mark.parametrize(
    "frames",
    [
        pack_frame(Kind.CONNECTION, 100) + pack_frame(Kind.CLOSED, 100),
        pack_frame(Kind.BYTES, 39),
    ],
    ids=["connections that are closed", "pieces without bytes"],
)
def test_memory_does_not_grow_with_the_number_of_frames(stream, frames: bytes):
    # More than are accepted at once, so that some wait.
    stream.sendall(b"".join(pack_frame(Kind.CONNECTION, number) for number in range(40)))
    tracemalloc.start()
    try:
        for _ in range(100):
            stream.sendall(frames * 4000)
        # One that is refused, which says that those before have been read.
        stream.sendall(b"".join(pack_frame(Kind.CONNECTION, number) for number in range(200, 400)))
        received_with(stream, pack_frame(Kind.CLOSED, 399))
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
    finally:
        tracemalloc.stop()


def test_sandbox_that_reads_no_answers_is_read_no_further(stream):
    """Each of its frames would be answered by one that this process keeps."""
    frames = b"".join(pack_frame(Kind.CONNECTION, number) for number in range(1000, 5000))
    stream.sendall(b"".join(pack_frame(Kind.CONNECTION, number) for number in range(1000)))
    stream.setblocking(False)
    # Its connections beyond the limit have numbers that are free, so they may be told again.
    sent = 0
    while sent < 200 << 20:
        if not select.select([], [stream], [], 2)[1]:
            return  # it has taken nothing for two seconds
        with contextlib.suppress(BlockingIOError):
            sent += stream.send(frames[sent % len(frames) :])
    pytest.fail("the proxy keeps an answer to each of 20 million frames")
