"""Relayed streams: order, windows, and chunks that are not the host's."""

from __future__ import annotations

import random
import socket
import threading

import pytest

from smolagents_fork.errors import ExecutorError, ProtocolError
from smolagents_fork.ray_cluster.links.relay_frames import RelayAnswer, RelayCall
from smolagents_fork.ray_cluster.links.relayed_transport import (
    CHUNK_BYTES,
    WINDOW,
    ChunkOrder,
    RelayedStreams,
)


def test_chunks_in_any_order_within_the_window_are_put_in_order():
    order, found = ChunkOrder(), []
    for start in range(0, 10 * WINDOW, WINDOW):
        numbers = list(range(start, start + WINDOW))
        random.Random(start).shuffle(numbers)
        for number in numbers:
            found += order.add(number, b"%d," % number)
    assert b"".join(found) == b"".join(b"%d," % number for number in range(10 * WINDOW))


@pytest.mark.parametrize(
    ("number", "chunk", "words"),
    [
        (WINDOW, b"", "chunk 8 outside the window 0 to 7"),
        (-1, b"", "chunk -1 outside the window 0 to 7"),
        (True, b"", "chunk True outside the window"),
        (0, bytes(CHUNK_BYTES + 1), f"chunk 0 of {CHUNK_BYTES + 1} bytes, over {CHUNK_BYTES}"),
        (0, "text", "chunk 0 of str bytes"),
        (1, b"again", "chunk 1 twice"),
    ],
)
def test_hostile_chunk_is_refused(number, chunk, words):
    order = ChunkOrder()
    order.add(1, b"early")
    with pytest.raises(ProtocolError) as caught:
        order.add(number, chunk)
    assert words in str(caught.value)


def echo(_token: bytes, stream: socket.socket) -> bool:
    with stream:
        while data := stream.recv(1 << 16):
            stream.sendall(data)
    return True


@pytest.fixture
def streams():
    made = []

    def make(serve) -> RelayedStreams:
        made.append(RelayedStreams(serve))
        return made[-1]

    yield make
    for one in made:
        one.close_all()


def call(name: bytes, number: int, chunk: bytes = b"", *, waits: bool = False) -> RelayCall:
    return RelayCall(name, number, waits, chunk)


def test_hostile_chunk_ends_its_stream_and_no_other(streams):
    relayed = streams(echo)
    mine, other = relayed.open(b"1"), relayed.open(b"2")
    with pytest.raises(ProtocolError, match="outside the window"):
        relayed.exchange(call(mine, 99, b"x"))
    with pytest.raises(ExecutorError, match="the stream has ended"):
        relayed.exchange(call(mine, 0, b"x"))
    found = relayed.exchange(call(other, 0, b"hello", waits=True), 60)
    assert found == RelayAnswer(written=1, brings=True, number=0, chunk=b"hello")


def test_more_than_the_window_waits_for_a_slow_reader(streams):
    def unread(_token: bytes, stream: socket.socket) -> bool:
        with stream:
            return done.wait(60)

    done = threading.Event()
    relayed = streams(unread)
    name = relayed.open(b"1")
    taken = [0]
    # The first are on their way to the sandbox.
    with pytest.raises(ProtocolError, match="chunks, over"):
        taken.extend(
            relayed.exchange(call(name, number, bytes(CHUNK_BYTES))).written
            for number in range(1000)
        )
    assert len(taken) - 1 - taken[-1] == 2 * WINDOW
    done.set()


def test_call_without_a_chunk_of_the_sandbox_ends_in_time(streams):
    relayed = streams(echo)
    name = relayed.open(b"1")
    first = threading.Thread(target=relayed.exchange, args=(call(name, 0, waits=True), 60))
    first.start()
    # Whichever of the two has the turn to read.
    assert relayed.exchange(call(name, 0, waits=True), 0.01) == RelayAnswer(written=0)
    relayed.exchange(call(name, 0, b"x"))
    first.join(60)
    assert not first.is_alive()


def test_waiting_calls_bring_one_chunk_each_and_the_end(streams):
    relayed = streams(lambda _token, stream: not stream.sendall(b"last") and not stream.close())
    name = relayed.open(b"1")
    found = [relayed.exchange(call(name, 0, waits=True), 60) for _ in range(2)]
    assert found == [RelayAnswer(0, True, 0, b"last"), RelayAnswer(0, True, 1, b"")]


@pytest.mark.parametrize("data", [b"", b"short", "text", None, ("ok", b"")])
def test_other_bytes_are_no_frame(data):
    for kind in (RelayCall, RelayAnswer):
        with pytest.raises(ProtocolError, match="of the relayed transport"):
            kind.unpacked(data)


def test_frames_are_read_as_they_were_written():
    for frame in (call(b"8 bytes.", 2**40, b"x", waits=True), RelayAnswer(3, True, 4, b"y")):
        assert type(frame).unpacked(frame.packed()) == frame
