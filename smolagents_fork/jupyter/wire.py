"""WebSocket payloads of a Jupyter server, in ``v1.kernel.websocket.jupyter.org``. Pure.

A table of offsets and then the ZeroMQ parts as the kernel sent them. The gateway forwards them
without parsing, which makes this layout fast.

Source: jupyter-server's ``developers/websocket-protocols`` documentation, and the messaging
specification 5.4. All input comes from a sandbox: offsets are checked before they are used.
"""

from __future__ import annotations

import itertools
import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ProtocolError
from ..text.texts import encodable

__all__ = [
    "SUBPROTOCOL_V1",
    "Message",
    "decode",
    "encode_pieces",
    "peek_v1",
]

SUBPROTOCOL_V1 = "v1.kernel.websocket.jupyter.org"

# More parts than any message of the protocol has; a larger table of offsets is an attack.
_MAX_PARTS = 64
# Larger than any header of the protocol, in bytes; the json module bounds the nesting.
_HEADER_LIMIT = 65_536
# Three bytes of JSON, "[],", become an object of at least 56 bytes: this many need a quarter GB.
# Values are sent in buffers, so only JSON displays have many elements.
_MAX_ELEMENTS = 4_000_000
_STRING = re.compile(rb'"[^"]*"')
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
# Made once: json.dumps() makes one in each call with these arguments.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Message:
    """One message of the protocol.

    Attributes:
        content: ``None`` if it was too large to be read.
        buffers: of the message.
    """

    channel: str
    header: dict[str, Any]
    parent_header: dict[str, Any]
    metadata: dict[str, Any]
    content: dict[str, Any] | None
    buffers: Sequence[bytes | memoryview] = field(default=())

    @property
    def type(self) -> str:
        """Message type; ``""`` if the header has none."""
        value = self.header.get("msg_type", "")
        return value if isinstance(value, str) else ""

    @property
    def id(self) -> str:
        """Id of the message, which answers to it name as their parent."""
        return str(self.header["msg_id"])

    @property
    def parent_id(self) -> str | None:
        """Id of the request that this message belongs to."""
        value = self.parent_header.get("msg_id")
        return value if isinstance(value, str) else None


def encode_pieces(message: Message) -> list[bytes | memoryview]:
    """Return the payload of a message in pieces: buffers, which may be long, are not copied."""
    parts: list[bytes | memoryview] = [
        _pack(message.header),
        _pack(message.parent_header),
        _pack(message.metadata),
        _pack(message.content or {}),
        *message.buffers,
    ]
    channel = message.channel.encode()
    position = 8 * (len(parts) + 3)
    offsets = [position, position := position + len(channel)]
    for part in parts:
        offsets.append(position := position + len(part))
    table = struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets)
    return [table, channel, *parts]


def decode(payload: bytes | bytearray) -> Message:
    """Return the message in a payload.

    Args:
        payload: payload of one complete WebSocket message. The buffers of the message are views of
            it, so it must not change.

    Raises:
        ProtocolError: the layout violates the protocol.
    """
    channel, parts = _split_parts(payload)
    if len(parts) < 4:
        raise ProtocolError(
            f"received a message of {len(parts)} parts; the protocol needs at least 4"
        )
    return Message(
        channel,
        _unpack(parts[0], "header"),
        _unpack(parts[1], "parent_header"),
        _unpack(parts[2], "metadata"),
        _unpack(parts[3], "content"),
        tuple(parts[4:]),
    )


def peek_v1(start: bytes) -> Message:
    """Parse the start of an over-long v1 payload: everything except the content.

    The message has no type if the headers are not within ``start``.
    """
    unknown = Message("iopub", {}, {}, {}, None)
    try:
        count = struct.unpack_from("<Q", start)[0]
        if not 6 <= count <= _MAX_PARTS:
            return unknown
        offsets = struct.unpack_from(f"<{count}Q", start, 8)
        channel = start[offsets[0] : offsets[1]].decode()
        if max(offsets[:4]) > len(start):
            return unknown
        header = _unpack(start[offsets[1] : offsets[2]], "header")
        parent = _unpack(start[offsets[2] : offsets[3]], "parent_header")
    except (struct.error, UnicodeDecodeError, ProtocolError):
        return unknown
    return Message(channel, header, parent, {}, None)


def _split_parts(payload: bytes | bytearray) -> tuple[str, list[memoryview]]:
    """Return channel and parts."""
    try:
        count = struct.unpack_from("<Q", payload)[0]
        if not 2 <= count <= _MAX_PARTS:
            raise ProtocolError(f"received a message with a table of {count} offsets")
        offsets = struct.unpack_from(f"<{count}Q", payload, 8)
    except struct.error:
        raise ProtocolError(
            f"a message of {len(payload)} bytes is shorter than its table"
        ) from None
    edges = [8 * (count + 1), *offsets, len(payload)]
    if any(a > b for a, b in itertools.pairwise(edges)):
        raise ProtocolError("the offsets of a message do not increase, or point outside of it")
    view = memoryview(payload)
    pieces = [view[a:b] for a, b in itertools.pairwise(offsets)]
    try:
        channel = bytes(pieces[0]).decode()
    except UnicodeDecodeError:
        raise ProtocolError("the channel name of a message is not UTF-8") from None
    return channel, pieces[1:]


def _pack(value: dict[str, Any]) -> bytes:
    return _ENCODER.encode(value).encode("utf-8", "surrogatepass") if value else b"{}"


def _unpack(part: bytes | memoryview, what: str) -> dict[str, Any]:
    data = bytes(part)
    if data == b"{}":
        return {}
    if what.endswith("header") and len(data) > _HEADER_LIMIT:
        raise ProtocolError(f"a message's {what} has {len(data)} bytes (limit {_HEADER_LIMIT})")
    if len(data) > _MAX_ELEMENTS and _elements(data) > _MAX_ELEMENTS:
        raise ProtocolError(f"a message's {what} has more than {_MAX_ELEMENTS} elements")
    try:
        text = data.decode("utf-8", "replace")
        value = json.loads(text)
        if _SURROGATE_ESCAPE.search(text) is not None:
            # Characters that UTF-8 cannot encode; a pair of escapes is one that it can.
            value = json.loads(encodable(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a message's {what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ProtocolError(f"a message's {what} is not a JSON object")
    return value


def _elements(data: bytes) -> int:
    """Estimate the number of objects in a JSON text, ignoring the contents of strings."""
    elements = sum(map(data.count, (b",", b"[", b"{")))
    if elements <= _MAX_ELEMENTS:
        return elements
    # Only quotes that begin and end strings remain; too many strings are an error in themselves.
    data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = data.count(b'"') // 2
    if strings > _MAX_ELEMENTS:
        return strings
    bare = _STRING.sub(b"", data)
    return sum(map(bare.count, (b",", b"[", b"{")))
