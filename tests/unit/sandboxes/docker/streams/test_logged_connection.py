"""One thread reads what all containers print: the real client against the engine's attach."""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import signal
import socket
import struct
import threading
import time

import certificates
import pytest
from background import PATIENCE_SECONDS as PROMPT_SECONDS
from background import eventually, running
from engine_double import HEAD, Engine, frame

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.sandboxes import lease_keeper
from smolagents_fork.sandboxes.docker.streams import exec_stream
from smolagents_fork.sandboxes.docker.streams.hijacking import hijack
from smolagents_fork.sandboxes.docker.streams.logged_connection import (
    KEPT_BYTES,
    LoggedConnection,
    Tail,
)


def read_to_end(far):
    while far.recv(4096):
        pass


# Threads of containers that other tests of this process have.
others = set()


def reader():
    threads = set(threading.enumerate()) - others
    return [t for t in threads if t.name == "smolagents-fork-leases"]


#: Sockets of this process that the current test has had.
sockets = []


class WatchedKeeper(lease_keeper._Keeper):
    """A keeper whose sockets are in the list."""

    def _start(self):
        try:
            super()._start()
        finally:
            sockets.extend((self._woken, self._waker))


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


class AttachedEngine(Engine):
    """Engine to which a container is attached; ``attach`` gives both ends."""

    def __init__(self, certificate=None):
        super().__init__(certificate)
        self.later_ends = queue.Queue()

    def connect(self, greeting=b""):
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        with running(self.answer, HEAD + greeting) as answered:
            sock = hijack(self.api, "/containers/c/attach", query=params, seconds=60)
            sockets.append(sock)
            return sock, answered.result()

    def attach(self, again=lambda: None, seconds=3600, greeting=b""):
        # A lease so long that no test lasts until a renewal that it does not expect.
        sock, far = self.connect(greeting)
        return LoggedConnection(sock, again, seconds), far

    def attach_again(self):
        """Give another connection, as the engine does after the first was lost."""
        sock, far = self.connect()
        self.later_ends.put(far)
        return sock


@pytest.fixture
def engine():
    with contextlib.closing(AttachedEngine()) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    monkeypatch.setattr(lease_keeper, "_keeper", WatchedKeeper())
    sockets.clear()
    others.clear()
    others.update(threading.enumerate())
    yield
    assert eventually(lambda: reader() == [])
    # Not the number of descriptors: threads of other tests' sandboxes open some at any time.
    assert eventually(lambda: all(sock.fileno() == -1 for sock in sockets)), sockets


def received(far, count):
    found = b""
    while len(found) < count:
        piece = far.recv(count - len(found))
        assert piece, found
        found += piece
    return found


def answer_renewal(far, number):
    """Answer as a first process does."""
    request = b"state %d\n" % number
    assert received(far, len(request)) == request
    far.sendall(frame(1, b"\x1eanswer %d S\n" % number))


@pytest.mark.parametrize("end", ["closed twice", "dropped", "ended"])
def test_output_is_kept_and_closing_closes_the_containers_input(engine, end):
    for _ in range(3):  # the thread comes back after each end
        stream, far = engine.attach(greeting=frame(2, b"at once\n"))
        with far:
            answer_renewal(far, 1)
            far.sendall(frame(2, b"later\n"))
            assert eventually(lambda s=stream: s.tail.text() == "at once\nlater\n")
            if end == "ended":
                far.shutdown(socket.SHUT_RDWR)
                assert stream.tail.wait(PROMPT_SECONDS)
            elif end == "dropped":
                del stream
                gc.collect()
            else:
                stream.close()
                stream.close()
            read_to_end(far)


def test_connection_that_breaks_says_so_and_the_others_go_on(engine):
    def refuse():
        raise ConnectionRefusedError("no engine")

    broken, far = engine.attach(refuse, seconds=1)
    other, other_far = engine.attach()
    far.sendall(frame(2, b"before"))
    assert eventually(lambda: broken.tail.text() == "before")
    far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    far.close()  # by a reset
    assert eventually(lambda: broken.tail.broken)
    assert broken.tail.broken == "ConnectionRefusedError: no engine"
    assert not broken.tail.wait(0)
    assert broken.tail.text() == "before"
    with other_far:
        other_far.sendall(frame(2, b"goes on"))
        assert eventually(lambda: other.tail.text() == "goes on")
        other.close()


def test_leases_are_renewed_by_the_one_thread(engine, monkeypatch):
    monkeypatch.setattr(lease_keeper, "_RENEWALS", 36_000)
    monkeypatch.setattr(lease_keeper, "_UNANSWERED", 36_000)
    made = [engine.attach() for _ in range(20)]
    for number in range(1, 5):
        for _, far in made:
            answer_renewal(far, number)
    assert len(reader()) == 1
    for stream, far in made:
        stream.close()
        far.close()


