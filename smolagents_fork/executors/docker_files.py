"""Files into a sandbox and out of it.

Through a program in the container and not through the engine's archive calls: those do not see what
is mounted over the image, and the work folder is such a mount.
"""

from __future__ import annotations

import os
import posixpath
from pathlib import Path

from ..containers.provisioner import Sandbox
from ..errors import ConfigurationError, ExecutorError

__all__ = ["get_file", "put_file"]

_TIMEOUT_SECONDS = 60.0
_BYTES_PER_SECOND = 5_000_000
_PUT = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
_GET = 'cat -- "$1"'


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
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    path = _path(target, workdir)
    timeout = _TIMEOUT_SECONDS + len(data) / _BYTES_PER_SECOND
    argv = ["sh", "-c", _PUT, "sh", path]
    code, _, words = sandbox.run(argv, stdin=data, timeout=timeout, max_bytes=65_536)
    if code != 0:
        raise ExecutorError(
            f"put_file: {len(data)} bytes could not be written to {path} in container "
            f"{sandbox.id}: {words.decode('utf-8', 'replace').strip() or f'exit code {code}'}"
        )


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
    timeout = _TIMEOUT_SECONDS + max_bytes / _BYTES_PER_SECOND
    argv = ["sh", "-c", _GET, "sh", path]
    try:
        code, data, words = sandbox.run(argv, timeout=timeout, max_bytes=max_bytes)
    except ExecutorError as error:
        raise ExecutorError(f"get_file: {path} in container {sandbox.id}: {error}") from None
    if code != 0:
        raise ExecutorError(
            f"get_file: {path} in container {sandbox.id}: "
            f"{words.decode('utf-8', 'replace').strip() or f'exit code {code}'}"
        )
    return data


def _path(path: str, workdir: str) -> str:
    if not path or "\0" in path:
        raise ConfigurationError(f"{path!r} is no path in the sandbox")
    return posixpath.normpath(posixpath.join(workdir, path))
