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
from engine_double import Engine, frame

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.sandboxes import lease_keeper
from smolagents_fork.sandboxes.docker.streams import exec_stream
from smolagents_fork.sandboxes.docker.streams.hijacking import hijack
from smolagents_fork.sandboxes.docker.streams.logged_connection import KEPT_BYTES, LoggedConnection


def read_to_end(far):
    while far.recv(4096):
        pass


# Threads of containers that other tests of this process have.
others = set()


def reader():
    threads = set(threading.enumerate()) - others
    return [t for t in threads if t.name == "smolagents-fork-leases"]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


class AttachedEngine(Engine):
    """Engine to which a container is attached; ``attach`` gives both ends."""

    ANSWER = (
        b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
        b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    )

    def __init__(self, certificate=None):
        super().__init__(certificate)
        self.ends = queue.Queue()
        self.greeting = b""
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                sock = self.accept()
                request = b""
                while b"\r\n\r\n" not in request:
                    piece = sock.recv(4096)
                    if not piece:
                        raise ConnectionResetError("gone before it has asked")
                    request += piece
                sock.sendall(self.ANSWER + self.greeting)
                sock.settimeout(PROMPT_SECONDS)
                self.ends.put(sock)

    def attach(self, again=lambda: None, seconds=3600):
        # A lease so long that no test lasts until a renewal that it does not expect.
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        sock = hijack(self.api, "/containers/c/attach", query=params, seconds=60)
        stream = LoggedConnection(sock, again, seconds)
        return stream, self.ends.get(timeout=PROMPT_SECONDS)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        super().close()
        self.thread.join(PROMPT_SECONDS)


@pytest.fixture
def engine():
    made = AttachedEngine()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    monkeypatch.setattr(lease_keeper, "_keeper", lease_keeper._Keeper())
    others.clear()
    others.update(threading.enumerate())
    before = descriptors()
    yield
    gc.collect()
    assert eventually(lambda: reader() == [])
    assert eventually(lambda: descriptors() <= before)


def test_output_is_kept_and_closing_closes_the_containers_input(engine):
    engine.greeting = frame(2, b"at once\n")  # in one piece with the response's head
    stream, far = engine.attach()
    with far:
        far.sendall(frame(2, b"later\n"))
        assert eventually(lambda: stream.tail.text() == "at once\nlater\n")
        stream.close()
        stream.close()
        read_to_end(far)


def test_stream_that_is_dropped_closes_the_containers_input(engine):
    stream, far = engine.attach()
    with far:
        del stream
        gc.collect()
        read_to_end(far)


def test_container_that_ends(engine):
    stream, far = engine.attach()
    answer_renewal(far, 1)
    far.sendall(frame(2, b"last words"))
    far.close()
    assert stream.tail.wait(PROMPT_SECONDS)
    assert stream.tail.text() == "last words"
    stream.close()


def test_hundred_megabytes_do_not_wait_and_keep_four_kilobytes(engine):
    stream, far = engine.attach()
    block = frame(2, b"x" * 99_999 + b"\n") * 10
    with far:
        for _ in range(100):
            far.sendall(block)
        far.sendall(frame(2, b"last words\n"))
        far.shutdown(socket.SHUT_WR)
        read_to_end(far)  # or what is unread would reset the connection
    assert stream.tail.wait(PROMPT_SECONDS)
    assert stream.tail.text().endswith("last words\n")
    assert len(stream.tail._kept) == KEPT_BYTES
    stream.close()


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


def test_many_containers_have_one_thread_which_ends_with_the_last(engine):
    made = [engine.attach() for _ in range(60)]
    assert len(reader()) == 1
    for number, (_, far) in enumerate(made):
        far.sendall(frame(2, b"%d" % number))
    assert eventually(lambda: [s.tail.text() for s, _ in made] == [str(n) for n in range(60)])
    with contextlib.ExitStack() as closers:
        for stream, _ in made[1:]:
            closers.enter_context(running(stream.close))
        for _, far in made[1:]:
            read_to_end(far)
            far.close()
    assert len(reader()) == 1
    made[0][0].close()
    made[0][1].close()
    assert eventually(lambda: reader() == [])


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


