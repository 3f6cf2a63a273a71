"""A child's output, its frames and its exit, seen by the host in the worst orders."""

from __future__ import annotations

import contextlib
import os
import resource
import struct

import pytest
from child_ends import ChildEnds

from smolagents_fork.errors import SandboxDiedError
from smolagents_fork.guest.frame_stream import FrameStream
from smolagents_fork.guest.frames import Kind, pack_frame
from smolagents_fork.process.worker import socket_link

ENDED = struct.pack("!i", 3)


@pytest.fixture
def ends():
    with contextlib.closing(ChildEnds(1000)) as made:
        yield made


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
        ends.data.sendall(pack_frame(Kind.DONE, 1, b"last"))
        ends.data.close()
        end(ends)
        return readable

    monkeypatch.setattr(FrameStream, "_wait", end_seen_first)
    frame = ends.child.turn(60)
    assert frame is not None
    assert (frame.kind, frame.body) == (Kind.DONE, b"last")
    with pytest.raises(SandboxDiedError, match="exit code 3"):
        ends.child.turn(60)


def test_output_precedes_the_frame_that_was_sent_after_it(ends):
    os.write(ends.output, b"before ")
    ends.data.sendall(pack_frame(Kind.DONE, 1, b"value"))
    os.write(ends.output, b"and after")
    first, second = ends.child.turn(60), ends.child.turn(60)
    assert (first.kind, ends.child.text_of(first)) == (Kind.OUTPUT, "before and after")
    assert (second.kind, second.body) == (Kind.DONE, b"value")
    assert ends.child.turn(0) is None


def test_frames_of_one_packet_come_one_by_one_without_a_wait(ends):
    ends.data.sendall(pack_frame(Kind.ACCEPTED, 1) + pack_frame(Kind.DONE, 1, b"value"))
    assert [ends.child.turn(seconds).kind for seconds in (60, 0)] == [Kind.ACCEPTED, Kind.DONE]


def test_full_pipe_precedes_a_frame(ends):
    size = os.write(ends.output, bytes(1 << 16))
    ends.data.sendall(pack_frame(Kind.DONE, 1, b"value"))
    assert len(ends.child.turn(60).body) == size
    assert ends.child.turn(60).kind is Kind.DONE


def test_characters_that_arrive_in_two_parts_are_whole(ends):
    text = ""
    for part in (b"\xe2\x82", b"\xac and"):
        os.write(ends.output, part)
        text += ends.child.text_of(ends.child.turn(60))
    assert text == "\u20ac and"


def test_output_of_a_child_that_has_ended_is_not_lost(ends):
    os.write(ends.output, b"the last words")
    end(ends)
    assert ends.child.remaining_text() == "the last words"
    message = "ended with exit code 3; the last of its output: the last words"
    with pytest.raises(SandboxDiedError, match=message):
        ends.child.turn(60)


def test_output_is_read_after_a_child_has_ended_without_its_connection(ends):
    os.write(ends.output, b"printed")
    ends.data.close()
    end(ends)
    assert ends.child.text_of(ends.child.turn(60)) == "printed"
    with pytest.raises(SandboxDiedError, match="exit code 3"):
        ends.child.turn(60)


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


def test_interruption_names_the_run(ends):
    link = socket_link(ends.data, ends.stops)
    link.run = 2
    assert not link.stop_asked
    for run, asked in ((1, False), (2, True), (2, True), (3, False)):
        ends.child.interrupt(run)
        assert link.stop_asked is asked


def test_child_that_reads_no_stops_does_not_block_its_host(ends):
    ends.status.setblocking(False)
    for _ in range(10_000):
        ends.child.interrupt(1)
        assert ends.status.recv(100) == b"I"


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
        with contextlib.closing(ChildEnds(1000)) as ends:
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
        for number in (null, *taken):
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
