"""Both message layouts: round trips, and errors for hostile payloads."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork.errors import ProtocolError
from smolagents_fork.jupyter.channel import message_limits
from smolagents_fork.jupyter.wire import Message, decode, encode, peek_v1

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


@given(message=messages, v1=st.booleans())
def test_round_trip(message, v1):
    payload, binary = encode(message, v1=v1)
    back = decode(payload, v1=v1, binary=binary)
    assert (back.channel, back.header, back.content) == (
        message.channel,
        message.header,
        message.content,
    )
    assert tuple(back.buffers) == message.buffers


@given(payload=st.binary(max_size=300), v1=st.booleans(), binary=st.booleans())
def test_any_bytes_are_a_message_or_a_protocol_error(payload, v1, binary):
    try:
        decode(payload, v1=v1, binary=binary)
    except ProtocolError:
        return


@given(message=messages, position=st.integers(0, 200), value=st.integers(0, 255))
def test_a_changed_byte_is_a_message_or_a_protocol_error(message, position, value):
    payload = bytearray(encode(message, v1=True)[0])
    payload[position % len(payload)] = value
    try:
        decode(bytes(payload), v1=True, binary=True)
    except ProtocolError:
        return


@given(message=messages, cut=st.integers(0, 400))
def test_a_truncated_payload_is_an_error_or_a_shorter_message(message, cut):
    payload, binary = encode(message, v1=True)
    try:
        decode(payload[:cut], v1=True, binary=binary)
    except ProtocolError:
        return


def test_v1_layout_follows_the_specification():
    message = Message("shell", {"a": 1}, {}, {}, {"b": 2}, (b"xyz",))
    payload, binary = encode(message, v1=True)
    assert binary
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
        decode(payload, v1=True, binary=True)


def test_deep_nesting_is_an_error():
    deep = b"[" * 200_000
    payload = b'{"header":{},"parent_header":{},"metadata":{},"content":{"x":' + deep
    with pytest.raises(ProtocolError, match="not JSON"):
        decode(payload, v1=False, binary=False)


def test_beginning_of_a_long_message_identifies_it():
    header, parent = {"msg_type": "stream"}, {"msg_id": "7"}
    payload, _ = encode(Message("iopub", header, parent, {}, {"text": "x" * 100_000}), v1=True)
    message = peek_v1(payload[:16_384])
    assert message is not None
    assert (message.type, message.parent_id, message.content) == ("stream", "7", None)
    assert peek_v1(payload[:10]) is None
    assert peek_v1(b"rubbish" * 100) is None


def test_limits_depend_on_the_message_type():
    limit_for = message_limits(1000, 1_000_000)

    def limit(kind):
        return limit_for(encode(Message("iopub", {"msg_type": kind}, {}, {}, {}), v1=True)[0])

    assert limit("stream") == limit("error") == limit("execute_reply") < 100_000
    assert limit("comm_msg") == limit("display_data") > 1_000_000


def payload_with(content):
    return b'{"header":{},"parent_header":{},"metadata":{},"content":{"text":%b}}' % content


@pytest.mark.parametrize(
    ("escaped", "text"),
    [
        ("cut \\ud83d here", "cut \ufffd here"),
        ("\\uD83D\\uDE00", "\U0001f600"),
        ("\\\\ud83d", "\\ud83d"),
    ],
)
def test_text_of_a_message_can_be_encoded(escaped, text):
    message = Message("iopub", {"msg_type": "stream"}, {}, {}, {"text": "?"}, ())
    payload, binary = encode(message, v1=False)
    payload = payload.replace(b"?", escaped.encode())
    assert decode(payload, v1=False, binary=binary).content == {"text": text}


def test_small_json_that_becomes_many_objects_is_refused_before_it_is_read():
    many = b"[" + b"[]," * 4_000_000 + b"[]]"
    with pytest.raises(ProtocolError, match="more than 4000000 elements"):
        decode(payload_with(many), v1=False, binary=False)
    with pytest.raises(ProtocolError, match="elements"):
        decode(payload_with(b'["\\"' + b'",{"a":"' * 4_000_000), v1=False, binary=False)


@pytest.mark.parametrize("text", ["," * 4_100_000, '",[{\\"\\' * 700_000])
def test_long_text_is_one_element_whatever_is_in_it(text):
    message = Message("iopub", {"msg_type": "stream"}, {}, {}, {"text": text})
    payload, binary = encode(message, v1=True)
    assert decode(payload, v1=True, binary=binary).content == {"text": text}
