"""Temporary shortages of this machine's resources, as opposed to features that it lacks.

A start that meets a shortage is repeated later, or with a higher limit. It is never a reason to do
without a measure of confinement.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from ..errors import ExecutorStartError

__all__ = ["is_shortage", "naming_shortages", "shortage_text"]

# Error number -> the limit to raise.
_LIMITS = {
    errno.EAGAIN: "processes (ulimit -u, pids.max)",
    errno.EMFILE: "open files (ulimit -n)",
    errno.ENFILE: "open files of the system (fs.file-max)",
    errno.ENOMEM: "memory",
    errno.ENOBUFS: "memory of sockets",
    errno.ETOOMANYREFS: "descriptors in flight of the user (ulimit -Hn)",
    errno.ENOSPC: "disk space, or on the resource that the error names",
    errno.EDQUOT: "the user's disk space (quota)",
    errno.EUSERS: "namespaces of the user (user.max_user_namespaces)",
}


def is_shortage(error: BaseException) -> bool:
    """Return whether an error says that the machine has no more of something now.

    Example:
        >>> is_shortage(OSError(errno.EMFILE, "Too many open files"))
        True
        >>> is_shortage(OSError(errno.ENOSYS, "Function not implemented"))
        False
    """
    return isinstance(error, OSError) and error.errno in _LIMITS


def shortage_text(error: BaseException) -> str:
    """Return what is short and what to do about it; the error's own text if nothing is.

    Example:
        >>> shortage_text(OSError(errno.ENOMEM, "Cannot allocate memory"))
        'Cannot allocate memory; close executors and try again, or raise the limit on memory'
    """
    if not isinstance(error, OSError) or error.errno not in _LIMITS:
        return f"{type(error).__name__}: {error}"
    return (
        f"{os.strerror(error.errno)}; close executors and try again, or raise the limit on "
        f"{_LIMITS[error.errno]}"
    )


@contextlib.contextmanager
def naming_shortages(action: str) -> Iterator[None]:
    """Turn a shortage inside the block into an error of the start.

    Args:
        action: what cannot be done, such as ``the child cannot be started``.

    Raises:
        ExecutorStartError: something is short; names it.
    """
    try:
        yield
    except OSError as error:
        if not is_shortage(error):
            raise
        raise ExecutorStartError(f"{action}: {shortage_text(error)}") from error
