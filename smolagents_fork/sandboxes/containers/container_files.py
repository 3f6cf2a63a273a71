"""Files into and out of a container.

A program in the container reads and writes them. The engine's archive calls do not see mounts, and
the work folder is one. A program whose stream is lost is run again, because none of them does other
things the second time. So a file is written or read whole, or there is an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from ...errors import (
    EngineUnavailableError,
    ExecutorError,
    FileTooLargeError,
    ProtocolError,
)
from ...folders.work_folder import new_part_name
from ...results import FileInfo
from .stream_errors import StreamLost, TooMuchOutput
from .untrusted_json import checked_row, read_json

__all__ = [
    "list_files",
    "make_folder",
    "read_file",
    "repeat_after_loss",
    "repeat_write",
    "write_file",
]

_TIMEOUT_SECONDS = 60.0
_BYTES_PER_SECOND = 5_000_000
# Time for which a program is run again after its first loss, and the pause before each.
_AGAIN_SECONDS = 20.0
_PAUSE_SECONDS = 0.5
# The dot after the last byte distinguishes a complete file from a truncated one. A named pipe would
# be waited for.
_GET = """
if [ -e "$1" ] && [ ! -f "$1" ]; then echo 'it is not a regular file' >&2; exit 1; fi
cat -- "$1" && printf .
"""
# Run as: python3 -I -S -c PUT path size part[,lost parts]. It reads size bytes from standard input,
# because not every connection can signal its end. It removes the parts of attempts that were lost
# and checks the free space. It writes to a file that is called part, which nobody has, and replaces
# the file when all bytes are written. A file that does not fit, or of which not all bytes arrive,
# leaves no part and the older file. A lost attempt may begin late, so its part is removed again at
# the end; an attempt whose part was removed replaces nothing.
_PUT = """
import os, select, sys
path, size = os.path.realpath(sys.argv[1]), int(sys.argv[2])
folder = os.path.dirname(path)
part, *lost = (os.path.join(folder, name) for name in sys.argv[3].split(","))
left = size
def remove_lost():
    for name in lost:
        if os.path.exists(name):
            os.unlink(name)
def arrived():
    global left
    while left:
        piece = os.read(0, min(left, 1 << 20)) if select.select([0], [], [], 60)[0] else b""
        if not piece:
            break
        left -= len(piece)
        yield piece
try:
    os.makedirs(folder, exist_ok=True)
    if os.path.isdir(path):
        raise IsADirectoryError("it is a folder")
    remove_lost()
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < size:
        old = ", where the older file stays until then" if os.path.exists(path) else ""
        raise OSError("No space left: %d bytes are free in %s%s" % (free, folder, old))
    file = open(part, "xb")
    try:
        with file:
            for piece in arrived():
                file.write(piece)
            written = file.tell()
    except BaseException:
        os.unlink(part)
        raise
    if written == size:
        remove_lost()
        os.replace(part, path)
    else:
        os.unlink(part)
        sys.stderr.write("%d of %d bytes arrived" % (written, size))
        sys.exit(75)
except OSError as error:
    # Read to the end: the message of a program that ends with unread input may be lost.
    for piece in arrived():
        pass
    sys.exit(str(error))
"""
# Run as: python3 -I -S -c LIST path most. Prints path and size of each file as JSON.
_LIST = """
import json, os, stat, sys
top, most = sys.argv[1], int(sys.argv[2])
try:
    found, seen = [], 0
    waiting = [top] if stat.S_ISDIR(os.lstat(top).st_mode) else []
    if not waiting:
        found.append([top, os.lstat(top).st_size])
    while waiting:
        folder = waiting.pop()
        for entry in os.scandir(folder):
            seen += 1
            if seen > most:
                sys.exit("there are more than %d files: list a folder below it" % most)
            if entry.name[0] == ".":
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                found.append([entry.path, entry.stat(follow_symlinks=False).st_size])
    print(json.dumps(found))
except OSError as error:
    sys.exit(error.strerror)
