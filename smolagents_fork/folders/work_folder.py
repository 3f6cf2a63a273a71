"""A folder in which untrusted code works, and the host's own access to it.

The code may replace a file or folder by a link at any time, to have the host read or write another
file. So every part of a path is opened from the folder above it, and no link is followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import secrets
import stat
from collections.abc import Iterable, Iterator

from ..errors import ExecutorError, FileTooLargeError
from ..results import FileInfo

__all__ = ["MOST_LISTED", "SUPPORTED", "WorkFolder"]

#: Whether this system can open a file relative to an open folder; Windows cannot.
SUPPORTED = os.open in os.supports_dir_fd
#: Entries that are looked at for one list, and levels of folders.
MOST_LISTED = 10_000
_DEEPEST = 100
_PIECE = 1 << 20
_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _LINK
# A pipe without a writer would block.
_FILE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _LINK
_NO_PLAIN_FOLDER = (errno.ELOOP, errno.ENOTDIR)


class WorkFolder:
    """One folder, as a :class:`.file_store.FileStore`.

    Paths have slashes and are in their simplest form; relative ones begin at the folder.

    Args:
        path: Path of the folder, absolute and without links.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{path} in {self.path}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file, also in the place of a link; see :class:`.file_store.FileStore`."""
        if self._relative(path) == ".":
            raise ExecutorError("it is a folder")
        # No file has this name, and lists leave it out.
        part = f".{secrets.token_hex(8)}.part"
        with _mapped_errors(), self._parent(path, make=True) as (folder, name):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _LINK
            try:
                with open(os.open(part, flags, 0o600, dir_fd=folder), "wb") as file:
                    for piece in pieces:
                        size -= file.write(piece)
                if size:
                    raise ExecutorError(f"{size} bytes are missing from its content")
                os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(part, dir_fd=folder)
                raise

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`.file_store.FileStore`."""
        with _mapped_errors(), self._parent(f"{self._relative(path)}/.", make=True):
            pass

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`.file_store.FileStore`."""
        with _mapped_errors(), open(self.descriptor(path, _FILE), "rb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ExecutorError("it is not a regular file")
            content = bytearray()
            if status.st_size <= max_bytes:
                while piece := file.read(min(_PIECE, max_bytes + 1 - len(content))):
                    content += piece
            if max(status.st_size, len(content)) > max_bytes:
                raise FileTooLargeError(f"it has more than {max_bytes} bytes")
            return bytes(content)

    def list_files(self, path: str) -> list[FileInfo]:
        """Return files, or the one at ``path``; see :class:`.file_store.FileStore`."""
        path = self._relative(path)
        files: list[FileInfo] = []
        with _mapped_errors(), self._parent(path) as (folder, name):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            return [FileInfo(path, status.st_size)]
        waiting, seen = [path], 0
        while waiting:
            here = waiting.pop()
            inside: list[str] = []
            # Code that works in the folder may have removed what was found before.
            ignored_errors = contextlib.suppress(*(() if here == path else (OSError,)))
            with _mapped_errors(), ignored_errors, self._scan_folder(here) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MOST_LISTED or here.count("/") > _DEEPEST:
                        raise ExecutorError(
                            f"there are more than {MOST_LISTED} files, or {_DEEPEST} levels of "
                            "folders: list a folder below it"
                        )
                    if entry.name[0] == ".":
                        continue
                    name = posixpath.normpath(f"{here}/{entry.name}")
                    if entry.is_dir(follow_symlinks=False):
                        inside.append(name)
                    elif entry.is_file(follow_symlinks=False):
                        with contextlib.suppress(FileNotFoundError):
                            size = entry.stat(follow_symlinks=False).st_size
                            files.append(FileInfo(name, size))
            waiting += inside
        return sorted(files, key=lambda file: file.path)

    def descriptor(self, path: str, flags: int) -> int:
        """Open a file without following links and return its descriptor.

        Raises:
            ExecutorError: the path leads out of the folder.
            OSError: it could not be opened.
        """
        with self._parent(path) as (folder, name):
            return os.open(name, flags | _LINK, 0o600, dir_fd=folder)

    def _relative(self, path: str) -> str:
        relative = posixpath.relpath(path, self.path) if path[:1] == "/" else path
        if relative.split("/", 1)[0] == "..":
            raise ExecutorError("it is outside the code's work folder: pass a relative path")
        return relative

    @contextlib.contextmanager
    def _scan_folder(self, path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        number = self.descriptor(path, _FOLDER)
        try:
            with os.scandir(number) as entries:
                yield entries
        finally:
            os.close(number)

    @contextlib.contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that ``path`` is in; give its descriptor and the last name."""
        *folders, name = self._relative(path).split("/")
        number = os.open(self.path, _FOLDER)
        try:
            for folder in folders:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(folder, 0o700, dir_fd=number)
                outer, number = number, os.open(folder, _FOLDER, dir_fd=number)
                os.close(outer)
            yield number, name
        finally:
            os.close(number)


@contextlib.contextmanager
def _mapped_errors() -> Iterator[None]:
    """Raise errors of the system as :class:`ExecutorError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_PLAIN_FOLDER:
            raise ExecutorError("it, or a folder above it, is a link or not a folder") from None
        raise ExecutorError(os.strerror(error.errno or 0)) from None
