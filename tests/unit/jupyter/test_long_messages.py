"""Long messages: sent in pieces in one frame, received and decoded without copies."""

from __future__ import annotations

import io

import pytest
from websocket import ABNF
from websocket._abnf import frame_buffer

from smolagents_fork.jupyter.wire import Message, decode, encode_pieces
from smolagents_fork.stream.websocket_frames import frame_header, join_writes

LONG = bytes(100_000)


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_frame_is_read_by_another_implementation(size):
    payload = b"x" * size
    stream = io.BytesIO(frame_header(size) + payload)
    frame = frame_buffer(stream.read, True).recv_frame()
    assert frame.data == payload
    assert frame.opcode == ABNF.OPCODE_BINARY
    assert frame.fin == frame.mask_value == 1
    assert stream.read() == b""


def test_short_pieces_are_one_write_and_long_ones_are_not_copied():
    view = memoryview(LONG)
    writes = list(join_writes([b"head", b"er", LONG, b"a", view, b"b", b"c"]))
    assert writes == [b"header", LONG, b"a", LONG, b"bc"]
    assert writes[1] is LONG
    assert writes[3] is view
    assert list(join_writes([b"", b""])) == [b""]


def test_buffers_are_views_of_the_payload():
    header = {"msg_type": "comm_msg"}
    message = Message("shell", header, {}, {}, {"a": 1}, (LONG, b"short"))
    pieces = encode_pieces(message)
    assert any(piece is LONG for piece in pieces)
    payload = bytearray(b"".join(pieces))
    found = decode(payload)
    assert (found.header, found.content) == (header, {"a": 1})
    assert found.buffers == (LONG, b"short")
    assert all(buffer.obj is payload for buffer in found.buffers)
