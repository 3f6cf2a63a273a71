"""The C library, for system calls that Python does not have."""

from __future__ import annotations

import ctypes
import functools
import os

__all__ = ["libc", "system_call"]


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library, loaded once: loading costs more than most system calls."""
    return ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: object) -> int:
    """Make a system call by its number.

    Args:
        number: Number of the call.
        *arguments: ints, or what ctypes passes as a pointer.

    Raises:
        OSError: the kernel refused.
    """
    values = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = libc().syscall(ctypes.c_long(number), *values)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
