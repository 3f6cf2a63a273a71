"""A child's last output, its log and its exit, seen by the host in the worst orders."""

from __future__ import annotations

import mmap
import os
import resource
import socket
import struct

import pytest

from smolagents_fork.errors import SandboxDiedError
from smolagents_fork.guest.frame_stream import FrameStream
from smolagents_fork.guest.frames import Kind, from_guest, packed
from smolagents_fork.process.child import Child
from smolagents_fork.process.output_log import LOG_SIZE
from smolagents_fork.process.worker import Link

ENDED = struct.pack("!i", 3)


class Ends:
    """Child whose other socket ends belong to the test."""

    def __init__(self):
        ours, self.data = socket.socketpair()
        status, self.status = socket.socketpair()
        output, self.output = os.pipe()
        log = os.memfd_create("log")
        os.ftruncate(log, LOG_SIZE)
        self.log = mmap.mmap(log, LOG_SIZE)
        self.child = Child(ours, status, output, log, from_guest(1000, 1000))

    def close(self):
        self.child.close()
        self.data.close()
        self.status.close()
        os.close(self.output)
        self.log.close()


@pytest.fixture
def ends():
    made = Ends()
    yield made
    made.close()


def end(ends):
    """Send the exit status, as the fork server does."""
    ends.status.sendall(ENDED)
    ends.status.close()


def test_last_frame_is_not_lost_if_the_end_is_seen_first(ends, monkeypatch):
    look = FrameStream._wait

    def end_seen_first(stream, seconds):
        # The connection was empty when it was polled; then all this arrived.
        monkeypatch.undo()
        readable = look(stream, 0.0)
        ends.data.sendall(packed(Kind.DONE, 1, b"last"))
        ends.data.close()
        end(ends)
        return readable

    monkeypatch.setattr(FrameStream, "_wait", end_seen_first)
    frame = ends.child.turn(60)
    assert frame is not None
    assert (frame.kind, frame.body) == (Kind.DONE, b"last")
    with pytest.raises(SandboxDiedError, match="exit code 3"):
        ends.child.turn(60)


def test_exit_status_sent_byte_by_byte_is_read(ends):
    for byte in ENDED:
        assert not ends.child.ended
        ends.status.sendall(bytes([byte]))
    assert ends.child.ended
    assert ends.child.exit_code == 3


def told(ends):
    """Return all text the host gets: from the pending frames, then from the log."""
    text = ""
    while (frame := ends.child.turn(0)) is not None:
        text += ends.child.text_of(frame)
    return text + ends.child.text_in_log()


@pytest.mark.parametrize("seen_before", [False, True])
def test_log_that_is_sent_and_written_anew_while_it_is_read(ends, monkeypatch, seen_before):
    link = Link(ends.data, ends.log)
    link.write("first ")
    read, text = os.pread, told(ends) if seen_before else ""
    link.write("second ")

    def pread(number, size, offset):
        if offset:  # between the length and the text
            monkeypatch.undo()
            link.flush()
            link.write("third and more")
        return read(number, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    text += ends.child.text_in_log()
    assert os.pread is read
    assert text + told(ends) == "first second third and more"


def test_frame_read_before_the_child_recorded_it(ends, monkeypatch):
    link = Link(ends.data, ends.log)
    link.write("once ")
    text = ""

    class Looking:
        """Header of the log, which the host reads after each step of the child."""

        @staticmethod
        def pack_into(log, offset, sent, length):
            nonlocal text
            for at, value in ((0, sent), (4, length)):
                struct.pack_into("=I", log, offset + at, value)
                text += told(ends)

    monkeypatch.setattr("smolagents_fork.process.worker.LOG_HEADER", Looking)
    link.flush()
    link.write("and once more")
    assert text + told(ends) == "once and once more"


def test_child_that_is_closed_by_another_thread_has_ended(ends):
    ends.child.close()
    assert ends.child.ended
    with pytest.raises(SandboxDiedError):
        ends.child.turn(60)
    ends.child.put(Kind.RUN, 1)
    with pytest.raises(SandboxDiedError):
        ends.child.turn(60)
    assert ends.child.remaining_text() == ""
    ends.child.interrupt(1)
    ends.child.kill()


def test_interruption_of_a_closed_child_is_not_written_to_the_file_that_has_the_logs_number(ends):
    number = ends.child._log
    ends.child.close()
    other = os.memfd_create("other")
    os.dup2(other, number)
    try:
        ends.child.interrupt(1)
        assert os.fstat(other).st_size == 0
    finally:
        for one in {other, number}:
            os.close(one)


def test_interruption_names_the_run(ends):
    link = Link(ends.data, ends.log)
    link.run = 2
    for run, asked in ((1, False), (2, True), (2 + (1 << 32), True), (3, False)):
        ends.child.interrupt(run)
        assert link.stop_asked is asked
        link.write("text")
        link.flush()
        assert link.stop_asked is asked


def test_host_with_more_descriptors_than_select_takes():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip(f"this process may have {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    null = os.open(os.devnull, os.O_RDONLY)
    taken = []
    try:
        while not taken or taken[-1] < 1024:
            taken.append(os.dup(null))
        ends = Ends()
        try:
            assert ends.child.turn(0.01) is None
            ends.child.put(Kind.RUN, 1, bytes(10_000_000))
            assert ends.child.turn(0.01) is None
            while not ends.child.idle:
                assert ends.child.turn(0.01) is None
            assert 0 < ends.child.unsent < 10_000_000
            end(ends)
            with pytest.raises(SandboxDiedError, match="exit code 3"):
                ends.child.turn(60)
        finally:
            ends.close()
    finally:
        for number in (null, *taken):
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
