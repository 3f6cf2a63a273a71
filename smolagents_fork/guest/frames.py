"""Frames between the host and a guest: one byte of kind, the run's number, a length, a body.

Both sides use this module. The host does not trust its input. An unknown kind, or a length over the
limit of its kind, raises :class:`ProtocolError` before its body is waited for.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ..errors import ProtocolError

__all__ = [
    "HEADER",
    "MOST_OUTPUT",
    "READ_BYTES",
    "Body",
    "Frame",
    "FrameReader",
    "Kind",
    "Part",
    "body_size",
    "frame_parts",
    "from_guest",
    "from_host",
    "of_multiplexer",
    "of_relay",
    "pack_frame",
    "to_relay",
]

HEADER = struct.Struct("!BII")
#: Longest body of an OUTPUT frame, in bytes.
MOST_OUTPUT = 64 * 1024
_MAX_SMALL = 1 << 20
# A piece of a connection that a multiplexer carries.
_MOST_CARRIED = 64 * 1024
# A piece of a file, or a list of files.
_LONGEST_CONTENT = 64 << 20
#: Bytes that are read at once.
READ_BYTES = 64 * 1024
# Length of a body from which it is not copied.
_LONG = 64 * 1024


#: A part of a body that is sent.
Part: TypeAlias = bytes | bytearray | memoryview
#: A body that is sent: bytes, or the parts of it, which are not joined before.
Body: TypeAlias = bytes | bytearray | Sequence[Part]


class Kind(enum.IntEnum):
    """Kinds of frames; those of the guest come first."""

    READY = 1  # body: the confinement report, encoded
    OUTPUT = 2  # body: printed text, UTF-8
    CALL = 3  # body: a request for the bridge
    DONE = 4  # body: the run's value, encoded
    FINAL = 5  # the run ended with the final answer, which the bridge has
    FAILED = 6  # body: kind and message of the error, encoded
    ACCEPTED = 7  # sources or a package are loaded, tools or variables are set
    SNAPSHOT = 8  # body: the memory of a Wasm machine
    DISPLAY = 9  # body: the MIME bundle of a figure or displayed value, encoded
    CONTENT = 10  # body: the answer to FILE
    STATE = 11  # body: the program's variables, encoded
    TEXT = 12  # body: str() of the run's value, UTF-8; before DONE
    ENDED = 13  # of a relay on another machine; body: cause and message of the guest's end, encoded
    SETUP = 16  # body: imports and limits, encoded
    RUN = 17  # body: code, UTF-8
    REPLY = 18  # body: the bridge's answer
    TOOLS = 19  # body: stubs, encoded
    VARIABLES = 20  # body: joined messages, each of values by name or of names to remove
    SOURCES = 21  # body: an archive of the guest's modules
    PACKAGE = 22  # body: a wheel
    FILE = 23  # body: a request of the host for a file of the guest
    READ_STATE = 24  # the guest answers with STATE
    INTERRUPT = 25  # for a relay: stop the program of the run
    KILL = 26  # for a relay: kill the guest
    # Between the host and a multiplexer of connections; the run is the number of the connection.
    CONNECTION = 27  # a client has connected
    BYTES = 28  # body: bytes of the client, or for it
    NO_MORE = 29  # the sender has sent its last bytes
    CLOSED = 30  # the connection was lost
    PASSED_ON = 31  # body: number of bytes of the other side that were passed on


class Frame(NamedTuple):
    """One complete frame.

    Attributes:
        kind: its kind.
        run: the run's number.
        body: its content; a ``bytearray`` if it is long, which is not copied.
    """

    kind: Kind
    run: int
    body: bytes | bytearray


def pack_frame(kind: Kind, run: int, body: Body = b"") -> bytes:
    """Encode a frame.

    Raises:
        ProtocolError: the body is over 4 GiB.
    """
    return b"".join(frame_parts(kind, run, body))


def frame_parts(kind: Kind, run: int, body: Body) -> Sequence[Part]:
    """Encode a frame as the pieces to send; long ones are not copied.

    Raises:
        ProtocolError: the body is over 4 GiB.
    """
    size = body_size(body)
    if size >= 1 << 32:
        raise ProtocolError(f"a frame of {size} bytes; the limit is {(1 << 32) - 1}")
    header = HEADER.pack(kind, run & 0xFFFFFFFF, size)
    parts = (header, body) if isinstance(body, (bytes, bytearray)) else (header, *body)
    return parts if size >= _LONG else (b"".join(parts),)


def body_size(body: Body) -> int:
    """Return the length of a body in bytes."""
    return len(body) if isinstance(body, (bytes, bytearray)) else sum(map(len, body))


class FrameReader:
    """Parser of a byte stream into frames, without sockets.

    A caller gives what has arrived to :meth:`feed`, and calls :meth:`next` before it waits.

    Args:
        kinds: the permitted kinds and the longest body of each; 0 for a kind without a body.
    """

    def __init__(self, kinds: dict[Kind, int]) -> None:
        self._kinds = {int(kind): (kind, longest) for kind, longest in kinds.items()}
        self._buffer = bytearray()

    @property
    def partial(self) -> bool:
        """True while bytes are left that are in no frame yet."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> None:
        """Take bytes that have arrived."""
        self._buffer += data

    def next(self) -> Frame | None:
        """Return the next frame that is complete.

        Raises:
            ProtocolError: an unknown or unexpected kind, or a body over its limit.
        """
        buffer = self._buffer
        if len(buffer) < HEADER.size:
            return None
        number, run, length = HEADER.unpack_from(buffer)
        kind, longest = self._kinds.get(number, (None, 0))
        if kind is None:
            raise ProtocolError(f"an unexpected frame of kind {number}")
        if length > longest:
            raise ProtocolError(f"a {kind.name} frame of {length} bytes, over {longest}")
        end = HEADER.size + length
        if len(buffer) < end:
            return None
        if length < _LONG:
            body = bytes(buffer[HEADER.size : end])
            del buffer[:end]
            return Frame(kind, run, body)
        # Neither deletion copies the body.
        self._buffer = buffer[end:]
        del buffer[end:], buffer[: HEADER.size]
        return Frame(kind, run, buffer)


