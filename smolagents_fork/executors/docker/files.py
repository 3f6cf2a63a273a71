"""Files into a sandbox and out of it.

Through a program in the container and not through the engine's archive calls: those do not see what
is mounted over the image, and the work folder is such a mount.
"""

from __future__ import annotations

import base64
import os
import posixpath
from pathlib import Path

from ...errors import ConfigurationError, ExecutorError
from ...sandboxes.docker.exec_run import TooMuchOutput
from ...sandboxes.docker.exec_stream import StreamUnsupported
from ...sandboxes.provisioner import Sandbox
from ..validation import check_count

__all__ = ["get_file", "put_file"]

_TIMEOUT_SECONDS = 60.0
_BYTES_PER_SECOND = 5_000_000
# The point after the last byte tells a whole file from one that was cut off on its way.
_GET = 'cat -- "$1" && printf .'
# Run as: python3 -I -S -c PUT path size position [pieces in base64]; without pieces, so many bytes
# come on standard input, whose end not every connection can tell. Looks for room first, and puts
# the file in its place when it is whole, so that what does not fit leaves neither a full folder nor
# half a file.
_PUT = """
import base64, os, sys
path, size, position = os.path.realpath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
part = path + ".part"
left = size if len(sys.argv) == 4 else 0
def arrived():
    global left
    while left:
        piece = sys.stdin.buffer.read1(min(left, 1 << 20))
        if not piece:
            break
        left -= len(piece)
        yield piece
try:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    if os.path.isdir(path):
        raise IsADirectoryError("it is a folder")
    if position == 0:
        if os.path.exists(part):
            os.unlink(part)
        room = os.statvfs(folder)
        free = room.f_bavail * room.f_frsize
        old = os.path.getsize(path) if os.path.isfile(path) else 0
        if free < size <= free + old:
            os.unlink(path)  # there is no room for both
        elif free < size:
            raise OSError("No space left: %d bytes are free in %s" % (free, folder))
    try:
        with open(part, "ab") as file:
            for piece in sys.argv[4:]:
                file.write(base64.b64decode(piece))
            for piece in arrived():
                file.write(piece)
            written = file.tell()
    except BaseException:
        os.unlink(part)
        raise
    if written == size:
        os.replace(part, path)
    elif len(sys.argv) == 4:
        os.unlink(part)
        raise OSError("%d of %d bytes arrived" % (written, size))
except OSError as error:
    # Read to the end: words of a program that leaves its input behind may be lost with it.
    for piece in arrived():
        pass
    sys.exit(str(error))
"""
# What an argument may hold is limited to 128 KiB, all of them together to 2 MiB.
_PIECE_BYTES = 96_000
_PIECES = 12


def put_file(
    sandbox: Sandbox, source: str | os.PathLike[str] | bytes, target: str, workdir: str
) -> None:
    """Write a file in the sandbox.

    Args:
        sandbox: running.
        source: a path on the host, or the content.
        target: path in the sandbox; relative to the work folder.
        workdir: the work folder.

    Raises:
        ExecutorError: it could not be written (no space, no permission).
        OSError: the source could not be read.
    """
    path = _path(target, workdir)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        data = Path(source).read_bytes()
    else:
        raise ConfigurationError(
            f"put_file: source is {type(source).__name__}: give a path of this machine, or bytes"
        )
    timeout = _TIMEOUT_SECONDS + len(data) / _BYTES_PER_SECOND
    argv = ["python3", "-I", "-S", "-c", _PUT, path, str(len(data))]
    try:
        code, words = _put(sandbox, [*argv, "0"], data, timeout)
    except StreamUnsupported:
        code, words = _put_in_pieces(sandbox, argv, data, timeout)
    if code != 0:
        raise ExecutorError(
            f"put_file: {len(data)} bytes could not be written to {path} in container "
            f"{sandbox.id}: {words.decode('utf-8', 'replace').strip() or f'exit code {code}'}"
        )


def _put(sandbox: Sandbox, argv: list[str], data: bytes, timeout: float) -> tuple[int, bytes]:
    code, _, words = sandbox.run(argv, stdin=data, timeout=timeout, max_bytes=65_536)
    return code, words


def _put_in_pieces(
    sandbox: Sandbox, argv: list[str], data: bytes, timeout: float
) -> tuple[int, bytes]:
    """Where no stream can be attached: as arguments of a program, so many as go."""
    step = _PIECE_BYTES * _PIECES
    for position in range(0, max(1, len(data)), step):
        part = data[position : position + step]
        pieces = [
            base64.b64encode(part[start : start + _PIECE_BYTES]).decode()
            for start in range(0, max(1, len(part)), _PIECE_BYTES)
        ]
        code, words = _put(sandbox, [*argv, str(position), *pieces], b"", timeout)
        if code != 0:
            return code, words
    return 0, b""


def get_file(sandbox: Sandbox, source: str, workdir: str, max_bytes: int) -> bytes:
    """Read a file of the sandbox.

    Args:
        sandbox: running.
        source: path in the sandbox; relative to the work folder.
        workdir: the work folder.
        max_bytes: most to take.

    Raises:
        ExecutorError: there is no such file, or it is larger.
    """
    path = _path(source, workdir)
    check_count("max_bytes", max_bytes)
    timeout = _TIMEOUT_SECONDS + max_bytes / _BYTES_PER_SECOND
    argv = ["sh", "-c", _GET, "sh", path]
    try:
        code, data, words = sandbox.run(argv, timeout=timeout, max_bytes=max_bytes + 1)
    except TooMuchOutput:
        raise ExecutorError(
            f"get_file: {path} in container {sandbox.id}: it has more than {max_bytes} bytes; "
            "raise max_bytes"
        ) from None
    except ExecutorError as error:
        raise ExecutorError(f"get_file: {path} in container {sandbox.id}: {error}") from None
    if code != 0:
        raise ExecutorError(
            f"get_file: {path} in container {sandbox.id}: "
            f"{words.decode('utf-8', 'replace').strip() or f'exit code {code}'}"
        )
    if not data.endswith(b"."):
        raise ExecutorError(
            f"get_file: {path} in container {sandbox.id}: the connection to the engine ended after "
            f"{len(data)} bytes, before the file's end"
        )
    return data[:-1]


def _path(path: str, workdir: str) -> str:
    if not isinstance(path, str) or not path or "\0" in path:
        raise ConfigurationError(f"{path!r} is no path in the sandbox: give text")
    return posixpath.normpath(posixpath.join(workdir, path))
