"""Frames of a cluster's WebSocket, also broken ones."""

from __future__ import annotations

import contextlib
import re
import socket

import pytest
from websocket_frames import frame, read_frame

from smolagents_fork.sandboxes.kubernetes.channel_socket import ChannelSocket, RelayStream
from smolagents_fork.sandboxes.kubernetes.pod_sandbox import _short_command


@pytest.fixture
def ends():
    """A channel socket, and the server's end of its connection."""
    ours, theirs = socket.socketpair()
    made = ChannelSocket(ours)
    theirs.settimeout(60)
    yield made, theirs
    made.close()
    theirs.close()


def read_all(sock: ChannelSocket) -> bytes:
    """Return what has arrived."""
    found = b""
    with contextlib.suppress(BlockingIOError):
        while data := sock.recv(100):
            found += data
    return found


@pytest.mark.parametrize(
    ("sent", "output", "errors", "answer"),
    [
        (frame(b"\1" + b"out" * 100) + frame(b"\2err"), b"out" * 100, b"err", None),
        (frame(b"\1") + frame(b"\3") + frame(b""), b"", b"", None),
        (frame(b"there?", 0x89), b"", b"", (0x8A, b"there?")),
    ],
    ids=["messages", "channels that are opened", "ping"],
)
def test_frames_arrive_byte_by_byte(ends, sent, output, errors, answer):
    sock, theirs = ends
    found = b""
    for byte in sent:
        theirs.sendall(bytes((byte,)))
        found += read_all(sock)
    assert (found, sock.errors, sock.failure) == (output, errors, None)
    assert answer is None or read_frame(theirs.recv) == answer


def test_input_is_sent_in_its_channel(ends):
    sock, theirs = ends
    assert sock.send(b"in") == 2
    assert read_frame(theirs.recv) == (0x82, b"\0in")


def test_data_before_the_end_is_not_lost(ends):
    sock, theirs = ends
    theirs.sendall(frame(b"\1last") + frame(b"\x03\xe8restarting", 0x88))
    theirs.close()
    assert [sock.recv(100), sock.recv(100)] == [b"last", b""]
    assert sock.end_reason == "the cluster closed the stream: restarting"
    assert sock.send(b"more") == 4


@pytest.mark.parametrize(
    "data",
    [b"\xf2\x01x", b"\x82\x7f" + (1 << 40).to_bytes(8, "big")],
    ids=["reserved bits", "too long"],
)
def test_broken_frames_end_the_stream(ends, data):
    sock, theirs = ends
    theirs.sendall(data)
    assert sock.recv(100) == b""
    assert sock.end_reason.startswith("the cluster broke the protocol: ")


def test_send_that_has_to_wait_goes_on_with_the_same_bytes(ends):
    sock, theirs = ends
    data, counts = bytes(range(256)) * 400, []
    with contextlib.suppress(BlockingIOError):
        while True:
            counts.append(sock.send(data))
    assert set(counts) == {1 << 16}
    received = bytearray()
    with contextlib.suppress(TimeoutError):
        theirs.settimeout(0.1)
        while True:
            received += theirs.recv(1 << 20)
    assert sock.send(data) == 1 << 16


@pytest.mark.parametrize(
    ("message", "failure"),
    [
        (b'\3{"status": "Success"}', ""),
        (b'\3{"status": "Failure", "message": "no such file"}', "no such file"),
        (b'\3{"status": "Failure", "message": 1}', '{"status": "Failure", "message": 1}'),
        (b"\3[]", "[]"),
        (b"\3broken", "broken"),
        (b"\2relay: no kernel\n", "relay: no kernel"),
    ],
)
def test_stream_ends_with_the_words_of_the_cluster_or_the_relay(ends, message, failure):
    first, theirs = ends
    first._sock, ours = socket.socket(), first._sock
    sock = RelayStream(ours)
    theirs.sendall(frame(b"\1part") + frame(message))
    if message.startswith(b"\2"):
        theirs.close()
    assert sock.recv(100) == b"part"
    if failure:
        with pytest.raises(ConnectionResetError, match=re.escape(failure)):
            sock.recv(100)
    else:
        assert sock.recv(100) == b""
    sock.close()


def test_long_programs_are_sent_short():
    code = "print('" + "x" * 4000 + "')"
    argv = _short_command(["python3", "-I", "-c", code, "argument"])
    assert len(argv[3]) < 300
    assert argv[4:] == ["argument"]
    assert _short_command(["cat", "-c", code]) == ["cat", "-c", code]


def test_pings_whose_answers_are_not_read_end_the_stream(ends):
    sock, theirs = ends
    pings = frame(b"x" * 125, 0x89) * 100
    for _ in range(2000):
        try:
            theirs.sendall(pings)
        except OSError:
            break
        read_all(sock)
        if sock.end_reason:
            break
    assert sock.end_reason == "the cluster sends pings and reads no answers"


def test_errors_without_end_do_not_keep_the_caller_from_its_deadline(ends, monkeypatch):
    sock, theirs = ends
    received = sock._sock.recv

    class Endless:
        """The socket, whose other end sends as fast as it is read."""

        reads = 0

        def recv(self, size: int) -> bytes:
            self.reads += 1
            assert self.reads < 100, "one call reads without end"
            theirs.sendall(frame(b"\2" + b"e" * 1000))
            return received(size)

    endless = Endless()
    monkeypatch.setattr(sock._once, "_sock", endless)
    with pytest.raises(BlockingIOError):
        sock.recv(100)
    assert endless.reads == 1
    assert sock.errors == b"e" * 1000
