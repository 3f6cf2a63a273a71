"""Frames between the host and a child: one byte of kind, the run's number, a length, a body.

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
    "LOG_HEADER",
    "LOG_SIZE",
    "LOG_TEXT",
    "STOPPED_RUN",
    "Frame",
    "FrameReader",
    "Kind",
    "from_child",
    "from_host",
    "packed",
]

HEADER = struct.Struct("!BII")
#: The output log: memory shared with the host, which survives the child. The child writes how often
#: the log was sent, the length of its text, and the text. The host reads text not sent yet.
LOG_SIZE = 64 * 1024
LOG_HEADER = struct.Struct("=II")
#: After the log's header: number of the last run that the host asked to stop, written by the host.
STOPPED_RUN = struct.Struct("=I")
#: Offset of the log's text.
LOG_TEXT = LOG_HEADER.size + STOPPED_RUN.size
_MAX_SMALL = 1 << 20


class Kind(enum.IntEnum):
    """Kinds of frames; those of the child come first."""

    READY = 1  # body: the confinement report, encoded
    OUTPUT = 2  # body: printed text, UTF-8
    CALL = 3  # body: a request for the bridge
    DONE = 4  # body: the run's value, encoded
    FINAL = 5  # the run ended with the final answer, which the bridge has
    FAILED = 6  # body: kind and message of the error, encoded
    ACCEPTED = 7  # tools or variables are set
    SETUP = 16  # body: imports and limits, encoded
    RUN = 17  # body: code, UTF-8
    REPLY = 18  # body: the bridge's answer
    TOOLS = 19  # body: stubs, encoded
    VARIABLES = 20  # body: name and value of each, encoded


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
        """Whether a frame is incomplete."""
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


def from_child(max_value_bytes: int, max_request_bytes: int) -> dict[Kind, int]:
    """Return the kinds of frames from a child, with the longest body of each."""
    return {
        Kind.READY: _MAX_SMALL,
        Kind.OUTPUT: LOG_SIZE,
        Kind.CALL: max_request_bytes,
        Kind.DONE: max_value_bytes,
        Kind.FINAL: 0,
        Kind.FAILED: _MAX_SMALL,
        Kind.ACCEPTED: 0,
    }


def from_host() -> dict[Kind, int]:
    """Return the kinds of frames from the host, which a child trusts."""
    longest = (1 << 32) - 1
    return dict.fromkeys((Kind.SETUP, Kind.RUN, Kind.REPLY, Kind.TOOLS, Kind.VARIABLES), longest)
