"""Long raw data travels beside the JSON text, and hostile messages are refused."""

from __future__ import annotations

import contextlib
import json
import random
import struct
import weakref
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from codec_values import CLASSES, same
from hypothesis import given
from hypothesis import strategies as st

from smolagents_fork import codec
from smolagents_fork.codec import decoder, rpc
from smolagents_fork.codec.attachments import Attachments, join_messages, split_messages
from smolagents_fork.codec.limits import ATTACHED_FROM
from smolagents_fork.errors import DecodeError, EncodeError

LONG = {
    "array": np.arange(12_000, dtype=">i4").reshape(3, 40, 100).transpose(),
    "bools": np.arange(9000) % 3 == 0,
    "dates": np.arange(9000).view("M8[s]"),
    "texts": np.array(["ä"] * 3000),
    "floats": [0.5, float("nan"), float("inf"), -0.0] * 1000,
    "ints": [1, -(1 << 63), (1 << 63) - 1] * 1000,
    "text": "ä\ud83d\x00\"'" * 3000,
    "bytes": bytes(range(256)) * 30,
    "bytearray": bytearray(9000),
    "frame": pd.DataFrame({"n": range(9000), "t": [str(n) for n in range(9000)]}),
    "nested": {"a": (np.zeros(9000), {"b": "x" * 9000}), "c": [b"y" * 9000]},
    "image": PIL.Image.frombytes("L", (100, 100), random.Random(0).randbytes(10_000)),
}


def message(tree: Any, *parts: bytes, count: int | None = None, end: bytes = b"") -> bytes:
    text = json.dumps(tree).encode()
    count = len(parts) if count is None else count
    out = struct.pack("<4sIQ", b"\x00raw", count, len(text))
    out += b"".join(struct.pack("<Q", len(part)) for part in parts) + text
    for part in parts:
        out += bytes(-len(out) % 16) + part
    return out + end


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("name", LONG)
def test_long_values_come_back_as_they_were(name: str, kind: Any) -> None:
    data = codec.encode_message(LONG[name])
    assert data[:1] == b"\x00"
    assert same(codec.decode(kind(data), classes=CLASSES), LONG[name])


def test_short_values_are_json_text() -> None:
    value = [np.zeros(3), "text", b"bytes", [0.5] * 100]
    assert codec.encode_message(value) == codec.encode(value)


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_arrays_can_be_written_to_and_resized(kind: Any) -> None:
    data = kind(b"x" + codec.encode_message([np.zeros(n) for n in (9, 600, (90, 90))]))
    for array in codec.decode(memoryview(data)[1:]):
        assert array.flags.owndata
        assert array.flags.aligned
        array[...] = 1
        array.resize(5, refcheck=False)  # the list refers to it, too
        assert array.tolist() == [1.0] * 5


def test_limit_of_bytes_includes_attachments_to_the_byte() -> None:
    value = ["x" * 5000, np.zeros(5000)]
    size = len(codec.encode_message(value))
    codec.decode(codec.encode_message(value), max_bytes=size)
    with pytest.raises(DecodeError, match=f"{size} bytes are over the limit of {size - 1}"):
        codec.decode(codec.encode_message(value), max_bytes=size - 1)
    for limit in range(size - 200, size + 200):
        with contextlib.suppress(EncodeError):
            assert len(codec.encode_message(value, max_bytes=limit)) <= limit
    with pytest.raises(EncodeError, match=f"over {size - 200} bytes"):
        codec.encode_message(value, max_bytes=size - 200)


def test_value_that_cannot_be_encoded_leaves_no_attachment() -> None:
    attachments = Attachments()
    codec.encode("x" * 5000, attachments=attachments)
    before = attachments.size
    with pytest.raises(EncodeError, match=r"value\[1\]: a value of type builtins.object"):
        codec.encode([b"y" * 5000, object()], attachments=attachments)
    assert (len(attachments), attachments.size) == (1, before)


def test_variables_share_the_limit_and_keep_what_fits() -> None:
    variables = {"a": np.zeros(5000), "b": np.zeros(50_000), "c": "x" * 5000, "d": object()}
    data = codec.encode_variables(variables, 100_000)
    found = codec.decode_variables(data, 100_000)
    assert found.keys() == {"a", "c"}
    assert found["a"].tolist() == [0.0] * 5000
    assert "which are left for it; raise max_value_bytes=" in found.left_out["b"]
    assert found.left_out.keys() == {"b", "d"}


def test_calls_carry_raw_arguments_and_results() -> None:
    requests: list[Any] = []

    def host(*pieces: Any) -> bytes:
        requests.append(codec.decode(b"".join(pieces)))
        return codec.encode_message({"call": requests[-1]["call"], "value": np.ones(5000)})

    calls = rpc.HostCalls(host, lambda: None, 100_000)
    result = calls.call("f", ["x" * 5000, 1], {"k": b"y" * 5000})
    assert result.tolist() == [1.0] * 5000
    (request,) = requests
    assert (request["args"], request["kwargs"]) == (["x" * 5000, 1], {"k": b"y" * 5000})
    with pytest.raises(EncodeError, match=r"arguments of f\(\): their encoding of \d+ bytes"):
        calls.call("f", [b"x" * 60_000, b"x" * 60_000], {})


