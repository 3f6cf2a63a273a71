"""Frames do not depend on packet boundaries, and an over-long body is never read."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.errors import ProtocolError
from smolagents_fork.guest.frames import (
    HEADER,
    MOST_OUTPUT,
    Frame,
    FrameReader,
    Kind,
    frame_parts,
    from_guest,
    from_host,
    of_multiplexer,
    of_relay,
    pack_frame,
    to_relay,
)

CHILD = from_guest(1000, 2000)


def read_all(reader: FrameReader, data: bytes, sizes: list[int]) -> list[Frame]:
    """Feed ``data`` in pieces of ``sizes``, as a socket might give them."""
    frames = []
    cuts = iter(sizes * (len(data) + 1))
    while data:
        size = next(cuts)
        reader.feed(data[:size])
        data = data[size:]
        while (frame := reader.next()) is not None:
            frames.append(frame)
    return frames


frames = st.builds(
    Frame,
    st.sampled_from([Kind.OUTPUT, Kind.CALL, Kind.DONE, Kind.FAILED]),
    st.integers(0, 0xFFFFFFFF),
    st.binary(max_size=900),
)


@given(st.lists(frames, max_size=12), st.lists(st.integers(1, 5000), min_size=1, max_size=5))
def test_frames_come_out_as_they_went_in(sent, sizes):
    data = b"".join(pack_frame(frame.kind, frame.run, frame.body) for frame in sent)
    reader = FrameReader(CHILD)
    assert read_all(reader, data, sizes) == sent
    assert not reader.partial


@pytest.mark.parametrize("length", [5, 200_000])
def test_body_in_parts_is_the_same_frame(length):
    parts = [b"head", memoryview(bytes(length)), b"end"]
    whole = pack_frame(Kind.DONE, 7, b"".join(parts))
    assert pack_frame(Kind.DONE, 7, parts) == whole
    assert b"".join(frame_parts(Kind.DONE, 7, parts)) == whole


def test_frame_after_another_is_checked_too():
    reader = FrameReader(CHILD)
    data = pack_frame(Kind.ACCEPTED, 1) + HEADER.pack(200, 1, 0)
    reader.feed(data)
    assert reader.next() == Frame(Kind.ACCEPTED, 1, b"")
    with pytest.raises(ProtocolError, match="an unexpected frame of kind 200"):
        reader.next()


@given(st.binary(max_size=300), st.lists(st.integers(1, 50), min_size=1, max_size=5))
def test_any_bytes_are_frames_or_a_protocol_error(data, sizes):
    reader = FrameReader(CHILD)
    try:
        taken = read_all(reader, data, sizes)
    except ProtocolError:
        return
    for frame in taken:
        assert len(frame.body) <= CHILD[frame.kind]


@pytest.mark.parametrize("kind", list(Kind))
def test_a_body_over_its_limit_is_refused_by_its_header_alone(kind):
    reader = FrameReader(CHILD)
    reader.feed(HEADER.pack(kind, 1, CHILD.get(kind, 0) + 1))
    with pytest.raises(
        ProtocolError, match=rf"{kind.name} frame of \d+ bytes, over|unexpected frame"
    ):
        reader.next()


@pytest.mark.parametrize("number", [0, 8, 15, 21, 255])
def test_an_unknown_kind_is_refused(number):
    reader = FrameReader(CHILD)
    reader.feed(struct.pack("!BII", number, 0, 0))
    with pytest.raises(ProtocolError, match=f"an unexpected frame of kind {number}"):
        reader.next()


def test_each_side_takes_only_what_the_other_sends():
    assert not from_host().keys() & CHILD.keys()
    # Two pass while a Wasm machine starts, and have readers of their own; those of a relay and of
    # a multiplexer are their own.
    relayed = of_relay().keys() | (to_relay().keys() - from_host().keys()) | of_multiplexer().keys()
    others = set(Kind) - from_host().keys() - CHILD.keys()
    assert others == {Kind.SNAPSHOT, Kind.SOURCES} | relayed
    assert CHILD[Kind.OUTPUT] == MOST_OUTPUT


def test_frame_over_its_length_is_not_created():
    class Long(bytes):
        def __len__(self) -> int:
            return 1 << 32

    with pytest.raises(ProtocolError, match="a frame of 4294967296 bytes"):
        pack_frame(Kind.RUN, 1, Long())


@pytest.mark.parametrize("length", [0, 100, 64 * 1024, 40 << 20])
def test_body_of_any_length_comes_out_as_it_went_in(length):
    body = bytes(range(256)) * (length // 256) + bytes(length % 256)
    reader = FrameReader({Kind.DONE: length})
    data = b"".join(frame_parts(Kind.DONE, 7, body))
    assert read_all(reader, data, [5 << 20]) == [Frame(Kind.DONE, 7, body)]
    assert not reader.partial


def test_memory_for_a_body_is_not_allocated_before_it_arrives():
    reader = FrameReader({Kind.DONE: 1 << 31})
    tracemalloc.start()
    try:
        reader.feed(HEADER.pack(Kind.DONE, 1, 1 << 31) + b"x")
        assert reader.next() is None
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