def again(engine):
    """Another connection, as the engine gives after the first was lost."""
    params = {"stdin": 1, "stdout": 1, "stderr": 1}
    return hijack(engine.api, "/containers/c/attach", query=params, seconds=60)


@pytest.mark.parametrize("count", [1, 20])
def test_leases_are_renewed_by_the_one_thread(engine, count, monkeypatch):
    monkeypatch.setattr(lease_keeper, "_RENEWALS", 36_000)
    monkeypatch.setattr(lease_keeper, "_UNANSWERED", 36_000)
    made = [engine.attach() for _ in range(count)]
    for number in range(1, 5):
        for _, far in made:
            answer_renewal(far, number)
    assert len(reader()) == 1
    for stream, far in made:
        stream.close()
        far.close()


def test_lost_connection_is_replaced_and_the_lease_renewed_on_it(engine):
    stream, first = engine.attach(lambda: again(engine))
    first.sendall(frame(2, b"before\n"))
    answer_renewal(first, 1)
    assert eventually(lambda: stream.tail.text() == "before\n")
    first.close()
    with engine.ends.get(timeout=PROMPT_SECONDS) as second:
        second.sendall(frame(2, b"after\n"))
        answer_renewal(second, 2)
        assert eventually(lambda: stream.tail.text() == "before\nafter\n")
        assert stream.first_process.wait(PROMPT_SECONDS)
        assert not stream.tail.wait(0)
        stream.close()
        while second.recv(100):
            pass


def test_connection_has_its_first_request_when_it_is_there(engine, monkeypatch):
    def note_and_look(connected):
        # The keeper has the time to look at the connection that the lease has by now.
        lease_keeper._keeper.wake()
        time.sleep(0.05)
        reconnect(connected)

    stream, first = engine.attach(lambda: again(engine))
    reconnect = stream.first_process.reconnect
    monkeypatch.setattr(stream.first_process, "reconnect", note_and_look)
    answer_renewal(first, 1)
    first.close()
    with engine.ends.get(timeout=PROMPT_SECONDS) as second:
        answer_renewal(second, 2)
        assert stream.first_process.wait(PROMPT_SECONDS)
        stream.close()
        while second.recv(100):
            pass


def test_connection_whose_first_process_does_not_answer_is_replaced(engine, monkeypatch):
    def attach_again():
        monkeypatch.setattr(lease_keeper, "_UNANSWERED", 1_000_000)
        return again(engine)

    monkeypatch.setattr(lease_keeper, "_RENEWALS", 18_000)
    monkeypatch.setattr(lease_keeper, "_UNANSWERED", 0.5)
    stream, silent = engine.attach(attach_again)
    with silent, engine.ends.get(timeout=PROMPT_SECONDS):
        assert eventually(lambda: stream.first_process.links == 2)
        while silent.recv(100):
            pass
        stream.close()


def test_first_process_is_asked_and_answers_on_its_own_output(engine):
    stream, far = engine.attach()
    first = stream.first_process
    with far:
        answer_renewal(far, 1)
        assert first.wait(PROMPT_SECONDS)
        assert first.interrupt()
        assert received(far, 12) == b"interrupt 2\n"
        assert not first.wait(0.01)
        far.sendall(frame(2, b"of the program\n") + frame(1, b"\x1eanswer 2 S\n"))
        assert first.wait(PROMPT_SECONDS)
        assert eventually(lambda: stream.tail.text() == "of the program\n")
    assert eventually(lambda: not first.interrupt())
    stream.close()


