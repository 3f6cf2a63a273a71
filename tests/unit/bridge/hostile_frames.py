"""Hostile frames of a sandbox, of three kinds, each named after its reader on the host:

* ``requests``: requests of the bridge, for any transport (``Dispatcher.handle``);
* ``process``: bytes of a child's stream (``FrameReader``);
* ``jupyter``: payloads of a kernel's WebSocket messages (``jupyter.frames.decode``).

Huge sizes are only declared. A frame that once revealed a fault gets a name here and is kept.
"""

from __future__ import annotations

import json
import struct
from typing import Any


def call(number: Any = 1, name: Any = "tool", args: Any = (), kwargs: Any = None) -> bytes:
    """Encode a request as a stub does."""
    args = list(args) if isinstance(args, tuple) else args
    return json.dumps(
        {"call": number, "name": name, "args": args, "kwargs": {} if kwargs is None else kwargs}
    ).encode()


GOOD = call(args=(1, "x"), kwargs={"k": [1, 2]})

#: Requests that are refused and call nothing.
REQUESTS: dict[str, bytes] = {
    "empty": b"",
    "nul": b"\x00" * 64,
    "not_utf8": b"\xff\xfe" + GOOD,
    "bom": b"\xef\xbb\xbf" + GOOD,
    "truncated_head": GOOD[1:],
    "truncated_tail": GOOD[:-1],
    "truncated_middle": GOOD[: len(GOOD) // 2],
    "two_at_once": GOOD + GOOD,
    "interleaved": GOOD[:20] + GOOD[:20] + GOOD[20:] + GOOD[20:],
    "trailing_garbage": GOOD + b"garbage",
    "list": b"[]",
    "number": b"1",
    "null": b"null",
    "no_args": b'{"call":1,"name":"tool","kwargs":{}}',
    "extra_key": GOOD[:-1] + b',"classes":[]}',
    "keys_twice": b'{"call":1,"name":"tool","name":["x"],"args":[],"kwargs":{}}',
    "number_bool": call(number=True),
    "number_text": call(number="1"),
    "number_float": call(number=1.0),
    "number_null": call(number=None),
    "number_huge": GOOD.replace(b'"call": 1', b'"call": 1' + b"0" * 5000),
    "number_long": call(number={"$": "int", "v": "0x1" + "0" * 5000}),
    "number_long_negative": call(number={"$": "int", "v": "-0x1" + "0" * 5000}),
    "number_negative": call(number=-1),
    "number_replayed": call(number=0),
    "name_list": call(name=["tool"]),
    "name_null": call(name=None),
    "name_empty": call(name=""),
    "name_dunder": call(name="__class__"),
    "name_dotted": call(name="os.system"),
    "name_method": call(name="register"),
    "name_builtin": call(name="eval"),
    "name_nul": call(name="tool\x00"),
    "name_case": call(name="TOOL"),
    "name_fullwidth": call(name="\uff54ool"),
    "name_surrogate": b'{"call":1,"name":"\\ud800","args":[],"kwargs":{}}',
    "name_long": call(name="x" * 100_000),
    "args_dict": call(args={"0": 1}),
    "args_text": call(args="abc"),
    "kwargs_list": call(kwargs=[["a", 1]]),
    "kwargs_number_keys": b'{"call":1,"name":"tool","args":[],"kwargs":{"$":"dict","v":[[1,2]]}}',
    "deep_lists": GOOD.replace(b"[1, 2]", b"[" * 5000 + b"]" * 5000),
    "deep_dicts": GOOD.replace(b"[1, 2]", b'{"a":' * 5000 + b"1" + b"}" * 5000),
    "deep_unclosed": GOOD.replace(b"[1, 2]", b"[" * 100_000),
    "tag_unknown": call(args=({"$": "os.system", "v": "id"},)),
    "tag_not_text": call(args=({"$": 5, "v": 1},)),
    "tag_pickle": call(args=({"$": "pickle", "v": "gASVAAAAAAAAAIwCb3OUjAZzeXN0ZW2Uk5Qu"},)),
    "tag_reduce": call(args=({"$": "reduce", "v": ["os.system", ["id"]]},)),
    "tag_class": call(args=({"$": "class", "v": ["subprocess", "Popen", {"args": "id"}]},)),
    "bytes_no_base64": call(args=({"$": "bytes", "v": "***"},)),
    "array_claims_huge": call(
        args=({"$": "ndarray", "v": {"dtype": "<f8", "shape": [1 << 40], "data": ""}},)
    ),
    "array_of_objects": call(
        args=({"$": "ndarray", "v": {"dtype": "O", "shape": [1], "data": "AAAA"}},)
    ),
    "range_huge_is_no_range": call(args=({"$": "range", "v": [0, "x", 1]},)),
    "not_a_number": GOOD.replace(b"[1, 2]", b"NaN"),
    "long_integer": GOOD.replace(b"[1, 2]", b"9" * 20_000),
    "final_forged": b'{"call":1,"final":true}',
    "reply_forged": b'{"call":1,"value":42}',
    "error_forged": b'{"call":1,"error":["SystemExit",[],""]}',
}

_HEADER = struct.Struct("!BII")

#: Frames that end the reading of a child's stream, or leave it incomplete; none is a CALL.
PROCESS: dict[str, bytes] = {
    "kind_zero": _HEADER.pack(0, 1, 0),
    "kind_unknown": _HEADER.pack(99, 1, 0),
    "kind_255": _HEADER.pack(255, 1, 0),
    "kind_of_the_host_run": _HEADER.pack(17, 1, 4) + b"1+1 ",
    "kind_of_the_host_reply": _HEADER.pack(18, 1, 2) + b"{}",
    "kind_of_the_host_setup": _HEADER.pack(16, 1, 2) + b"{}",
    "call_claims_4_gib": _HEADER.pack(3, 1, 0xFFFFFFFF),
    "output_claims_1_gib": _HEADER.pack(2, 1, 1 << 30),
    "final_with_a_body": _HEADER.pack(5, 1, 10) + b"0123456789",
    "accepted_with_a_body": _HEADER.pack(7, 1, 1) + b"x",
    "ready_claims_1_gib": _HEADER.pack(1, 0, 1 << 30),
    "text": b"Traceback (most recent call last):\n  File ...\n",
    "json": GOOD,
    "http": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "call_truncated": _HEADER.pack(3, 1, len(GOOD)) + GOOD[:-1],
    "header_truncated": _HEADER.pack(3, 1, len(GOOD))[:-1],
    "call_in_a_call_unfinished": _HEADER.pack(3, 1, 1000) + _HEADER.pack(3, 1, len(GOOD)) + GOOD,
}


def v1(*parts: bytes, channel: bytes = b"stdin") -> bytes:
    """Build a payload of the v1 subprotocol."""
    position = 8 * (len(parts) + 3)
    offsets = [position, position := position + len(channel)]
    for part in parts:
        offsets.append(position := position + len(part))
    table = struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets)
    return b"".join([table, channel, *parts])


