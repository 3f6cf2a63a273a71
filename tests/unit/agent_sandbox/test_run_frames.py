"""Frames between host and supervisor: cut anywhere, refused by kind and length."""

from __future__ import annotations

import socket

import pytest

from smolagents_fork.agent_sandbox.run_frames import (
    HEADER,
    Frame,
    FrameBuffer,
    Kind,
    from_host,
    from_supervisor,
    pack,
    read_block,
    write_block,
)
from smolagents_fork.errors import ProtocolError


@pytest.mark.parametrize("size", [1, 3, 9, 1000])
def test_frames_are_whole_wherever_the_stream_is_cut(size: int) -> None:
    sent = [
        Frame(Kind.OUTPUT, 0, b"abc"),
        Frame(Kind.CALL, 7, b""),
        Frame(Kind.ENDED, 0, b"x" * 50),
    ]
    stream = b"".join(pack(one.kind, one.number, one.body) for one in sent)
    buffer = FrameBuffer(from_supervisor(100))
    found = []
    for start in range(0, len(stream), size):
        found += buffer.feed(stream[start : start + size])
    assert found == sent


def test_kind_that_is_not_expected_is_refused() -> None:
    buffer = FrameBuffer(from_supervisor(100))
    with pytest.raises(ProtocolError, match="a frame of kind 17, which is not expected here"):
        buffer.feed(pack(Kind.RUN))
    with pytest.raises(ProtocolError, match="a frame of kind 3"):
        FrameBuffer(from_host()).feed(pack(Kind.CANCEL))


def test_long_body_is_refused_before_it_has_come() -> None:
    buffer = FrameBuffer(from_supervisor(100))
    with pytest.raises(ProtocolError, match="a CALL frame of 101 bytes; at most 100 may come"):
        buffer.feed(HEADER.pack(Kind.CALL, 1, 101))


def test_blocks_pass_a_socket_and_end_with_it() -> None:
    first, second = socket.socketpair()
    with first, second:
        write_block(first, b"")
        write_block(first, b"data")
        first.sendall(b"\0\0\0\5ab")
        first.shutdown(socket.SHUT_WR)
        assert read_block(second) == b""
        assert read_block(second) == b"data"
        assert read_block(second) is None
