"""Frames are read whole from whatever pieces arrive, and invalid ones end the connection."""

from __future__ import annotations

import struct

import pytest
from websocket import ABNF, WebSocketProtocolException, WebSocketTimeoutException

from smolagents_fork.jupyter.websocket import _FrameReader


class Source:
    """Bytes that arrive in pieces of one size, with nothing between two pieces if asked."""

    def __init__(self, data: bytes, size: int, *, gaps: bool) -> None:
        self.left, self.size, self.gaps = data, size, gaps
        self.waits = False

    def recv(self, size: int) -> bytes:
        self.waits = self.gaps and not self.waits
        if self.waits or not self.left:
            raise WebSocketTimeoutException("timed out")
        count = min(size, self.size)
        piece, self.left = self.left[:count], self.left[count:]
        return piece

    def recv_into(self, target: memoryview) -> int:
        try:
            piece = self.recv(len(target))
        except WebSocketTimeoutException as error:
            raise TimeoutError(str(error)) from None
        target[: len(piece)] = piece
        return len(piece)


def reader_of(source: Source) -> _FrameReader:
    return _FrameReader(source.recv, source)


def frame(payload: bytes, first: int = 0x82) -> bytes:
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", first, size) + payload
    if size < 65_536:
        return struct.pack("!BBH", first, 126, size) + payload
    return struct.pack("!BBQ", first, 127, size) + payload


def read(reader: _FrameReader) -> ABNF:
    while True:
        try:
            return reader.recv_frame()
        except WebSocketTimeoutException:
            continue


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_frames_are_whole_whatever_pieces_arrive(size, gaps):
    payloads = [b"", b"a" * 125, b"b" * 126, b"c" * 20_000, b"d" * 70_000, b"e" * 300_000, b"end"]
    source = Source(b"".join(map(frame, payloads)), size, gaps=gaps)
    reader = reader_of(source)
    assert [bytes(read(reader).data) for _ in payloads] == payloads
    assert reader.skipped_bytes == 0


@pytest.mark.parametrize("gaps", [False, True])
def test_of_a_payload_over_its_limit_the_beginning_is_kept(gaps):
    source = Source(frame(b"a" * 100_000) + frame(b"next"), 5000, gaps=gaps)
    reader = reader_of(source)
    reader.limit_for = lambda _start: 50_000
    assert bytes(read(reader).data) == b"a" * 16_384
    assert reader.skipped_bytes == 100_000 - 16_384
    assert bytes(read(reader).data) == b"next"


@pytest.mark.parametrize(
    "data",
    [b"\x82\x80abcd", b"\x89\x7e\x00\xff", b"\xc2\x00", b"\x83\x00", b"\x88\x01x", b"\x09\x00"],
    ids=["masked", "long control", "reserved bit", "unknown opcode", "short close", "fragment"],
)
def test_invalid_frame_is_an_error(data):
    with pytest.raises(WebSocketProtocolException):
        read(reader_of(Source(data, 100, gaps=False)))
