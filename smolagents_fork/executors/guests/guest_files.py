"""Files of a guest that are reached through its worker, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...codec import decode
from ...errors import DecodeError, ExecutorError, FileTooLargeError, ProtocolError
from ...guest.worker_files import request
from ...results import FileInfo

__all__ = ["GuestFiles"]

_PIECE = 1 << 20


class GuestFiles:
    """Files of a guest, as an executor's file store.

    Args:
        ask: sends the body of a FILE frame and returns that of its answer.
        memory: bytes that the guest may use, in which its files are; ``None`` for no limit.
        place: noun for the guest in messages.
    """

    def __init__(
        self,
        ask: Callable[[bytes], bytes],
        memory: int | None,
        *,
        place: str = "guest",
    ) -> None:
        self._ask = ask
        self._place = place
        self._memory = memory

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{path} in the {self._place}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :class:`FileStore`."""
        if self._memory is not None and size > self._memory:
            raise ExecutorError(f"the guest's files are in its memory={self._memory}; raise that")
        part, position = "", 0
        for large in pieces:
            # An empty file has one empty piece.
            for start in range(0, len(large) or 1, _PIECE):
                piece = large[start : start + _PIECE]
                asked = request("write", piece, path=path, part=part, position=position, size=size)
                part = _decoded(self._ask(asked), str)
                position += len(piece)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`FileStore`."""
        _decoded(self._ask(request("folder", path=path)), str)

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`FileStore`."""
        found = bytearray()
        while len(found) <= max_bytes:
            asked = min(_PIECE, max_bytes + 1 - len(found))
            piece = self._ask(request("read", path=path, position=len(found), size=asked))
            if len(piece) > asked:
                raise ProtocolError(f"a CONTENT frame of {len(piece)} bytes, over {asked}")
            found += piece
            if len(piece) < asked:
                return bytes(found)
        raise FileTooLargeError(f"it has more than {max_bytes} bytes")

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; see :class:`FileStore`."""
        found = _decoded(self._ask(request("list", path=path)), list)
        infos = []
        for entry in found:
            if type(entry) is not tuple or [type(one) for one in entry] != [str, int]:
                raise ProtocolError("a list of files has paths and sizes")
            infos.append(FileInfo(*entry))
        return infos


def _decoded(body: bytes, kind: type) -> Any:
    try:
        value = decode(body, path="files")
    except DecodeError as error:
        raise ProtocolError(f"a CONTENT frame that cannot be read: {error}") from None
    if type(value) is not kind:
        raise ProtocolError(f"a CONTENT frame with {type(value).__name__}")
    return value
