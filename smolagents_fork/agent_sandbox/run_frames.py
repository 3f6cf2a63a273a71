"""Frames between the host and the supervisor in the sandbox.

A frame is one byte of kind, a call's number, the body's length, and the body. The host opens one
connection a run::

    host                         supervisor
    TOKEN  the sandbox's token
    RUN    the job, encoded
                                 OUTPUT          what the program prints, on both streams
                                 CALL n          a request for the host's model, encoded
    REPLY n   the answer, encoded
                                 CANCEL n        nobody waits for more of the answer
                                 RESULT          the value of the job, encoded
                                 ENDED           how the program ended, encoded

Closing the connection ends the program. Both sides use this module. The host trusts nothing that
arrives: an unknown kind, or a longer body than its kind may have, is a ``ProtocolError`` before a
byte of the body is taken.
"""

from __future__ import annotations

import enum
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from smolagents_fork.errors import ProtocolError

__all__ = [
    "ADDRESS_VARIABLE",
    "HEADER",
    "OUTPUT_BYTES",
    "Frame",
    "FrameBuffer",
    "FrameTooLongError",
    "Kind",
    "from_host",
    "from_supervisor",
    "pack",
    "pack_head",
    "read_block",
    "write_block",
]

HEADER = struct.Struct("!BII")
#: Longest piece of output in one frame, in bytes.
OUTPUT_BYTES = 64 * 1024
#: Names the socket in the sandbox on which the supervisor takes calls of the host's model.
ADDRESS_VARIABLE = "SMOLAGENTS_FORK_HOST_MODEL"
_LENGTH = struct.Struct("!I")
_SMALL_BYTES = 64 * 1024
_LARGEST_BODY = (1 << 32) - 1


class Kind(enum.IntEnum):
    """Kinds of frames; those of the supervisor come first."""

    OUTPUT = 1
    CALL = 2
    CANCEL = 3
    RESULT = 4
    ENDED = 5
    TOKEN = 16
    RUN = 17
    REPLY = 18


@dataclass(frozen=True)
class Frame:
    """One whole frame."""

    kind: Kind
    number: int
    body: bytes


def pack(kind: Kind, number: int = 0, body: bytes = b"") -> bytes:
    """Return the bytes of a frame.

    Args:
        kind: of the frame.
        number: of the call it belongs to; 0 for none.
        body: its content.

    Raises:
        ProtocolError: the body has 4 GiB or more.
    """
    return pack_head(kind, number, len(body)) + body


def pack_head(kind: Kind, number: int, length: int) -> bytes:
    """Return the bytes that come before a frame's body; see :func:`pack`."""
    if length > _LARGEST_BODY:
        raise ProtocolError(f"a frame of {length} bytes; at most {_LARGEST_BODY} fit")
    return HEADER.pack(kind, number, length)


def from_supervisor(max_value_bytes: int, max_model_bytes: int | None = None) -> dict[Kind, int]:
    """Return the kinds that a supervisor may send, with the longest body of each in bytes.

    Args:
        max_value_bytes: of a result.
        max_model_bytes: of a request to the model; ``None``: the same.
    """
    return {
        Kind.OUTPUT: OUTPUT_BYTES,
        Kind.CALL: max_value_bytes if max_model_bytes is None else max_model_bytes,
        Kind.CANCEL: 0,
        Kind.RESULT: max_value_bytes,
        Kind.ENDED: _SMALL_BYTES,
    }


def from_host() -> dict[Kind, int]:
    """Return the kinds that the host, which the supervisor trusts, may send."""
    return {Kind.TOKEN: _SMALL_BYTES, Kind.RUN: _LARGEST_BODY, Kind.REPLY: _LARGEST_BODY}


class FrameTooLongError(ProtocolError):
    """A frame has a longer body than its kind may have.

    Args:
        kind: of the frame.
        length: of its body, in bytes.
        longest: that its kind may have.
    """

    def __init__(self, kind: Kind, length: int, longest: int) -> None:
        super().__init__(f"a {kind.name} frame of {length} bytes; at most {longest} may come")
        self.kind, self.length = kind, length


class FrameBuffer:
    """Cuts a stream of bytes into frames; knows nothing of sockets.

    Args:
        longest: the kinds that may arrive, and the longest body of each in bytes.
    """

    def __init__(self, longest: Mapping[Kind, int]) -> None:
        self._longest = longest
        self._data = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Take in bytes and return the frames they complete.

        Raises:
            ProtocolError: an unexpected kind, or a body that is longer than its kind may have.
        """
        self._data += data
        frames = []
        while len(self._data) >= HEADER.size:
            number, call, length = HEADER.unpack_from(self._data)
            longest = self._longest.get(number)
            if longest is None:
                raise ProtocolError(f"a frame of kind {number}, which is not expected here")
            if length > longest:
                raise FrameTooLongError(Kind(number), length, longest)
            end = HEADER.size + length
            if len(self._data) < end:
                break
            frames.append(Frame(Kind(number), call, bytes(self._data[HEADER.size : end])))
            del self._data[:end]
        return frames


def write_block(connection: socket.socket, data: bytes) -> None:
    """Send one block, which is a length and that many bytes, over the socket in the sandbox."""
    connection.sendall(_LENGTH.pack(len(data)) + data)


def read_block(connection: socket.socket) -> bytes | None:
    """Return the next block; ``None`` at the end of the stream."""
    head = _read(connection, _LENGTH.size)
    return None if head is None else _read(connection, _LENGTH.unpack(head)[0])


def _read(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(min(1 << 20, size - len(data)))
        if not piece:
            return None
        data += piece
    return bytes(data)