def test_lost_connection_is_replaced_and_the_lease_renewed_on_it(engine, monkeypatch):
    def wake_and_reconnect(connected):
        # The keeper has the time to look at the connection that the lease has by now.
        lease_keeper._keeper.wake()
        time.sleep(0.05)
        reconnect(connected)

    stream, first = engine.attach(engine.attach_again)
    reconnect = stream.first_process.reconnect
    monkeypatch.setattr(stream.first_process, "reconnect", wake_and_reconnect)
    first.sendall(frame(2, b"before\n"))
    answer_renewal(first, 1)
    assert eventually(lambda: stream.tail.text() == "before\n")
    first.close()
    with engine.later_ends.get(timeout=PROMPT_SECONDS) as second:
        second.sendall(frame(2, b"after\n"))
        answer_renewal(second, 2)
        assert eventually(lambda: stream.tail.text() == "before\nafter\n")
        assert stream.first_process.wait(PROMPT_SECONDS)
        assert not stream.tail.wait(0)
        stream.close()
        read_to_end(second)


def test_connection_whose_first_process_does_not_answer_is_replaced(engine, monkeypatch):
    def attach_again():
        monkeypatch.setattr(lease_keeper, "_UNANSWERED", 1_000_000)
        return engine.attach_again()

    monkeypatch.setattr(lease_keeper, "_RENEWALS", 18_000)
    monkeypatch.setattr(lease_keeper, "_UNANSWERED", 0.5)
    stream, silent = engine.attach(attach_again)
    with silent, engine.later_ends.get(timeout=PROMPT_SECONDS):
        assert eventually(lambda: stream.first_process.links == 2)
        read_to_end(silent)
        stream.close()


def test_connection_that_is_closed_while_it_is_replaced_closes_the_new_one(engine):
    asked, closed = threading.Event(), threading.Event()

    def late():
        asked.set()
        assert closed.wait(PROMPT_SECONDS)
        return engine.attach_again()

    stream, far = engine.attach(late)
    far.close()
    assert asked.wait(PROMPT_SECONDS)
    stream.close()
    closed.set()
    with engine.later_ends.get(timeout=PROMPT_SECONDS) as second:
        read_to_end(second)


def test_lease_over_tls_is_renewed_and_what_is_decrypted_already_is_read(tmp_path, monkeypatch):
    # A piece of TLS is up to 16 KB: with smaller reads, its rest makes no socket readable.
    monkeypatch.setattr(exec_stream, "_READ_BYTES", 100)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # requests prefers them to docker-py's
        monkeypatch.delenv(name, raising=False)
    with contextlib.closing(AttachedEngine(certificates.made_in(tmp_path))) as engine:
        stream, far = engine.attach()
        first = stream.first_process
        with far:
            answer_renewal(far, 1)
            assert first.wait(PROMPT_SECONDS)
            assert first.interrupt()
            assert received(far, 12) == b"interrupt 2\n"
            assert first.links == 1
            far.sendall(frame(2, b"x" * 9_000 + b"\n") + frame(2, b"last words\n"))
            assert eventually(lambda: stream.tail.text().endswith("last words\n"))
            stream.close()
            assert received(far, 4) == b"end\n"
            read_to_end(far)


# From Python 3.12 on there is a warning where a process with threads is forked: that is the case.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_child_reads_its_own_and_keeps_nothing_of_the_parents_open(engine):
    stream, far = engine.attach()
    keeper = lease_keeper._keeper
    # The pair that wakes.
    parents = {keeper._woken.fileno(), keeper._waker.fileno()}
    (lease,) = keeper._leases
    connection = lease.stream.fileno()
    ours, childs = socket.socketpair()
    ours.settimeout(PROMPT_SECONDS)
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            assert not any(map(is_open, parents))
            assert os.read(connection, 1) == b""  # nobody is at the other end
            stream.close()
            own_engine = AttachedEngine()
            own, own_far = own_engine.attach()
            own_far.sendall(frame(2, b"child"))
            assert eventually(lambda: own.tail.text() == "child")
            own.close()
            read_to_end(own_far)
            childs.send(b"well")
            time.sleep(PROMPT_SECONDS)
        os._exit(1)
    try:
        with ours, childs, far:
            assert ours.recv(10) == b"well"
            far.sendall(frame(2, b"parent"))
            assert eventually(lambda: stream.tail.text() == "parent")
            stream.close()
            read_to_end(far)  # while the child still runs
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_no_thread_to_be_had_is_an_error_and_the_next_is_read(engine, monkeypatch):
    def none_left(_thread):
        raise RuntimeError("can't start new thread")

    sock, far = engine.connect()
    monkeypatch.setattr(threading.Thread, "start", none_left)
    with pytest.raises(ExecutorStartError, match="can't start new thread; close executors"):
        LoggedConnection(sock, lambda: None, 3600)
    monkeypatch.undo()
    with far:
        read_to_end(far)
    stream, far = engine.attach()
    with far:
        far.sendall(frame(2, b"read"))
        assert eventually(lambda: stream.tail.text() == "read")
        stream.close()


@pytest.mark.parametrize("size", [1, 5000, 3_000_000])
def test_no_more_than_the_end_is_kept(size):
    tail = Tail()
    for _ in range(3 if size > 1 else 9000):
        tail.add(b"x" * size)
    assert tail.text() == "x" * KEPT_BYTES
    tail.add(b"\nlast words\n")
    assert tail.text() == "last words\n"  # without the piece of a line that is left
    assert len(tail._kept) <= KEPT_BYTES


def test_short_output_keeps_its_first_line():
    tail = Tail()
    tail.add(b"first\nsecond")
    assert tail.text() == "first\nsecond"
