"""Relayed streams: order, windows, and chunks that are not the host's."""

from __future__ import annotations

import random
import socket
import threading

import pytest

from smolagents_fork.errors import ExecutorError, ProtocolError
from smolagents_fork.ray_cluster.links.relayed_transport import (
    CHUNK_BYTES,
    WINDOW,
    ChunkOrder,
    RelayedStreams,
    pump,
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


def test_hostile_chunk_ends_its_stream_and_no_other(streams):
    relayed = streams(echo)
    mine, other = relayed.open(b"1"), relayed.open(b"2")
    with pytest.raises(ProtocolError, match="outside the window"):
        relayed.write(mine, 99, b"x")
    with pytest.raises(ExecutorError, match="the stream has ended"):
        relayed.write(mine, 0, b"x")
    relayed.write(other, 0, b"hello")
    assert relayed.read(other, 60) == (0, b"hello")


def test_more_than_the_window_waits_for_a_slow_reader(streams):
    def unread(_token: bytes, stream: socket.socket) -> bool:
        with stream:
            return done.wait(60)

    done = threading.Event()
    relayed = streams(unread)
    name = relayed.open(b"1")
    # The first may be on its way to the sandbox already.
    most = 2 * WINDOW
    for number in range(most):
        relayed.write(name, number, bytes(CHUNK_BYTES))
    numbers = (most, most + 1)
    with pytest.raises(ProtocolError, match="chunks, over"):
        assert [relayed.write(name, number, bytes(CHUNK_BYTES)) for number in numbers] == []
    done.set()


def test_pump_carries_both_ways_whatever_the_order(streams):
    relayed = streams(echo)
    name = relayed.open(b"1")
    ours, theirs = socket.socketpair()
    shuffle = random.Random(1)
    jobs: list = []

    def write(number: int, chunk: bytes):
        # Calls begun together finish in any order.
        found: list = []
        job = threading.Timer(
            shuffle.random() / 200, lambda: found.append(relayed.write(name, number, chunk))
        )
        job.start()
        jobs.append(job)

        def finish() -> int:
            job.join()
            return found[0]

        return finish

    worker = threading.Thread(
        target=pump,
        args=(
            theirs,
            write,
            lambda: relayed.waiting(name),
            lambda: relayed.read(name, 0.05),
            lambda: relayed.close(name),
        ),
    )
    worker.start()
    sent = random.Random(2).randbytes(5_000_000)
    writer = threading.Thread(target=ours.sendall, args=(sent,))
    writer.start()
    found = bytearray()
    ours.settimeout(60)
    while len(found) < len(sent):
        found += ours.recv(1 << 16)
    writer.join()
    assert bytes(found) == sent
    ours.shutdown(socket.SHUT_RDWR)
    worker.join(60)
    ours.close()
    assert not worker.is_alive()
