"""The helper's end of relayed streams: calls and their answers in any order, and both ends."""

from __future__ import annotations

import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from smolagents_fork.errors import ExecutorError
from smolagents_fork.ray_cluster.helper.relay_pump import RelayPump
from smolagents_fork.ray_cluster.links.relay_frames import RelayAnswer, RelayCall
from smolagents_fork.ray_cluster.links.relayed_transport import RelayedStreams

SECONDS = 60


def echo(_token: bytes, stream: socket.socket) -> bool:
    with stream:
        while data := stream.recv(1 << 16):
            stream.sendall(data)
    return True


class Relay:
    """A stream to a node in this process, whose calls run in threads.

    Args:
        serve: the sandbox.
        shuffle: seed of the order in which calls that are begun together run; 0: as they begin.
    """

    def __init__(self, serve, shuffle: int = 0) -> None:
        self.calls: list[RelayCall] = []
        self._random = random.Random(shuffle) if shuffle else None
        self._threads = ThreadPoolExecutor(12)
        self.node = RelayedStreams(serve)
        self.name = self.node.open(b"1")
        self.host, end = socket.socketpair()
        self.host.settimeout(SECONDS)
        self.pump = RelayPump(end, self._exchange, lambda: self.node.close(self.name))
        self._thread = threading.Thread(target=self.pump.run, daemon=True)
        self._thread.start()

    def _exchange(self, number, chunk, waits, arrived) -> None:
        call = RelayCall(self.name, number, waits, chunk)
        self.calls.append(call)
        pause = self._random.random() / 200 if self._random else 0.0

        def run() -> RelayAnswer:
            time.sleep(pause)
            return self.node.exchange(call, SECONDS)

        self._threads.submit(run).add_done_callback(lambda done: arrived(done.result))

    def ended(self) -> bool:
        """Wait for the pump's end; return whether it came."""
        self._thread.join(SECONDS)
        return not self._thread.is_alive()

    def close(self) -> None:
        self.host.close()
        assert self.ended()
        self.node.close_all()
        self._threads.shutdown()


@pytest.fixture
def relay():
    made = []

    def make(serve, **options) -> Relay:
        made.append(Relay(serve, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def received(host: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        data = host.recv(1 << 16)
        assert data, f"the stream ended after {len(found)} bytes"
        found += data
    return bytes(found)


def test_bytes_pass_both_ways_whatever_the_order_of_calls(relay):
    stream = relay(echo, shuffle=1)
    sent = random.Random(2).randbytes(5_000_000)
    writer = threading.Thread(target=stream.host.sendall, args=(sent,))
    writer.start()
    assert received(stream.host, len(sent)) == sent
    writer.join()


def test_question_and_answer_cost_one_call(relay):
    questions = 50

    def asks(_token: bytes, sandbox: socket.socket) -> bool:
        with sandbox:
            for number in range(questions):
                sandbox.sendall(b"%4d" % number)
                assert sandbox.recv(100) == b"answer"
            sandbox.sendall(b"done")
            return not sandbox.recv(1)

    stream = relay(asks)
    while received(stream.host, 4) != b"done":
        stream.host.sendall(b"answer")
    # Besides those that bring an answer: calls that wait, begun again when they bring nothing.
    assert len(stream.calls) < 1.5 * questions
    assert sum(bool(call.chunk) for call in stream.calls) == questions


def test_host_that_does_not_read_stops_the_sandbox_and_loses_nothing(relay):
    sent = random.Random(3).randbytes(8_000_000)
    stream = relay(lambda _token, sandbox: not sandbox.sendall(sent) and not sandbox.close())
    deadline = time.monotonic() + SECONDS
    while not stream.pump._unread:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert received(stream.host, len(sent)) == sent
    assert stream.host.recv(1) == b""
    assert stream.ended()


def test_what_the_host_sent_before_its_end_arrives(relay):
    sent, found = random.Random(4).randbytes(3_000_000), bytearray()

    def slow(_token: bytes, sandbox: socket.socket) -> bool:
        with sandbox:
            while data := sandbox.recv(1 << 18):
                found.extend(data)
                time.sleep(0.001)
        return done.set() is None

    done = threading.Event()
    stream = relay(slow)
    stream.host.sendall(sent)
    stream.host.close()
    assert stream.ended()
    assert done.wait(SECONDS)
    assert bytes(found) == sent


@pytest.mark.parametrize(
    "answer", [RelayAnswer(written=9), RelayAnswer(0, True, 99, b"x"), ExecutorError("lost"), None]
)
def test_wrong_answer_ends_the_stream(answer):
    def exchange(_number, _chunk, _waits, arrived) -> None:
        def result():
            if isinstance(answer, Exception):
                raise answer
            return answer

        threading.Thread(target=arrived, args=(result,)).start()

    host, end = socket.socketpair()
    closed = threading.Event()
    pump = threading.Thread(target=RelayPump(end, exchange, closed.set).run, daemon=True)
    with host:
        pump.start()
        host.settimeout(SECONDS)
        assert host.recv(1) == b""
        pump.join(SECONDS)
    assert closed.is_set()
