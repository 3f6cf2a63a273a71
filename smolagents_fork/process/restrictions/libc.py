"""The C library, for system calls that Python does not have."""

from __future__ import annotations

import ctypes
import functools
import os

__all__ = ["c_call", "libc", "system_call"]


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library, loaded once: loading costs more than most system calls."""
    return ctypes.CDLL(None, use_errno=True)


def c_call(name: str, *arguments: object) -> int:
    """Call a function of the C library that returns a negative number for an error.

    Args:
        name: Name of the function.
        *arguments: ints, or what ctypes passes as a pointer.

    Raises:
        OSError: the kernel refused.
    """
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = getattr(libc(), name)(*values)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def system_call(number: int, *arguments: object) -> int:
    """Make a system call by its number; see :func:`c_call`."""
    return c_call("syscall", number, *arguments)
