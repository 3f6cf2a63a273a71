"""Files of a guest that its host cannot reach by itself, such as those of a Wasm machine.

The host writes and reads a file piece by piece, one frame for each. The guest checks nothing: its
own confinement limits which files it has.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable
from typing import Any

from ..codec import decode, encode

__all__ = ["answer", "request"]

#: Entries that are looked at for one list.
_MOST_FILES = 10_000
_LENGTH = 4


def request(action: str, data: bytes = b"", **arguments: Any) -> bytes:
    """Return the body of a FILE frame.

    Args:
        action: ``write``, ``folder``, ``read``, ``list`` or ``trust``.
        data: a piece of a file.
        **arguments: Arguments of the action.
    """
    head = encode([action, arguments])
    return len(head).to_bytes(_LENGTH, "big") + head + data


def answer(body: bytes | bytearray) -> bytes:
    """Carry out a request and return the body of its answer.

    Raises:
        OSError: the system refused.
    """
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "big")
    decoded: Any = decode(body[_LENGTH:end])
    action, arguments = decoded
    return _ACTIONS[action](body[end:], **arguments)


def _write(data: bytes | bytearray, *, path: str, part: str, position: int, size: int) -> bytes:
    """Write a piece; return the name of the file it is in until the last one has come."""
    if not part:
        folder = os.path.dirname(path) or "."
        os.makedirs(folder, exist_ok=True)
        # In the same file system, so that it can replace the file, by a name that nobody has.
        number, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
        # At once: a file in memory that grows is copied.
        os.truncate(number, size)
        os.close(number)
    try:
        with open(part, "r+b") as file:
            file.seek(position)
            file.write(data)
        if position + len(data) == size:
            os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
    return encode(part)


def _folder(_data: bytes | bytearray, *, path: str) -> bytes:
    os.makedirs(path, exist_ok=True)
    return encode(path)


def _read(_data: bytes | bytearray, *, path: str, position: int, size: int) -> bytes:
    # A device has no end.
    if not stat.S_ISREG(os.stat(path).st_mode) and not os.path.isdir(path):
        raise OSError(0, "it is not a regular file")
    with open(path, "rb") as file:
        file.seek(position)
        return file.read(size)


def _list(_data: bytes | bytearray, *, path: str) -> bytes:
    kind = os.lstat(path)
    found: list[tuple[str, int]] = []
    waiting = [path]
    if stat.S_ISREG(kind.st_mode):
        found, waiting = [(path, kind.st_size)], []
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
                found.append((os.path.normpath(entry.path), size))
    return encode(found)


def _trust(data: bytes | bytearray, *, variables: dict[str, str], paths: list[str]) -> bytes:
    """Have the program and all that it starts trust further certificates.

    Args:
        data: Certificates in PEM.
        variables: Further variables of the environment.
        paths: Variables that name the file of certificates.
    """
    files = dict.fromkeys(os.environ[name] for name in paths if os.environ.get(name))
    # Those that are named are of some clients, and the usual ones of the others.
    parts = [_content(path) for path in files if os.path.isfile(path)]
    number, path = tempfile.mkstemp(prefix=".", suffix=".pem")
    with open(number, "wb") as file:
        file.write(b"\n".join([*parts, _usual_certificates(), data]))
    os.environ.update({**dict.fromkeys(paths, path), **variables})
    return encode(path)


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


_ACTIONS: dict[str, Callable[..., bytes]] = {
    "write": _write,
    "folder": _folder,
    "read": _read,
    "list": _list,
    "trust": _trust,
}
