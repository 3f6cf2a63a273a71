"""Files of a guest that its host cannot reach by itself, such as those of a Wasm machine.

The host writes and reads a file piece by piece, one frame for each. The guest checks nothing: its
own confinement limits which files it has. A kernel gets this file as text.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Callable
from typing import Any

from ..codec import decode, encode

__all__ = ["answer", "join_body", "request", "split_body"]

#: Entries that are looked at for one list.
_MOST_FILES = 10_000
_LENGTH = 4


def request(action: str, data: bytes = b"", **arguments: Any) -> bytes:
    """Return the body of a FILE frame.

    Args:
        action: ``write``, ``discard``, ``folder``, ``read``, ``list`` or ``trust``.
        data: a piece of a file.
        **arguments: Arguments of the action.
    """
    return join_body([action, arguments], data)


def join_body(value: Any, data: bytes) -> bytes:
    """Return a body that has a small value before a piece of a file."""
    head = encode(value)
    return len(head).to_bytes(_LENGTH, "big") + head + data


def split_body(body: bytes | bytearray) -> tuple[Any, bytes | bytearray]:
    """Return the value and the piece of a body; see :func:`join_body`.

    Raises:
        DecodeError: it has no such value.
    """
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "big")
    return decode(body[_LENGTH:end]), body[end:]


def answer(body: bytes | bytearray, root: str = "") -> bytes:
    """Carry out a request and return the body of its answer.

    Args:
        root: Folder in which relative paths begin; empty for the current one.

    Raises:
        OSError: the system refused.
    """
    (action, arguments), data = split_body(body)
    if "path" in arguments:
        arguments["path"] = os.path.join(root, arguments["path"])
    if action == "read":
        return join_body(*_read(**arguments))
    if action == "list":
        return join_body(_list(root=root, **arguments), b"")
    return join_body(_ACTIONS[action](data, **arguments), b"")


def _write(data: bytes | bytearray, *, path: str, part: str, position: int, size: int) -> str:
    """Write a piece; return the name of the file it is in until the last one has come."""
    path = os.path.realpath(path)
    if not part:
        part = _new_part(path, size)
    try:
        with open(part, "r+b") as file:
            file.seek(position)
            file.write(data)
        if position + len(data) == size:
            os.replace(part, path)
    except BaseException:
        _discard(b"", part=part)
        raise
    return part


def _new_part(path: str, size: int) -> str:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < size:
        old = ", where the older file stays until then" if os.path.exists(path) else ""
        raise OSError(errno.ENOSPC, f"No space left: {free} bytes are free in {folder}{old}")
    # In the same file system, so that it can replace the file, by a name that nobody has.
    number, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    # At once: a file in memory that grows is copied.
    os.truncate(number, size)
    os.close(number)
    return part


def _discard(_data: bytes | bytearray, *, part: str) -> str:
    """Remove what was written of a file that does not become complete."""
    with contextlib.suppress(OSError):
        os.unlink(part)
    return part


def _folder(_data: bytes | bytearray, *, path: str) -> str:
    os.makedirs(path, exist_ok=True)
    return path


def _read(*, path: str, position: int, size: int, identity: str) -> tuple[str, bytes]:
    """Read a piece of the file that the earlier ones were of; return that file's identity, too."""
    # A device has no end, and a named pipe would be waited for.
    if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
        raise OSError(0, "it is not a regular file")
    with open(path, "rb") as file:
        state = os.fstat(file.fileno())
        read = f"{state.st_dev}:{state.st_ino}"
        if identity not in ("", read):
            raise OSError(0, "another file has replaced it while it was read; read it again")
        file.seek(position)
        return read, file.read(size)


def _list(*, path: str, root: str) -> list[tuple[str, int]]:
    """List files; those in the folder ``root`` get relative paths."""
    top = os.path.normpath(path)
    status = os.lstat(top)
    files: list[tuple[str, int]] = []
    waiting = [top]
    if stat.S_ISREG(status.st_mode):
        files, waiting = [(top, status.st_size)], []
    seen = 0
    while waiting:
        for entry in os.scandir(waiting.pop()):
            seen += 1
            if seen > _MOST_FILES:
                raise OSError(0, f"there are more than {_MOST_FILES} files: list a folder below it")
            if entry.name[0] == ".":
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                size = entry.stat(follow_symlinks=False).st_size
                files.append((os.path.normpath(entry.path), size))
    start = os.path.join(root, "")
    return [(name.removeprefix(start), size) for name, size in files]


def _trust(data: bytes | bytearray, *, variables: dict[str, str], paths: list[str]) -> str:
    """Have the program and all that it starts trust further certificates.

    Args:
        data: Certificates in PEM.
        variables: Further variables of the environment.
        paths: Variables that name the file of certificates.

    Returns:
        the name of a variable that has a value already, and no change is made; empty without one.
    """
    if present := next(filter(os.environ.get, variables), ""):
        return present
    files = dict.fromkeys(os.environ[name] for name in paths if os.environ.get(name))
    # Those that are named are of some clients, and the usual ones of the others.
    parts = [_content(path) for path in files if os.path.isfile(path)]
    number, path = tempfile.mkstemp(prefix=".", suffix=".pem")
    with open(number, "wb") as file:
        file.write(b"\n".join([*parts, _usual_certificates(), data]))
    os.environ.update({**dict.fromkeys(paths, path), **variables})
    return ""


def _usual_certificates() -> bytes:
    """Return the certificates of OpenSSL's file or folder, or those of ``certifi``."""
    import ssl

    usual = ssl.get_default_verify_paths()
    if os.path.isfile(usual.openssl_cafile):
        return _content(usual.openssl_cafile)
    with contextlib.suppress(OSError):
        # The names by which OpenSSL looks for them.
        names = [name for name in os.listdir(usual.openssl_capath) if name.endswith(".0")]
        if names:
            return b"\n".join(_content(os.path.join(usual.openssl_capath, n)) for n in names)
    try:
        import certifi
    except ImportError:
        return b""
    return _content(certifi.where())


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


_ACTIONS: dict[str, Callable[..., str]] = {
    "write": _write,
    "discard": _discard,
    "folder": _folder,
    "trust": _trust,
}