def test_pieces_of_a_call_are_the_arguments_memory_until_the_reply() -> None:
    array: Any = np.arange(5000.0)
    sent: list[Any] = []

    def host(*pieces: Any) -> bytes:
        sent[:] = pieces
        call = codec.decode(b"".join(pieces))["call"]
        return codec.encode_message({"call": call, "value": None})

    calls = rpc.HostCalls(host, lambda: None, 1 << 20)
    calls.call("f", [array, 1], {})
    head, data = sent
    assert type(head) is bytes
    with pytest.raises(ValueError, match="released"):
        len(data)
    array, freed = None, weakref.ref(array)
    assert freed() is None
    calls.call("f", [1], {})
    assert len(sent) == 1
    # A message has a limited number of parts.
    calls.call("f", [[b"x" * ATTACHED_FROM] * 100], {})
    assert len(sent) == 1
    assert codec.decode(sent[0])["args"] == [[b"x" * ATTACHED_FROM] * 100]


DATA = b"x" * ATTACHED_FROM
BYTES = {"$": "bytes", "v": 0}
HOSTILE = {
    "header only": (message(None)[:10], "with an incomplete header"),
    "used twice": (message([BYTES, BYTES], DATA), "no attachment 0, or it is used twice"),
    "number past the end": (message({"$": "bytes", "v": 1}, DATA), "no attachment 1"),
    "negative number": (message({"$": "bytes", "v": -1}, DATA), "no attachment -1"),
    "number that is a bool": (message({"$": "bytes", "v": True}, DATA), "expected base64 text"),
    "number without attachments": (json.dumps(BYTES).encode(), "no attachment 0"),
    "short attachment": (message(BYTES, b"x" * 40, end=b" " * 9000), "an attachment of 40 bytes"),
    "more than there is room for": (message(BYTES, DATA, count=1 << 31), "2147483648 attachments"),
    "truncated": (message(BYTES, DATA)[:-1], "bytes, there are"),
    "trailing": (message(BYTES, DATA, end=b"y"), "bytes, there are"),
    "text past the end": (struct.pack("<4sIQ", b"\x00raw", 0, 1 << 63), "expected a message of"),
    "another mark": (b"\x00RAW" + message(BYTES, DATA)[4:], "not an encoding"),
    "floats of odd length": (message({"$": "floats", "v": 0}, DATA + b"x"), "value: "),
    "array of another size": (
        message({"$": "ndarray", "d": "<f8", "s": [9], "v": 0}, DATA),
        "shape and dtype need 72 bytes",
    ),
    "bool that is 2": (
        message({"$": "ndarray", "d": "|b1", "s": [4096], "v": 0}, b"\2" * 4096),
        "a bool is 0 or 1",
    ),
    "pickle": (
        message({"$": "ndarray", "d": "|O", "s": [512], "v": 0}, DATA),
        "not a permitted dtype",
    ),
    "text that is not UTF-8": (message({"$": "str", "v": 0}, b"\xff" * 4096), "UnicodeDecodeError"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_messages_are_refused_with_the_reason(name: str) -> None:
    data, reason = HOSTILE[name]
    with pytest.raises(DecodeError, match=reason):
        codec.decode(data)


@given(
    st.sampled_from(sorted(LONG)),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3), st.binary(max_size=4)), max_size=4),
)
def test_mutated_messages_are_values_or_refused(name: str, edits: list[Any]) -> None:
    data = bytearray(codec.encode_message(LONG[name]))
    for position, cut, new in edits:
        data[position : position + cut] = new
    with contextlib.suppress(DecodeError):
        codec.decode(data, classes=CLASSES)


def test_items_of_packed_lists_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "DEFAULT_MAX_ITEMS", 5_000)
    data = codec.encode([[0.5] * 3_000] * 2)
    with pytest.raises(DecodeError, match="more than 5000 items"):
        codec.decode(data)


@pytest.mark.parametrize("sizes", [[], [3], [5000], [0, 1, 5000, 17, 4096, 2]])
def test_joined_messages_are_split_as_they_were(sizes):
    messages = [codec.encode_parts({"v": bytes(size)}, max_bytes=1 << 20) for size in sizes]
    body = b"".join(join_messages(messages))
    values = [codec.decode(message) for message in split_messages(body)]
    assert values == [{"v": bytes(size)} for size in sizes]


def test_long_pieces_of_joined_messages_are_not_copied():
    long = bytes(5000)
    pieces = join_messages([[b"{}"], codec.encode_parts(long, max_bytes=1 << 20), [b"{}"]])
    assert [getattr(piece, "obj", None) is long for piece in pieces] == [False, True, False]
