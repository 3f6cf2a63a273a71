"""The last 4 KB of a container's output, wherever the engine's frames are cut."""

from __future__ import annotations

import struct
import threading
import time

import pytest
from background import acting

from smolagents_fork.sandboxes.docker.streams.log_tail import KEPT_BYTES, Tail


def frame(stream: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", stream, len(data)) + data


def test_frames_are_taken_apart_wherever_they_are_cut():
    raw = frame(1, b"out ") + frame(2, b"err\n") + frame(1, b"") + frame(3, b"of the engine\n")
    for first in range(len(raw)):
        for second in range(first, len(raw)):
            tail = Tail()
            for piece in (raw[:first], raw[first:second], raw[second:]):
                tail.feed(piece)
            assert tail.text() == "out err\nof the engine\n"


def test_byte_by_byte():
    tail = Tail()
    for byte in frame(1, "größer\n".encode()) + frame(2, b"last"):
        tail.feed(bytes([byte]))
    assert tail.text() == "größer\nlast"


@pytest.mark.parametrize("size", [1, 5000, 3_000_000])
def test_no_more_than_the_end_is_kept(size):
    tail = Tail()
    for _ in range(3 if size > 1 else 9000):
        tail.feed(frame(1, b"x" * size))
    assert tail.text() == "x" * KEPT_BYTES
    tail.feed(frame(2, b"\nlast words\n"))
    assert tail.text() == "last words\n"  # without the piece of a line that is left
    assert len(tail._kept) <= KEPT_BYTES


def test_short_output_keeps_its_first_line():
    tail = Tail()
    tail.feed(frame(1, b"first\nsecond"))
    assert tail.text() == "first\nsecond"


def test_output_of_the_first_process_is_not_kept():
    taken: list[bytes] = []
    tail = Tail(take_output=taken.append)
    raw = frame(1, b"answer ") + frame(2, b"error\n") + frame(1, b"1\n")
    for number in range(len(raw)):
        tail.feed(raw[number : number + 1])
    assert b"".join(taken) == b"answer 1\n"
    assert tail.text() == "error\n"


def test_new_stream_begins_with_a_frame():
    tail = Tail()
    tail.feed(frame(2, b"cut off")[:-3])
    tail.restart()
    tail.feed(frame(2, b"\nnext"))
    assert tail.text() == "cut \nnext"


def test_terminals_output_is_not_framed():
    tail = Tail(framed=False)
    tail.feed(b"\1\0\0\0\0\0\0\1x")
    assert tail.text() == "\1\0\0\0\0\0\0\1x"


def test_what_is_no_frame_is_shown_as_it_is():
    tail = Tail()
    tail.feed(frame(1, b"framed\n") + b"HTTP/1.1 chunked, by a proxy")
    tail.feed(b" in between")
    assert tail.text() == "framed\nHTTP/1.1 chunked, by a proxy in between"


def test_its_end_can_be_waited_for():
    tail = Tail()
    started = time.monotonic()
    assert not tail.wait(0.05)
    assert time.monotonic() - started >= 0.04
    waits = threading.Event()
    with acting(waits.is_set, tail.end):
        waits.set()
        assert tail.wait(60)
    broken = Tail()
    broken.end("reset")
    assert not broken.wait(60)
    assert broken.broken == "reset"
