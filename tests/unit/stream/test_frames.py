"""Frames are read whole from whatever pieces arrive, and invalid ones end the connection."""

from __future__ import annotations

import struct

import pytest
from websocket_frames import frame

from smolagents_fork.stream.websocket_frames import (
    InvalidFrame,
    Opcode,
    WebSocketFrame,
    WebSocketReader,
)


class Source:
    """Bytes that arrive in pieces of one size, with nothing between two pieces if asked."""

    def __init__(self, data: bytes, size: int, *, gaps: bool) -> None:
        self.left, self.size, self.gaps = memoryview(data), size, gaps
        self.waits = False

    def recv(self, size: int) -> bytes:
        self.waits = self.gaps and not self.waits
        if self.waits or not self.left:
            raise TimeoutError("timed out")
        count = min(size, self.size)
        piece, self.left = self.left[:count], self.left[count:]
        return bytes(piece)


def reader_of(source: Source, limit: int = 1 << 62) -> WebSocketReader:
    return WebSocketReader(source, limit, keeps_beginning=True)


def read(reader: WebSocketReader) -> WebSocketFrame:
    while True:
        try:
            return reader.read()
        except TimeoutError:
            continue


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_frames_are_whole_whatever_pieces_arrive(size, gaps):
    payloads = [b"", b"a" * 125, b"b" * 126, b"c" * 20_000, b"d" * 70_000, b"e" * 140_000, b"end"]
    source = Source(b"".join(map(frame, payloads)), size, gaps=gaps)
    reader = reader_of(source)
    assert [read(reader)[1:] for _ in payloads] == [(payload, 0) for payload in payloads]


@pytest.mark.parametrize("gaps", [False, True])
def test_of_a_payload_over_its_limit_the_beginning_is_kept(gaps):
    source = Source(frame(b"a" * 100_000) + frame(b"next"), 5000, gaps=gaps)
    reader = reader_of(source, 50_000)
    assert read(reader)[1:] == (b"a" * 16_384, 100_000 - 16_384)
    assert bytes(read(reader).payload) == b"next"


def fragments(payload: bytes, size: int, between: bytes = b"") -> bytes:
    """A message in fragments, with a frame between each two."""
    pieces = [payload[at : at + size] for at in range(0, len(payload), size)] or [b""]
    heads = [0x02, *[0x00] * (len(pieces) - 1)]
    heads[-1] |= 0x80
    return between.join(frame(piece, head) for piece, head in zip(pieces, heads, strict=True))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("size", [11, 1 << 20])
@pytest.mark.parametrize("length", [1000, 16_384, 300_000])
def test_fragments_are_put_together_and_control_frames_between_them_are_read(length, size, gaps):
    payload = bytes(range(250)) * (length // 250 + 1)
    ping = frame(b"ping", 0x89)
    data = fragments(payload, 90_000, ping) + fragments(payload, 400, ping) + frame(b"next")
    reader = reader_of(Source(data, size, gaps=gaps))
    found = []
    while not found or found[-1].payload != b"next":
        found.append(read(reader))
    assert {bytes(one.payload) for one in found if one.opcode == Opcode.PING} == {b"ping"}
    messages = [one for one in found if one.opcode == Opcode.BINARY]
    assert [one[1:] for one in messages] == [(payload, 0), (payload, 0), (b"next", 0)]


def test_of_fragments_over_the_limit_the_beginning_is_kept():
    source = Source(fragments(b"a" * 100_000, 30_000) + frame(b"next"), 5000, gaps=True)
    reader = reader_of(source, 50_000)
    assert read(reader)[1:] == (b"a" * 16_384, 100_000 - 16_384)
    assert bytes(read(reader).payload) == b"next"
    # As many as the limit, and a last fragment without bytes.
    reader = reader_of(Source(fragments(b"a" * 50_000, 30_000)[:-1], 5000, gaps=False), 50_001)
    with pytest.raises(TimeoutError):
        reader.read()


def test_message_over_the_limit_is_an_error_where_its_beginning_is_of_no_use():
    data = fragments(b"a" * 30_000, 20_000)
    source = Source(data, 5000, gaps=False)
    with pytest.raises(InvalidFrame, match="a message has more than 29999 bytes"):
        read(WebSocketReader(source, 29_999))
    whole = read(WebSocketReader(Source(data, 5000, gaps=False), 30_000))
    assert len(whole.payload) == 30_000


def test_claimed_size_of_a_message_takes_no_memory():
    start = struct.pack("<8Q", 7, *[1 << 40] * 7)
    reader = reader_of(
        Source(fragments(start + bytes(300_000), 100_000), 1 << 20, gaps=False), 1 << 30
    )
    assert len(read(reader).payload) == 300_064


@pytest.mark.parametrize(
    "data",
    [b"\x80\x01a", b"\x00\x01a", b"\x02\x01a\x82\x01a", b"\x02\x01a\x02\x01a"],
    ids=["end without beginning", "middle without beginning", "message in one", "two beginnings"],
)
def test_fragment_without_beginning_or_end_is_an_error(data):
    with pytest.raises(InvalidFrame, match="without its beginning or end"):
        read(reader_of(Source(data, 100, gaps=False)))


@pytest.mark.parametrize(
    "data",
    [b"\x82\x80abcd", b"\x89\x7e\x00\xff", b"\xc2\x00", b"\x83\x00", b"\x8b\x00", b"\x09\x00"],
    ids=["masked", "long control", "reserved bit", "unknown opcode", "unknown control", "fragment"],
)
def test_invalid_frame_is_an_error(data):
    with pytest.raises(InvalidFrame):
        read(reader_of(Source(data, 100, gaps=False)))
