"""Relay of a child's frames: interrupts are read while a long frame waits for its reader."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
import time

import pytest
from background import running
from child_ends import ChildEnds

from smolagents_fork.codec import decode
from smolagents_fork.guest.frames import Frame, FrameReader, Kind, pack_frame
from smolagents_fork.process.child_relay import ChildRelay

SECONDS = 60
LONG = 16 << 20


class Ends(ChildEnds):
    """A relay between the test as the host, and the test as the child."""

    def __init__(self, cpu_seconds: float | None = None) -> None:
        super().__init__(2 * LONG, os.getpid(), cpu_seconds)
        self.host, self.stream = socket.socketpair()
        self.relay = ChildRelay(self.child, self.stream)
        self.reader = FrameReader({**self.kinds, Kind.ENDED: 1000})
        for end in (self.data, self.status, self.host):
            end.settimeout(SECONDS)

    def received(self) -> Frame:
        while (frame := self.reader.next()) is None:
            data = self.host.recv(1 << 20)
            assert data, "the relay has ended"
            self.reader.feed(data)
        return frame

    def end(self) -> None:
        # The status too, or the relay waits for the end of a process that there is not.
        for end in (self.host, self.data, self.status):
            end.close()

    def close(self) -> None:
        super().close()
        self.stream.close()


@pytest.fixture
def ends():
    made = Ends()
    with running(made.relay.run):
        yield made
        made.end()
    made.close()


def test_host_that_has_not_read_a_long_value_can_interrupt(ends: Ends):
    with running(ends.data.sendall, pack_frame(Kind.DONE, 1, bytes(LONG))):
        # The host has read the beginning, so the relay is sending the rest.
        assert ends.host.recv(1, socket.MSG_PEEK)
        ends.host.sendall(pack_frame(Kind.INTERRUPT, 1))
        assert ends.status.recv(1) == b"I"
        assert ends.received().kind is Kind.DONE


def test_child_that_does_not_read_a_long_frame_can_be_interrupted_and_killed(ends: Ends):
    code = b"#" * LONG
    with running(ends.host.sendall, pack_frame(Kind.RUN, 1, code)):
        assert ends.data.recv(1, socket.MSG_PEEK)
    ends.host.sendall(pack_frame(Kind.INTERRUPT, 1))
    assert ends.status.recv(1) == b"I"
    ends.host.sendall(pack_frame(Kind.KILL, 0))
    assert ends.status.recv(1) == b"K"


def test_child_that_sends_without_end_can_be_interrupted(ends: Ends):
    over, done = threading.Event(), threading.Event()
    frame = pack_frame(Kind.OUTPUT, 1, b"x")

    def flood() -> None:
        while not over.is_set():
            ends.data.sendall(frame * 100)

    def read() -> None:
        ends.host.settimeout(0.05)
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                ends.host.recv(1 << 16)

    with running(read, stop=done.set):
        with running(flood, stop=over.set):
            ends.host.send(pack_frame(Kind.INTERRUPT, 1))
            assert ends.status.recv(1) == b"I"
            over.set()
        done.set()


@pytest.mark.skipif(sys.platform != "linux", reason="needs the clock of another process")
def test_child_over_its_processor_time_is_killed_on_its_node():
    # The clock is that of this process, which does not stop for a limit.
    ends = Ends(cpu_seconds=0.01)
    with running(ends.relay.run):
        ends.host.sendall(pack_frame(Kind.RUN, 1, b"code"))
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        assert ends.status.recv(1) == b"K"
        ends.status.sendall(struct.pack("!i", -9))
        frame = ends.received()
        assert frame.kind is Kind.ENDED
        assert decode(frame.body) == [
            "exit",
            f"process {os.getpid()} used more processor time than cpu_seconds=0.01 and was killed; "
            "raise that parameter, or do less in one call",
        ]
        ends.end()
    ends.close()