def from_guest(max_value_bytes: int, max_request_bytes: int) -> dict[Kind, int]:
    """Return the kinds of frames from a guest, with the longest body of each kind."""
    return {
        Kind.READY: _MAX_SMALL,
        Kind.OUTPUT: MOST_OUTPUT,
        Kind.CALL: max_request_bytes,
        Kind.DISPLAY: max_value_bytes,
        Kind.TEXT: _MAX_SMALL,
        Kind.DONE: max_value_bytes,
        Kind.FINAL: 0,
        Kind.FAILED: _MAX_SMALL,
        Kind.ACCEPTED: 0,
        Kind.CONTENT: _LONGEST_CONTENT,
        # The reasons of values that were left out come on top of the limit.
        Kind.STATE: max_value_bytes + (8 << 20),
    }


def from_host() -> dict[Kind, int]:
    """Return the kinds of frames from the host, which a guest trusts."""
    longest = (1 << 32) - 1
    kinds = ("SETUP", "RUN", "REPLY", "TOOLS", "VARIABLES", "PACKAGE", "FILE")
    return {**{Kind[name]: longest for name in kinds}, Kind.READ_STATE: 0}


def of_relay() -> dict[Kind, int]:
    """Return the kinds of frames from the relay of a guest on another machine."""
    return {Kind.ENDED: _MAX_SMALL}


def of_multiplexer() -> dict[Kind, int]:
    """Return the kinds of frames from a multiplexer, with the longest body of each kind."""
    return {
        Kind.CONNECTION: 0,
        Kind.BYTES: _MOST_CARRIED,
        Kind.NO_MORE: 0,
        Kind.CLOSED: 0,
        Kind.PASSED_ON: 4,
    }


def to_relay() -> dict[Kind, int]:
    """Return the kinds of frames that a relay accepts from the host."""
    return {**from_host(), Kind.INTERRUPT: 0, Kind.KILL: 0}
