"""Frames between the host and a guest: one byte of kind, the run's number, a length, a body.

Both sides use this module. The host does not trust its input. An unknown kind, or a length over the
limit of its kind, raises :class:`ProtocolError` before any byte of the body is read.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass

from ..errors import ProtocolError

__all__ = [
    "HEADER",
    "MOST_OUTPUT",
    "Frame",
    "FrameReader",
    "Kind",
    "from_guest",
    "from_host",
    "of_relay",
    "packed",
    "to_relay",
]

HEADER = struct.Struct("!BII")
#: Longest body of an OUTPUT frame, in bytes.
MOST_OUTPUT = 64 * 1024
_MAX_SMALL = 1 << 20
# A piece of a file, or a list of files.
_LONGEST_CONTENT = 64 << 20


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
    STARTED = 12  # of a relay on another machine; body: the guest's process number, encoded
    ENDED = 13  # of a relay; body: cause and message of the guest's end, encoded
    SETUP = 16  # body: imports and limits, encoded
    RUN = 17  # body: code, UTF-8
    REPLY = 18  # body: the bridge's answer
    TOOLS = 19  # body: stubs, encoded
    VARIABLES = 20  # body: name and value of each, encoded
    SOURCES = 21  # body: an archive of the guest's modules
    PACKAGE = 22  # body: a wheel
    FILE = 23  # body: a request of the host for a file of the guest
    READ_STATE = 24  # the guest answers with STATE
    INTERRUPT = 25  # for a relay: stop the program of the run
    KILL = 26  # for a relay: kill the guest


@dataclass(frozen=True)
class Frame:
    """One complete frame."""

    kind: Kind
    run: int
    body: bytes


def packed(kind: Kind, run: int, body: bytes = b"") -> bytes:
    """Encode a frame.

    Raises:
        ProtocolError: the body is over 4 GiB.
    """
    if len(body) >= 1 << 32:
        raise ProtocolError(f"a frame of {len(body)} bytes; the limit is {(1 << 32) - 1}")
    return HEADER.pack(kind, run & 0xFFFFFFFF, len(body)) + body


class FrameReader:
    """Parser of a byte stream into frames, without sockets.

    Args:
        kinds: the permitted kinds and the longest body of each; 0 for a kind without a body.
    """

    def __init__(self, kinds: dict[Kind, int]) -> None:
        self._kinds = kinds
        self._data = bytearray()
        self._kind: Kind | None = None
        self._run = 0
        self._length = 0

    @property
    def wanted(self) -> int:
        """Number of bytes that complete the header or body being read."""
        whole = HEADER.size if self._kind is None else self._length
        return max(0, whole - len(self._data))

    @property
    def partial(self) -> bool:
        """True while a frame is incomplete."""
        return self._kind is not None or bool(self._data)

    def feed(self, data: bytes) -> Frame | None:
        """Read at most :attr:`wanted` bytes; return the frame if they complete one.

        Raises:
            ProtocolError: an unknown or unexpected kind, or a body over its limit.
        """
        self._data += data
        if self._kind is None:
            if len(self._data) < HEADER.size:
                return None
            number, self._run, self._length = HEADER.unpack(self._data)
            self._data = bytearray()
            longest = self._kinds.get(number)
            if longest is None:
                raise ProtocolError(f"an unexpected frame of kind {number}")
            if self._length > longest:
                kind = Kind(number).name
                raise ProtocolError(f"a {kind} frame of {self._length} bytes, over {longest}")
            self._kind = Kind(number)
        if len(self._data) < self._length:
            return None
        frame = Frame(self._kind, self._run, bytes(self._data))
        self._data = bytearray()
        self._kind = None
        return frame


def from_guest(max_value_bytes: int, max_request_bytes: int) -> dict[Kind, int]:
    """Return the kinds of frames from a guest, with the longest body of each kind."""
    return {
        Kind.READY: _MAX_SMALL,
        Kind.OUTPUT: MOST_OUTPUT,
        Kind.CALL: max_request_bytes,
        Kind.DISPLAY: max_value_bytes,
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
    return {Kind.STARTED: _MAX_SMALL, Kind.ENDED: _MAX_SMALL}


def to_relay() -> dict[Kind, int]:
    """Return the kinds of frames that a relay accepts from the host."""
    return {**from_host(), Kind.INTERRUPT: 0, Kind.KILL: 0}
