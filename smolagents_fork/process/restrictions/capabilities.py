"""Capabilities of this process, which root has and a child does not."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any

from .libc import c_call, libc

__all__ = ["drop_capabilities", "without_capabilities"]

_PR_CAPBSET_DROP = 24
_VERSION_3 = 0x20080522
# struct __user_cap_data_struct, twice: effective, permitted, inheritable
_Sets = ctypes.c_uint32 * 6


def drop_capabilities() -> str:
    """Drop all capabilities of this process, irrevocably; return what is left.

    Raises:
        OSError: the kernel refused.
    """
    with open("/proc/sys/kernel/cap_last_cap", "rb") as file:
        last = int(file.read())
    for number in range(last + 1):
        # Fails without CAP_SETPCAP, and is not needed then.
        libc().prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    _call("capset", _Sets())
    return "none"


@contextlib.contextmanager
def without_capabilities() -> Iterator[None]:
    """Have no effective capabilities inside the block; for a process with one thread.

    Raises:
        OSError: the kernel refused.
    """
    sets = _Sets()
    _call("capget", sets)
    _call("capset", _Sets(0, sets[1], sets[2], 0, sets[4], sets[5]))
    try:
        yield
    finally:
        _call("capset", sets)


def _call(name: str, sets: Any) -> None:
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    c_call(name, ctypes.byref(header), ctypes.byref(sets))