_ASK = b'{"msg_type":"input_request","msg_id":"x"}'
_WHOLE = v1(_ASK, b'{"msg_id":"run"}', b"{}", b'{"prompt":"x 1"}', GOOD)

#: Payloads that are not messages, or messages without a request for the run called "run".
JUPYTER: dict[str, bytes] = {
    "empty": b"",
    "no_table": b"\x05",
    "table_huge": struct.pack("<Q", 1 << 60),
    "table_many": struct.pack("<Q", 65) + b"\x00" * 600,
    "table_none": struct.pack("<Q", 0),
    "offsets_fall": struct.pack("<7Q", 6, 56, 50, 60, 60, 60, 60) + b"x" * 20,
    "offsets_outside": struct.pack("<7Q", 6, 56, 60, 1 << 40, 1 << 41, 1 << 42, 1 << 43),
    "offsets_into_the_table": struct.pack("<7Q", 6, 0, 8, 16, 24, 32, 40) + b"{}" * 20,
    "channel_not_utf8": v1(b"{}", b"{}", b"{}", b"{}", channel=b"\xff\xfe"),
    "parts_missing": v1(b"{}", b"{}"),
    "header_list": v1(b"[]", b"{}", b"{}", b"{}"),
    "header_deep": v1(b"[" * 20_000, b"{}", b"{}", b"{}"),
    "header_long": v1(b'{"a":"' + b"x" * 70_000 + b'"}', b"{}", b"{}", b"{}"),
    "header_no_json": v1(b"{", b"{}", b"{}", b"{}"),
    "type_no_text": v1(b'{"msg_type":5}', b'{"msg_id":"run"}', b"{}", b"{}"),
    "content_list": v1(_ASK, b'{"msg_id":"run"}', b"{}", b"[]"),
    "content_not_utf8": v1(_ASK, b'{"msg_id":"run"}', b"{}", b"\xff"),
    "parent_other": v1(_ASK, b'{"msg_id":"other"}', b"{}", b'{"prompt":"x 1"}', GOOD),
    "parent_none": v1(_ASK, b"{}", b"{}", b'{"prompt":"x 1"}', GOOD),
    "parent_number": v1(_ASK, b'{"msg_id":1}', b"{}", b'{"prompt":"x 1"}', GOOD),
    "call_on_iopub_as_stream": v1(
        b'{"msg_type":"stream"}', b'{"msg_id":"run"}', b"{}", json.dumps(
            {"name": "stdout", "text": GOOD.decode()}
        ).encode(), channel=b"iopub",
    ),
    "truncated": _WHOLE[:-200],
    "json_in_place_of_v1": json.dumps({"header": {"msg_type": "input_request"}}).encode(),
}  # fmt: skip