def test_connection_that_is_closed_while_it_is_replaced_closes_the_new_one(engine):
    asked, closed = threading.Event(), threading.Event()

    def late():
        asked.set()
        assert closed.wait(PROMPT_SECONDS)
        return again(engine)

    stream, far = engine.attach(late)
    far.close()
    assert asked.wait(PROMPT_SECONDS)
    stream.close()
    closed.set()
    with engine.ends.get(timeout=PROMPT_SECONDS) as second:
        while second.recv(100):
            pass


def test_thread_comes_back_after_each_end(engine):
    for _ in range(50):
        stream, far = engine.attach()
        with far:
            far.sendall(frame(2, b"x"))
            assert eventually(lambda s=stream: s.tail.text() == "x")
            stream.close()
            read_to_end(far)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return certificates.made_in(tmp_path_factory.mktemp("tls"))


def test_what_tls_has_decrypted_already_is_read_too(certificate, monkeypatch):
    # A piece of TLS is up to 16 KB: with smaller reads, its rest makes no socket readable.
    monkeypatch.setattr(exec_stream, "_READ_BYTES", 100)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # requests prefers them to docker-py's
        monkeypatch.delenv(name, raising=False)
    engine = AttachedEngine(certificate)
    try:
        stream, far = engine.attach()
        with far:
            far.sendall(frame(2, b"x" * 9_000 + b"\n") + frame(2, b"last words\n"))
            assert eventually(lambda: stream.tail.text().endswith("last words\n"))
            stream.close()
            read_to_end(far)
    finally:
        engine.close()


# From Python 3.12 on there is a warning where a process with threads is forked: that is the case.
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def status_of(pid):
    """Return the exit code of a child; one that does not end is killed."""
    told = [0, 0]

    def ended():
        told[:] = os.waitpid(pid, os.WNOHANG)
        return told[0] == pid

    if not eventually(ended):
        os.kill(pid, signal.SIGKILL)
        told[:] = os.waitpid(pid, 0)
    return told[1]


@FORKS
def test_forked_child_reads_its_own_and_leaves_the_parents(engine):
    stream, far = engine.attach()
    keeper = lease_keeper._keeper
    # The pair that wakes.
    parents = {keeper._woken.fileno(), keeper._waker.fileno()}
    (lease,) = keeper._leases
    connection = lease.stream.fileno()
    pid = os.fork()
    if pid == 0:
        status = 1
        with contextlib.suppress(BaseException):
            assert not any(map(is_open, parents))
            assert os.read(connection, 1) == b""  # nobody is at the other end
            stream.close()
            own_engine = AttachedEngine()  # the other's thread is the parent's
            own, own_far = own_engine.attach()
            own_far.sendall(frame(2, b"child"))
            assert eventually(lambda: own.tail.text() == "child")
            own.close()
            read_to_end(own_far)
            status = 0
        os._exit(status)
    assert status_of(pid) == 0
    with far:
        far.sendall(frame(2, b"parent"))
        assert eventually(lambda: stream.tail.text() == "parent")
        stream.close()
        read_to_end(far)


@FORKS
def test_child_that_lives_on_does_not_hold_the_parents_containers(engine):
    stream, far = engine.attach()
    hold, release = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(release)
        os.read(hold, 1)
        os._exit(0)
    try:
        with far:
            stream.close()
            read_to_end(far)  # while the child still runs
            assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    finally:
        os.close(release)
        os.close(hold)
        os.waitpid(pid, 0)


def test_no_thread_to_be_had_is_an_error_and_the_next_is_read(engine, monkeypatch):
    def none_left(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    with pytest.raises(ExecutorStartError, match="can't start new thread; close executors"):
        engine.attach()
    monkeypatch.undo()
    with engine.ends.get(timeout=PROMPT_SECONDS) as far:
        read_to_end(far)
    stream, far = engine.attach()
    with far:
        far.sendall(frame(2, b"read"))
        assert eventually(lambda: stream.tail.text() == "read")
        stream.close()
