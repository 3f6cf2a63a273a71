"""Files into and out of executors: one interface, with the same checks and errors on all of them.

Who calls what: users call the methods of :class:`FileMethods`, which an executor inherits. They
check paths, open sources, and call the executor's :class:`FileStore`.
"""

from __future__ import annotations

import errno
import functools
import io
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Union

from ..control.control import Control
from ..errors import ConfigurationError, ExecutorError, FileTooLargeError, ProtocolError
from ..folders.file_store import FileStore
from ..options import accept
from ..results import FileInfo

__all__ = ["MAX_FILE_BYTES", "FileMethods", "Files", "GivenFiles", "Source"]

#: Default limit of ``get_file``, whose result is in memory.
MAX_FILE_BYTES = 256 * 1024 * 1024
#: Files that one source, a folder, may have.
_MOST_FILES = 10_000
#: Files that a sandbox may list.
_MOST_LISTED = 10_000
#: Longest path that a sandbox may list, in bytes: Linux' PATH_MAX.
_LONGEST_PATH = 4096
_LARGEST_SIZE = (1 << 63) - 1
#: Characters that no listed path may have: those that control terminals or end lines, and the
#: separators of Windows, where the path would lead elsewhere.
_REFUSED_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]")
_PIECE = 1 << 20
_NOT_A_PATH = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
#: Characters of a missing source that an error shows.
_LONGEST_SHOWN = 200
#: A path of this machine, or the content.
Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]
#: What ``files=`` of an executor takes.
Files = Mapping[str, Source]


class FileMethods:
    """The methods of an executor by which its user exchanges files with the code."""

    _control: Control

    def put_file(self, source: Source, target: str) -> None:
        """Write a file, or a folder with all that is in it, where the code can open it.

        Links are followed: the code gets what they lead to. What cannot be copied is an error that
        names it: a file or folder that cannot be read, a link that leads nowhere or around in a
        circle, a pipe, a socket, a device.

        Args:
            source: A path of this machine, or the content as bytes.
            target: Path for the code, relative to its work folder; missing folders are made.

        Raises:
            ConfigurationError: ``target`` is not a path in the work folder.
            ExecutorError: it could not be written; says why. An older file stays as it was.
            OSError: the source could not be read. Nothing is written if that is known before.
        """
        check_path("put_file", target)
        with self._transfer("put_file", target) as transfer, self._file_store("put_file") as store:
            transfer["bytes"] = _put(store, "put_file", source, target)

    def get_file(self, source: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a file of the code.

        Args:
            source: Path as the code has it, relative to its work folder.
            max_bytes: Largest size allowed, in bytes.

        Raises:
            ConfigurationError: ``source`` is not a path in the work folder.
            FileTooLargeError: it has more bytes.
            ExecutorError: there is no such file, or it could not be read; says why.
            ProtocolError: the sandbox sent something else.
        """
        path = check_path("get_file", source)
        accept.count("max_bytes", max_bytes)
        with self._transfer("get_file", path) as transfer, self._file_store("get_file") as store:
            try:
                content = _check_content(store.read_file(path, max_bytes), max_bytes)
                transfer["bytes"] = len(content)
                return content
            except FileTooLargeError as error:
                place = store.describe(path)
                raise FileTooLargeError(f"get_file: {place}: {error}; raise max_bytes") from None
            except ExecutorError as error:
                raise error.rephrase(f"get_file: {store.describe(path)}: {error}") from None

    def list_files(self, path: str = ".") -> list[FileInfo]:
        """Return the files that the code can open, sorted by path.

        Links, and names that begin with a dot, are left out.

        Args:
            path: A folder, or a file, relative to the work folder.

        Raises:
            ConfigurationError: ``path`` is not a path in the work folder.
            ExecutorError: there is nothing at ``path``, or there are too many files.
            ProtocolError: the sandbox sent a path or a size that no file below ``path`` has.
        """
        path = check_path("list_files", path)
        with self._file_store("list_files") as store:
            try:
                return _check_list(store.list_files(path), path)
            except ExecutorError as error:
                raise error.rephrase(f"list_files: {store.describe(path)}: {error}") from None

    def _transfer(self, action: str, path: str) -> AbstractContextManager[dict[str, Any]]:
        """Record a file that goes in or out."""
        return self._control.transfer(action, path)

    def _file_store(self, action: str) -> AbstractContextManager[FileStore]:
        """Give the executor's files for one call of the method ``action``."""
        raise ConfigurationError(f"{action}: {type(self).__name__} has no files")


@dataclass(frozen=True)
class GivenFiles:
    """The argument ``files=``: what each new sandbox of an executor gets.

    Attributes:
        entries: target and source of each; paths of this machine are absolute.
        wanted: whether the argument was passed, perhaps empty.
    """

    entries: tuple[tuple[str, str | bytes], ...] = ()
    wanted: bool = False

    @classmethod
    def of(cls, files: Files | GivenFiles | None) -> GivenFiles:
        """Check the argument; one that was checked before is returned as it is.

        Raises:
            ConfigurationError: it is not a mapping of paths to sources, or a source is missing.
        """
        if isinstance(files, GivenFiles):
            return files
        if files is not None and not isinstance(files, Mapping):
            raise ConfigurationError(
                f"files={files!r}: pass a mapping of the code's paths to yours, such as "
                "{'data.csv': 'folder/data.csv'}"
            )
        entries: list[tuple[str, str | bytes]] = []
        for target, source in (files or {}).items():
            name = f"files[{target!r}]"
            check_path(name, target)
            if isinstance(source, (bytes, bytearray, memoryview)):
                entries.append((target, bytes(source)))
                continue
            path = _local_path(name, source)
            try:
                _check_source(f"{name}=", source)
            except FileNotFoundError as error:
                raise ConfigurationError(str(error)) from None
            except OSError as error:
                raise ConfigurationError(f"{name}={str(source)!r}: {error.strerror}") from None
            entries.append((target, str(path.absolute())))
        return cls(tuple(entries), files is not None)

    def send(self, store: FileStore) -> None:
        """Write all of them.

        Raises:
            ExecutorError: one could not be read or written; says which and why.
        """
        for target, source in self.entries:
            action = f"files[{target!r}]"
            try:
                _put(store, action, Path(source) if isinstance(source, str) else source, target)
            except OSError as error:
                raise ExecutorError(f"{action}: {error}") from None


def check_path(name: str, path: str) -> str:
    """Return ``path`` in its simplest form.

    Raises:
        ConfigurationError: it is not text, not UTF-8, or leads out of the work folder.
    """
    if not isinstance(path, str) or not path or "\0" in path:
        raise ConfigurationError(
            f"{name}: {path!r} is not a path in the sandbox: pass text, such as 'data.csv'"
        )
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"{name}: {path!r} cannot be sent as UTF-8: rename it") from None
    normal_path = posixpath.normpath(path)
    if normal_path == ".." or normal_path.startswith("../"):
        raise ConfigurationError(
            f"{name}: {path!r} is outside the code's work folder: pass a path inside it"
        )
    return normal_path


