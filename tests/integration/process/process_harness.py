"""What the process executor's tests share."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from smolagents_fork import ProcessExecutor

# Modules a hostile program would like to have; authorising them shows what the kernel holds by
# itself, behind the interpreter's guards.
SHARP = ["os", "socket", "ctypes", "signal", "threading", "pathlib", "subprocess", "resource"]


@contextlib.contextmanager
def executor(imports: list[str] | None = None, **options: Any) -> Iterator[ProcessExecutor]:
    """An executor with one limit out of the way: most tests are about another."""
    options.setdefault("max_operations", 10**12)
    with ProcessExecutor(imports or [], None, **options) as made:
        yield made


def eventually(check: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether ``check`` comes true within ``seconds``."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie that nobody has waited for has."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def descriptors() -> int:
    """How many file descriptors this process has."""
    return len(os.listdir("/proc/self/fd"))
