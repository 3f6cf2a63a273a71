"""Requirements of files that a sandbox and its host both reach."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..results import FileInfo

__all__ = ["FileStore"]


class FileStore(Protocol):
    """Files as the code of one executor sees them. Paths are checked and have slashes."""

    def describe(self, path: str) -> str:
        """Return ``path`` for messages, with what it is in."""

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; it replaces an older one only when it is complete.

        Args:
            path: of the file; missing folders are made.
            pieces: its content, at least one piece, each of 1 MiB at most.
            size: of all pieces together, in bytes.

        Raises:
            ExecutorError: it could not be written; says why.
        """

    def make_folder(self, path: str) -> None:
        """Make a folder, and those above it; no-op where it is there.

        Raises:
            ExecutorError: it could not be made; says why.
        """

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file.

        Raises:
            FileTooLargeError: it has more than ``max_bytes``.
            ExecutorError: it could not be read; says why.
        """

    def list_files(self, path: str) -> list[FileInfo]:
        """Return the regular files below ``path``, without links and names with a dot first.

        Raises:
            ExecutorError: there is nothing at ``path``, or there are too many files.
        """