def _check_content(content: bytes, max_bytes: int) -> bytes:
    if len(content) > max_bytes:
        raise ProtocolError(
            f"the sandbox sent {len(content)} bytes, but {max_bytes} were requested"
        )
    return content


def _check_list(files: list[FileInfo], listed_path: str) -> list[FileInfo]:
    """Return a list of files that a sandbox sent, sorted by path.

    Code in the sandbox can answer in the place of our program there, and callers write to paths of
    the same names on the host.

    Args:
        files: paths and sizes, of the right types.
        listed_path: path that was listed, relative to the work folder or absolute.

    Raises:
        ProtocolError: too many, or one that is not a file's below ``listed_path``.
    """
    if len(files) > _MOST_LISTED:
        raise ProtocolError(
            f"the sandbox sent a list of {len(files)} files; it may have at most {_MOST_LISTED}"
        )
    paths: set[str] = set()
    for file in files:
        reason = _path_fault(file.path, listed_path) or _size_fault(file.size)
        if not reason and file.path in paths:
            reason = "it is listed twice"
        if reason:
            shown = repr(file.path)[:_LONGEST_SHOWN]
            raise ProtocolError(f"the sandbox sent a list with the file {shown}: {reason}")
        paths.add(file.path)
    return sorted(files, key=lambda file: file.path)


