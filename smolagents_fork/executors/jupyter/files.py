"""Files into and out of a sandbox: paths relative to its work folder, errors that name both."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path

from ...errors import ConfigurationError, ExecutorError
from ...sandboxes.provisioner import FileTooLarge, Sandbox
from ..validation import check_count

__all__ = ["get_file", "put_file"]


def put_file(sandbox: Sandbox, source: str | os.PathLike[str] | bytes, target: str) -> None:
    """Write a file in the sandbox.

    Args:
        sandbox: running.
        source: a path on the host, or the content.
        target: path in the sandbox, relative to the work folder or absolute.

    Raises:
        ExecutorError: it could not be written (no space, no permission).
        OSError: the source could not be read.
    """
    path = _path(sandbox, target)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
    elif isinstance(source, (str, os.PathLike)):
        data = Path(source).read_bytes()
    else:
        raise ConfigurationError(
            f"put_file: source is {type(source).__name__}: give a path of this machine, or bytes"
        )
    try:
        sandbox.write_file(path, data)
    except ExecutorError as error:
        raise type(error)(
            f"put_file: {len(data)} bytes could not be written to {path} in sandbox "
            f"{sandbox.id}: {error}"
        ) from error


def get_file(sandbox: Sandbox, source: str, max_bytes: int) -> bytes:
    """Read a file of the sandbox.

    Args:
        sandbox: running.
        source: path in the sandbox, relative to the work folder or absolute.
        max_bytes: largest size allowed.

    Raises:
        ExecutorError: there is no such file, or it is larger.
    """
    path = _path(sandbox, source)
    check_count("max_bytes", max_bytes)
    try:
        return sandbox.read_file(path, max_bytes)
    except FileTooLarge as error:
        raise ExecutorError(
            f"get_file: {path} in sandbox {sandbox.id}: {error}; raise max_bytes"
        ) from None
    except ExecutorError as error:
        raise type(error)(f"get_file: {path} in sandbox {sandbox.id}: {error}") from error


def _path(sandbox: Sandbox, path: str) -> str:
    if not isinstance(path, str) or not path or "\0" in path:
        raise ConfigurationError(f"{path!r} is not a path in the sandbox: give text")
    return posixpath.normpath(posixpath.join(sandbox.spec.workdir, path))
