"""The layout of messages: round trips, errors for hostile payloads, and no copies of long ones."""

from __future__ import annotations

import contextlib
import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websocket import ABNF
from websocket._abnf import frame_buffer

from smolagents_fork.errors import ProtocolError
from smolagents_fork.jupyter.wire import Message, decode, encode_pieces, peek_v1
from smolagents_fork.stream.websocket_frames import frame_header, join_writes


def encode(message: Message) -> bytes:
    return b"".join(encode_pieces(message))


texts = st.text(max_size=20)
objects = st.dictionaries(texts, st.none() | st.integers() | texts, max_size=4)
messages = st.builds(
    Message,
    st.sampled_from(["shell", "iopub", "stdin", "control"]),
    objects,
    objects,
    objects,
    objects,
    st.lists(st.binary(max_size=50), max_size=3).map(tuple),
)


@given(message=messages)
def test_round_trip(message):
    back = decode(encode(message))
    assert (back.channel, back.header, back.content) == (
        message.channel,
        message.header,
        message.content,
    )
    assert tuple(back.buffers) == message.buffers


@st.composite
def broken_payloads(draw):
    """Draw any bytes, or a message with a changed byte, or the beginning of one."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=300))
    payload = bytearray(encode(draw(messages)))
    place = draw(st.integers(0, len(payload) - 1))
    if draw(st.booleans()):
        return bytes(payload[:place])
    payload[place] = draw(st.integers(0, 255))
    return bytes(payload)


@given(payload=broken_payloads())
def test_any_bytes_are_a_message_or_a_protocol_error(payload):
    with contextlib.suppress(ProtocolError):
        decode(payload)


def test_v1_layout_follows_the_specification():
    message = Message("shell", {"a": 1}, {}, {}, {"b": 2}, (b"xyz",))
    payload = encode(message)
    count = struct.unpack_from("<Q", payload)[0]
    offsets = struct.unpack_from(f"<{count}Q", payload, 8)
    assert offsets[0] == 8 * (count + 1)
    assert payload[offsets[0] : offsets[1]] == b"shell"
    assert json.loads(payload[offsets[1] : offsets[2]]) == {"a": 1}
    assert payload[offsets[5] : offsets[6]] == b"xyz"
    assert offsets[-1] == len(payload)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "shorter than its table"),
        (struct.pack("<Q", 1 << 40), "offsets"),
        (struct.pack("<4Q", 3, 32, 500, 400), "do not increase"),
        (struct.pack("<4Q", 3, 0, 0, 0), "do not increase"),
    ],
)
def test_hostile_tables(payload, words):
    with pytest.raises(ProtocolError, match=words):
        decode(payload)


def test_deep_nesting_is_an_error():
    with pytest.raises(ProtocolError, match="not JSON"):
        decode(payload_with(b"[" * 200_000))


def test_beginning_of_a_long_message_identifies_it():
    header, parent = {"msg_type": "stream"}, {"msg_id": "7"}
    payload = encode(Message("iopub", header, parent, {}, {"text": "x" * 100_000}))
    message = peek_v1(payload[:16_384])
    assert message is not None
    assert (message.type, message.parent_id, message.content) == ("stream", "7", None)
    assert peek_v1(payload[:10]).type == ""
    assert peek_v1(b"rubbish" * 100).type == ""


def payload_with(text: bytes) -> bytes:
    """Return a payload whose content is a field with this JSON, valid or not."""
    parts = [b"iopub", b"{}", b"{}", b"{}", b'{"text":%b}' % text]
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("cut \\ud83d here", "cut \ufffd here"),
        ("\\uD83D\\uDE00", "\U0001f600"),
        ("\\\\ud83d", "\\ud83d"),
    ],
)
def test_text_of_a_message_can_be_encoded(escaped, text):
    assert decode(payload_with(b'"%b"' % escaped.encode())).content == {"text": text}


def test_small_json_that_becomes_many_objects_is_refused_before_it_is_read():
    many = b"[" + b"[]," * 4_000_000 + b"[]]"
    with pytest.raises(ProtocolError, match="more than 4000000 elements"):
        decode(payload_with(many))
    with pytest.raises(ProtocolError, match="elements"):
        decode(payload_with(b'["\\"' + b'",{"a":"' * 4_000_000))


@pytest.mark.parametrize("text", ["," * 4_100_000, '",[{\\"\\' * 700_000])
def test_long_text_is_one_element_whatever_is_in_it(text):
    message = Message("iopub", {"msg_type": "stream"}, {}, {}, {"text": text})
    payload = encode(message)
    assert decode(payload).content == {"text": text}


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