def _path_fault(path: str, listed_path: str) -> str:
    """Return why a listed path is not one of a file at or below ``listed_path``; empty if it is."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "its name is not UTF-8; rename it in the code"
    if not path or size > _LONGEST_PATH:
        return f"a path has 1 to {_LONGEST_PATH} bytes, and it has {size}"
    if _REFUSED_CHARACTERS.search(path) or (os.name == "nt" and ":" in path):
        return "its name has a control character or a separator of Windows; rename it in the code"
    below = path == listed_path or path.startswith(posixpath.join(listed_path, ""))
    if listed_path == "." or listed_path[0] == "/":
        # Of an absolute path that is listed, files in the work folder have relative paths.
        below = below or path[0] != "/"
    leads_elsewhere = posixpath.normpath(path) != path or path.split("/", 1)[0] in (".", "..")
    if leads_elsewhere or not below:
        return f"it is not a path below {listed_path!r}"
    return ""


def _size_fault(size: int) -> str:
    return "" if 0 <= size <= _LARGEST_SIZE else "its size is not a number of bytes"


def _put(store: FileStore, action: str, source: Source, target: str) -> int:
    """Write a source; return its bytes."""
    written = 0
    # All of them first: what is not there or cannot be named fails before anything is written.
    entries = [
        (content, check_path(action, name)) for content, name in _contents(action, source, target)
    ]
    for content, path in entries:
        if content is None:
            _make_folder(store, action, path)
            continue
        with content() as file:
            size = file.seek(0, os.SEEK_END)
            try:
                store.write_file(path, _Pieces(file, size), size)
            except ExecutorError as error:
                place = store.describe(path)
                raise error.rephrase(
                    f"{action}: {size} bytes could not be written to {place}: {error}"
                ) from None
            written += size
    return written


def _make_folder(store: FileStore, action: str, path: str) -> None:
    try:
        store.make_folder(path)
    except ExecutorError as error:
        place = store.describe(path)
        raise error.rephrase(f"{action}: folder {place} could not be created: {error}") from None


def _contents(
    action: str, source: Source, target: str
) -> Iterator[tuple[Callable[[], BinaryIO] | None, str]]:
    """Yield what opens each file of a source, ``None`` for an empty folder, and the target.

    Raises:
        ConfigurationError: there are too many.
        OSError: one of them cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield functools.partial(io.BytesIO, source), target
        return
    top = _local_path(action, source)
    if isinstance(source, str):
        _check_source(f"{action}: ", source)
    files = folders = 0
    # Each with the folders above it, by which a link that leads back to one of them is known.
    waiting: list[tuple[Path, str, frozenset[tuple[int, int]]]] = [(top, target, frozenset())]
    while waiting:
        path, name, above = waiting.pop()
        state = path.stat()
        if stat.S_ISREG(state.st_mode):
            yield functools.partial(_open_source, path), name
            files += 1
        elif stat.S_ISDIR(state.st_mode):
            here = (state.st_dev, state.st_ino)
            if here in above:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            inside = sorted(os.listdir(path))
            waiting += [
                (path / entry, posixpath.join(name, entry), above | {here}) for entry in inside
            ]
            folders += 1
            if not inside:
                yield None, name
        else:
            raise OSError(errno.EINVAL, "it is neither a file nor a folder", str(path))
        if max(files, folders) > _MOST_FILES:
            raise ConfigurationError(
                f"{action}: {top} has more than {_MOST_FILES} files or folders"
            )


def _open_source(path: Path) -> BinaryIO:
    """Open a file, unless its size is not that of its content, as in ``/proc``."""
    file = path.open("rb")
    try:
        is_sized = file.seek(0, os.SEEK_END) > 0 or not file.read(1)
    except OSError:
        is_sized = False
    if is_sized:
        return file
    file.close()
    message = "its size cannot be known: read it, and pass the content as bytes"
    raise OSError(errno.EINVAL, message, str(path))


def _local_path(name: str, source: object) -> Path:
    if not isinstance(source, (str, os.PathLike)):
        raise ConfigurationError(
            f"{name}: source is {type(source).__name__}: pass a path of this machine, or bytes"
        )
    return Path(source)


def _check_source(start: str, source: str | os.PathLike[str]) -> None:
    """Raise a ``FileNotFoundError`` that says what to do if nothing is at a path."""
    try:
        os.stat(source)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in _NOT_A_PATH:
            raise
        raise FileNotFoundError(_missing(start, source)) from None


def _missing(start: str, source: str | os.PathLike[str]) -> str:
    """Describe a source that is not there; a text may be the content that was meant."""
    text = repr(os.fspath(source))
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    message = f"{start}{shown}: there is no such file or folder on this machine"
    if isinstance(source, str):
        message += "; a text is a path. Pass the content as bytes: text.encode()"
    return message


@dataclass(frozen=True)
class _Pieces:
    """The first ``size`` bytes of a file, exactly: a store may have announced them.

    A store that has lost its connection reads them again from the beginning.
    """

    file: BinaryIO
    size: int

    def __iter__(self) -> Iterator[bytes]:
        self.file.seek(0)
        remaining = self.size
        while True:
            try:
                piece = self.file.read(min(remaining, _PIECE))
            except OSError as error:
                # Not as OSError, which a store takes for one of its connection.
                raise ExecutorError(f"the source cannot be read: {error}") from error
            if remaining and not piece:
                raise ExecutorError(
                    f"the source changed while it was read: {remaining} bytes are missing"
                )
            remaining -= len(piece)
            yield piece
            if not remaining:
                return
