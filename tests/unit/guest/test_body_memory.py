"""Memory of long frames: used again only when nobody can see it."""

from __future__ import annotations

import pytest

from smolagents_fork.guest import body_memory
from smolagents_fork.guest.body_memory import BodyMemory
from smolagents_fork.guest.frames import FrameReader, Kind, packed

LONG = 2 << 20


def test_memory_is_taken_once_and_cut_to_length() -> None:
    memory, body = BodyMemory(), bytearray(b"x" * 100)
    memory.give(body)
    assert memory.take(60) is body
    assert body == b"x" * 60
    assert memory.take(60) is None


def test_short_memory_is_dropped_and_one_that_is_almost_long_enough_grows() -> None:
    memory, body = BodyMemory(), bytearray(35)
    memory.give(bytearray(34))
    assert memory.take(40) is None
    assert memory.take(5) is None
    memory.give(body)
    assert memory.take(40) is body
    assert len(body) == 40


def test_only_the_last_body_is_kept() -> None:
    memory, last = BodyMemory(), bytearray(10)
    memory.give(bytearray(20))
    memory.give(last)
    assert memory.take(10) is last
    assert memory.take(10) is None


def test_body_with_a_view_is_not_kept() -> None:
    memory, body = BodyMemory(), bytearray(b"content")
    view = memoryview(body)[2:]
    memory.give(body)
    assert memory.take(7) is None
    assert view == b"ntent"


def test_bytes_empty_and_very_long_bodies_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_memory, "MOST_KEPT", 10)
    memory = BodyMemory()
    for body in (b"bytes", bytearray(), bytearray(11)):
        memory.give(body)
        assert memory.take(0) is None


def test_copy_is_made_in_kept_memory() -> None:
    memory, body = BodyMemory(), bytearray(LONG)
    memory.give(body)
    copy = memory.copy(memoryview(b"c" * LONG))
    assert copy is body
    assert copy == b"c" * LONG
    other = memory.copy(copy)
    assert other == copy
    assert other is not copy
    short = bytearray(b"short")
    assert type(memory.copy(short)) is bytes


def test_reader_uses_the_memory_of_a_decoded_body(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = BodyMemory()
    monkeypatch.setattr("smolagents_fork.guest.frames.BODIES", memory)
    reader = FrameReader({Kind.DONE: 2 * LONG})

    def read(body: bytes) -> bytearray:
        data, frame = packed(Kind.DONE, 1, body), None
        while frame is None:
            size = reader.wanted
            frame = reader.feed(data[:size])
            data = data[size:]
        assert frame.body == body
        assert isinstance(frame.body, bytearray)
        return frame.body

    first = read(b"a" * LONG)
    assert read(b"b" * LONG) is not first
    memory.give(first)
    assert read(b"c" * (LONG - 5)) is first
