"""Frames between the host and a guest: one byte of kind, the run's number, a length, a body.

Both sides use this module. The host does not trust its input. An unknown kind, or a length over the
limit of its kind, raises :class:`ProtocolError` before any byte of the body is read.
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
    "packed",
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
# Bytes of a body that are allocated for its header; then this many times those that have arrived.
_FIRST, _GROWTH = 1 << 20, 16
# Bytes that are read at once where a frame begins: most frames are shorter.
_AT_ONCE = 4096
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
    ENDED = 13  # of a relay on another machine; body: cause and message of the guest's end, encoded
    SETUP = 16  # body: imports and limits, encoded
    RUN = 17  # body: code, UTF-8
    REPLY = 18  # body: the bridge's answer
    TOOLS = 19  # body: stubs, encoded
    VARIABLES = 20  # body: joined messages, each of name and value
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


def packed(kind: Kind, run: int, body: Body = b"") -> bytes:
    """Encode a frame.

    Raises:
        ProtocolError: the body is over 4 GiB.
    """
    parts = [body] if isinstance(body, (bytes, bytearray)) else body
    return b"".join([_header(kind, run, body_size(body)), *parts])


def frame_parts(kind: Kind, run: int, body: Body) -> Sequence[Part]:
    """Encode a frame as the pieces to send; long ones are not copied.

    Raises:
        ProtocolError: the body is over 4 GiB.
    """
    size = body_size(body)
    header = _header(kind, run, size)
    if not isinstance(body, (bytes, bytearray)):
        return (packed(kind, run, body),) if size < _LONG else (header, *body)
    return (header + body,) if size < _LONG else (header, body)


def body_size(body: Body) -> int:
    """Return the length of a body in bytes."""
    return len(body) if isinstance(body, (bytes, bytearray)) else sum(map(len, body))


def _header(kind: Kind, run: int, size: int) -> bytes:
    if size >= 1 << 32:
        raise ProtocolError(f"a frame of {size} bytes; the limit is {(1 << 32) - 1}")
    return HEADER.pack(kind, run & 0xFFFFFFFF, size)


class FrameReader:
    """Parser of a byte stream into frames, without sockets.

    A caller either gives bytes to :meth:`feed`, or writes them to :attr:`space`, which may take the
    beginning of later frames too: it calls :meth:`filled`, and :meth:`next` before it reads again.

    Args:
        kinds: the permitted kinds and the longest body of each; 0 for a kind without a body.
    """

    def __init__(self, kinds: dict[Kind, int]) -> None:
        self._kinds = {int(kind): (kind, longest) for kind, longest in kinds.items()}
        # Where a frame begins: bytes that belong to no frame yet are from _begin to _end.
        self._start = bytearray(_AT_ONCE)
        self._begin = self._end = 0
        # Of a frame whose body is not complete.
        self._kind: Kind | None = None
        self._run = 0
        self._length = 0
        self._data = self._start
        self._read = 0

    @property
    def wanted(self) -> int:
        """Number of bytes that complete the header or body being read."""
        if self._kind is not None:
            return self._length - self._read
        return HEADER.size - (self._end - self._begin)

    @property
    def partial(self) -> bool:
        """True while a frame is incomplete."""
        return self._kind is not None or self._begin != self._end

    @property
    def space(self) -> memoryview:
        """Memory for the next bytes; release it before :meth:`filled`."""
        return memoryview(self._data)[self._end if self._kind is None else self._read :]

    def feed(self, data: bytes) -> Frame | None:
        """Read at most :attr:`wanted` bytes; return the frame if they complete one.

        Raises:
            ProtocolError: an unknown or unexpected kind, or a body over its limit.
        """
        frame = None
        while True:
            with self.space as space:
                size = min(len(space), len(data))
                space[:size] = data[:size]
            data = data[size:]
            frame = self.filled(size)
            if frame is not None or not data:
                return frame

    def filled(self, size: int) -> Frame | None:
        """Take ``size`` bytes that were written to :attr:`space`; as :meth:`feed`."""
        if self._kind is None:
            self._end += size
            return self.next()
        self._read += size
        if self._read < self._length:
            if self._read == len(self._data):
                larger = bytearray(min(self._length, _GROWTH * self._read))
                larger[: self._read] = self._data
                self._data = larger
            return None
        body = self._data if self._length >= _LONG else bytes(self._data)
        frame = Frame(self._kind, self._run, body)
        self._data = self._start
        self._kind = None
        return frame

    def next(self) -> Frame | None:
        """Return a frame that was read whole together with an earlier one; as :meth:`feed`."""
        begin = self._begin
        if self._kind is not None or begin == self._end:
            return None
        if self._end - begin < HEADER.size:
            self._keep(begin)
            return None
        number, run, length = HEADER.unpack_from(self._start, begin)
        kind, longest = self._kinds.get(number, (None, 0))
        if kind is None:
            raise ProtocolError(f"an unexpected frame of kind {number}")
        if length > longest:
            raise ProtocolError(f"a {kind.name} frame of {length} bytes, over {longest}")
        begin += HEADER.size
        if begin + length <= self._end:
            body = bytes(memoryview(self._start)[begin : begin + length])
            self._begin = begin + length
            if self._begin == self._end:
                self._begin = self._end = 0
            return Frame(kind, run, body)
        self._kind, self._run, self._length = kind, run, length
        # The rest is allocated when this much has arrived, not because a header says so.
        self._data = bytearray(min(length, _FIRST))
        self._read = self._end - begin
        self._data[: self._read] = self._start[begin : self._end]
        self._begin = self._end = 0
        return None

    def _keep(self, begin: int) -> None:
        """Move the beginning of a header to the front."""
        rest = self._start[begin : self._end]
        self._start[: len(rest)] = rest
        self._begin, self._end = 0, len(rest)


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
