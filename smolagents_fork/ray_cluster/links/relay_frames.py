"""Calls of the relayed transport and their answers as bytes, which Ray passes on as they are.

Ray pickles a tuple, and encodes each argument of a call by itself.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from ...errors import ProtocolError

__all__ = ["NAME_BYTES", "RelayAnswer", "RelayCall"]

#: Length of a stream's name.
NAME_BYTES = 8
_CALL = struct.Struct(f"!{NAME_BYTES}sQ?")
_ANSWER = struct.Struct("!Q?Q")


@dataclass(frozen=True)
class RelayCall:
    """Request of the helper process to the node's end of a stream.

    Attributes:
        stream: its name.
        number: of the chunk, from 0.
        waits: whether the answer waits for the sandbox's next chunk.
        chunk: for the sandbox; empty for none.
    """

    stream: bytes
    number: int
    waits: bool
    chunk: bytes = b""

    def packed(self) -> bytes:
        """Return it as bytes."""
        return _CALL.pack(self.stream, self.number, self.waits) + self.chunk

    @classmethod
    def unpacked(cls, data: object) -> RelayCall:
        """Return the call that :meth:`packed` wrote.

        Raises:
            ProtocolError: not such bytes.
        """
        return cls(*_fields(_CALL, data, "a call of the relayed transport"))


@dataclass(frozen=True)
class RelayAnswer:
    """Answer of the node's end of a stream.

    Attributes:
        written: chunks that the sandbox has taken.
        brings: whether there is a chunk of the sandbox.
        number: of that chunk, from 0.
        chunk: of the sandbox; empty at the end of the stream.
    """

    written: int
    brings: bool = False
    number: int = 0
    chunk: bytes = b""

    def packed(self) -> bytes:
        """Return it as bytes."""
        return _ANSWER.pack(self.written, self.brings, self.number) + self.chunk

    @classmethod
    def unpacked(cls, data: object) -> RelayAnswer:
        """Return the answer that :meth:`packed` wrote.

        Raises:
            ProtocolError: not such bytes.
        """
        return cls(*_fields(_ANSWER, data, "an answer of the relayed transport"))


def _fields(layout: struct.Struct, data: object, what: str) -> tuple[Any, ...]:
    if type(data) is not bytes or len(data) < layout.size:
        raise ProtocolError(f"{data!r:.100} is not {what}")
    return *layout.unpack_from(data), data[layout.size :]
