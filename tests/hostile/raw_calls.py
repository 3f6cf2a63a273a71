"""System calls by number and the C library, for programs in children of tests."""

from __future__ import annotations

import ctypes
import os
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: Any) -> int:
    """Make a system call by its number."""
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    LIBC.syscall.restype = ctypes.c_long
    result: int = LIBC.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