"""
# Exit code of PUT for an input that ends too early (EX_TEMPFAIL of sysexits.h).
_CUT_SHORT = 75
_MOST_LISTED = 10_000
_MOST_LIST_BYTES = 64 << 20


_Result = TypeVar("_Result")


class Run(Protocol):
    """Runs a program in the sandbox: exit code, standard output, end of standard error.

    It gets program and arguments without a shell, pieces of the input, the seconds that it may
    take, and the most bytes of output. It raises ``ExecutorError`` for a program that cannot be
    run, takes longer or writes more: ``StreamLost`` or ``EngineUnavailableError`` where it may be
    run again.
    """

    def __call__(
        self, argv: list[str], *, stdin: Iterable[bytes] = (), timeout: float, max_bytes: int
    ) -> tuple[int, bytes, bytes]: ...


def write_file(
    run: Run, path: str, pieces: Iterable[bytes], size: int, parts: Sequence[str] = ()
) -> None:
    """Write a file in the container.

    Args:
        run: runs programs there.
        path: absolute.
        pieces: its content; an iterator can be sent only once, so it is not sent again after a
            loss.
        size: of all pieces together, in bytes.
        parts: names of the part and of lost attempts' parts, from a caller that repeats the
            transfer itself; it is made once then.

    Raises:
        ExecutorError: it could not be written (no space, no permission).
    """
    timeout = _TIMEOUT_SECONDS + size / _BYTES_PER_SECOND

    def write(parts: Sequence[str]) -> tuple[int, bytes]:
        argv = ["python3", "-I", "-S", "-c", _PUT, path, str(size), ",".join(parts)]
        code, _, message = run(argv, stdin=pieces, timeout=timeout, max_bytes=65_536)
        if code == _CUT_SHORT:
            raise StreamLost(_reason(code, message))
        return code, message

    code, message = write(parts) if parts else repeat_write(pieces, write)
    if code != 0:
        raise ExecutorError(_reason(code, message))


def repeat_write(pieces: Iterable[bytes], write: Callable[[Sequence[str]], _Result]) -> _Result:
    """Return the result of a transfer, which is repeated as :func:`repeat_after_loss` does.

    Who repeats a transfer names its part, so that each attempt removes those of the lost ones.

    Args:
        pieces: Content of the file; an iterator can be sent only once, and is not sent again.
        write: Makes one attempt. It takes the name of its part, then the names of the parts that
            lost attempts may have left.

    Raises:
        StreamLost: The stream was lost again and again.
        EngineUnavailableError: The engine has not answered for as long.
    """
    parts: list[str] = []

    def attempt() -> _Result:
        # Another name each time: the attempt that was lost may still write.
        parts.insert(0, new_part_name())
        return write(parts)

    return attempt() if isinstance(pieces, Iterator) else repeat_after_loss(attempt)


def repeat_after_loss(action: Callable[[], _Result]) -> _Result:
    """Return the result of an action that is repeated for some seconds while its stream is lost.

    Args:
        action: Does nothing else when it is done twice.

    Raises:
        StreamLost: The stream was lost again and again.
        EngineUnavailableError: The engine has not answered for as long.
    """
    end: float | None = None
    while True:
        try:
            return action()
        except (StreamLost, EngineUnavailableError):
            now = time.monotonic()
            end = end or now + _AGAIN_SECONDS
            if now > end:
                raise
            time.sleep(_PAUSE_SECONDS)


def make_folder(run: Run, path: str) -> None:
    """Make a folder in the container, and those above it; no-op where it is there.

    Args:
        run: runs programs there.
        path: absolute.

    Raises:
        ExecutorError: it could not be made.
    """
    argv = ["mkdir", "-p", "--", path]
    code, _, message = repeat_after_loss(
        lambda: run(argv, timeout=_TIMEOUT_SECONDS, max_bytes=65_536)
    )
    if code != 0:
        raise ExecutorError(_reason(code, message))


def read_file(run: Run, path: str, max_bytes: int) -> bytes:
    """Read a file of the container.

    Args:
        run: runs programs there.
        path: absolute.
        max_bytes: largest size allowed.

    Raises:
        FileTooLargeError: it has more bytes.
        ExecutorError: there is no such file, or the engine's connection broke.
    """
    timeout = _TIMEOUT_SECONDS + max_bytes / _BYTES_PER_SECOND
    argv = ["sh", "-c", _GET, "sh", path]

    def read() -> tuple[int, bytes, bytes]:
        code, data, message = run(argv, timeout=timeout, max_bytes=max_bytes + 1)
        if code == 0 and not data.endswith(b"."):
            raise StreamLost(
                f"the connection to the engine ended after {len(data)} bytes, before the file's end"
            )
        return code, data, message

    try:
        code, data, message = repeat_after_loss(read)
    except TooMuchOutput:
        raise FileTooLargeError(f"it has more than {max_bytes} bytes") from None
    if code != 0:
        raise ExecutorError(_reason(code, message))
    return data[:-1]


def list_files(run: Run, path: str) -> list[FileInfo]:
    """Return the regular files below a folder of the container, or a file itself.

    Args:
        run: runs programs there.
        path: absolute.

    Raises:
        ExecutorError: there is nothing, or there are too many files.
        ProtocolError: the answer is not a list of files.
    """
    argv = ["python3", "-I", "-S", "-c", _LIST, path, str(_MOST_LISTED)]
    code, data, message = repeat_after_loss(
        lambda: run(argv, timeout=_TIMEOUT_SECONDS, max_bytes=_MOST_LIST_BYTES)
    )
    if code != 0:
        raise ExecutorError(_reason(code, message))
    entries = read_json(data, "the list of files")
    if type(entries) is not list or len(entries) > _MOST_LISTED:
        raise ProtocolError("the sandbox sent a list of files that is too long, or not a list")
    rows = [checked_row(entry, ((str,), (int,)), "a file's path and size") for entry in entries]
    return sorted((FileInfo(path, size) for path, size in rows), key=lambda one: one.path)


def _reason(code: int, message: bytes) -> str:
    return message.decode("utf-8", "replace").strip() or f"exit code {code}"
