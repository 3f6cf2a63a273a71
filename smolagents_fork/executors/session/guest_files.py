"""Files of a guest that are reached through its worker, piece by piece."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Callable, Iterable
from typing import Any

from ...errors import DecodeError, ExecutorError, FileTooLargeError, ForkError, ProtocolError
from ...guest.worker_files import request, split_body
from ...results import FileInfo

__all__ = ["GuestFiles"]

_PIECE = 1 << 20


class GuestFiles:
    """Files of a guest, as an executor's file store.

    Args:
        ask: sends the body of a FILE frame and returns that of its answer.
        memory: bytes that the guest may use, in which its files are; ``None`` for no limit.
        place: name of the guest in messages.
        root: Folder in which relative paths begin, for messages.
    """

    def __init__(
        self,
        ask: Callable[[bytes], bytes],
        memory: int | None,
        *,
        place: str = "the guest",
        root: str = "",
    ) -> None:
        self._ask = ask
        self._place, self._root = place, root
        self._memory = memory

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{posixpath.normpath(posixpath.join(self._root, path))} in {self._place}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :class:`FileStore`."""
        if self._memory is not None and size > self._memory:
            raise ExecutorError(f"the guest's files are in its memory={self._memory}; raise that")
        part, position = "", 0
        source = iter(pieces)
        while True:
            try:
                large = next(source, None)
            except Exception:
                # Not where the guest fails: it discards the part, or does not answer.
                if part:
                    with contextlib.suppress(ForkError):
                        self._ask(request("discard", part=part))
                raise
            if large is None:
                return
            # An empty file has one empty piece.
            for start in range(0, len(large) or 1, _PIECE):
                piece = large[start : start + _PIECE]
                request_body = request(
                    "write", piece, path=path, part=part, position=position, size=size
                )
                part, _ = _parse_answer(self._ask(request_body), str)
                position += len(piece)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`FileStore`."""
        _parse_answer(self._ask(request("folder", path=path)), str)

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`FileStore`."""
        content, identity = bytearray(), ""
        while len(content) <= max_bytes:
            size = min(_PIECE, max_bytes + 1 - len(content))
            request_body = request(
                "read", path=path, position=len(content), size=size, identity=identity
            )
            identity, piece = _parse_answer(self._ask(request_body), str)
            if len(piece) > size:
                raise ProtocolError(f"a CONTENT frame of {len(piece)} bytes, over {size}")
            content += piece
            if len(piece) < size:
                return bytes(content)
        raise FileTooLargeError(f"it has more than {max_bytes} bytes")

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; see :class:`FileStore`."""
        entries, _ = _parse_answer(self._ask(request("list", path=path)), list)
        infos = []
        for entry in entries:
            if type(entry) is not tuple or [type(field) for field in entry] != [str, int]:
                raise ProtocolError("a list of files has paths and sizes")
            infos.append(FileInfo(*entry))
        return infos


def _parse_answer(body: bytes, value_type: type) -> tuple[Any, bytes | bytearray]:
    """Return the value and the piece of an answer."""
    try:
        value, piece = split_body(body)
    except DecodeError as error:
        raise ProtocolError(f"a CONTENT frame that cannot be read: {error}") from None
    if type(value) is not value_type:
        raise ProtocolError(f"a CONTENT frame with {type(value).__name__}")
    return value, piece
