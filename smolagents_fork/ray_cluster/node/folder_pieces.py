"""Files of a sandbox's folder on a node, read and written piece by piece."""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from typing import IO, Any, ClassVar

from ...errors import ExecutorError, FileTooLargeError
from ...folders.work_folder import WorkFolder
from ..links.container_data import as_data

__all__ = ["FolderPieces"]

_PIECE = 1 << 20
_MOST_PARTS = 64


class FolderPieces:
    """The files of one folder, in which untrusted code works.

    Args:
        folder: its path.
    """

    METHODS: ClassVar[frozenset[str]] = frozenset({"list_files", "make_folder", "read", "write"})

    def __init__(self, folder: str) -> None:
        self._folder = WorkFolder(folder)
        self._parts: dict[str, IO[bytes]] = {}

    def list_files(self, path: str) -> Any:
        """Return path and size of the regular files below ``path``, as data."""
        return as_data(self._folder.list_files(path))

    def make_folder(self, path: str) -> None:
        """Make a folder, and those above it."""
        self._folder.make_folder(path)

    def read(self, path: str, position: int, max_bytes: int) -> bytes:
        """Return a piece of a file; one that is not full is the last.

        Args:
            path: of the file.
            position: where it begins.
            max_bytes: of the whole file.

        Raises:
            FileTooLargeError: the file has more bytes.
            ExecutorError: it could not be read.
        """
        try:
            number = self._folder.descriptor(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            raise ExecutorError(os.strerror(error.errno or 0)) from error
        with open(number, "rb", buffering=0):
            kind = os.fstat(number)
            if not stat.S_ISREG(kind.st_mode):
                raise ExecutorError("it is not a regular file")
            piece = os.pread(number, _PIECE, position)
            if max(kind.st_size, position + len(piece)) > max_bytes:
                raise FileTooLargeError(f"it has more than {max_bytes} bytes")
            return piece

    def write(self, path: str, data: bytes, part: str, position: int, size: int) -> str:
        """Write a piece of a file; the file is there when its last piece is.

        Args:
            path: of the file.
            data: the piece.
            part: what the first piece returned; empty for the first.
            position: where the piece begins.
            size: of the whole file.
        """
        part = part or self._begin()
        file = self._parts.get(part)
        if file is None:
            raise ExecutorError("its pieces are not in order")
        try:
            file.seek(position)
            file.write(data)
            if position + len(data) < size:
                return part
            file.seek(0)
            self._folder.write_file(path, iter(lambda: file.read(_PIECE), b""), size)
        except BaseException as error:
            self._drop(part)
            if isinstance(error, OSError):
                raise ExecutorError(os.strerror(error.errno or 0)) from error
            raise
        self._drop(part)
        return part

    def _begin(self) -> str:
        if len(self._parts) >= _MOST_PARTS:
            raise ExecutorError(f"{_MOST_PARTS} files are being written already")
        part = secrets.token_hex(8)
        self._parts[part] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by _drop
        return part

    def _drop(self, part: str) -> None:
        file = self._parts.pop(part, None)
        if file is not None:
            file.close()

    def close(self) -> None:
        """Forget files that are not complete. Idempotent."""
        for part in list(self._parts):
            self._drop(part)
