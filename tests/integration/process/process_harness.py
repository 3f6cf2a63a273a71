"""What the process executor's tests share."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

from background import eventually

from smolagents_fork import ProcessExecutor

# Modules a hostile program would like to have; authorising them shows what the kernel holds by
# itself, behind the interpreter's guards.
SHARP = ["os", "socket", "ctypes", "signal", "threading", "pathlib", "subprocess", "resource"]


@contextlib.contextmanager
def executor(imports: list[str] | None = None, **options: Any) -> Iterator[ProcessExecutor]:
    """An executor with two limits out of the way: most tests are about another."""
    options.setdefault("max_operations", 10**12)
    # On a busy machine a program needs its time to hear that it is to stop.
    options.setdefault("interrupt_grace_seconds", 30.0)
    with ProcessExecutor(imports or [], None, **options) as made:
        yield made


@contextlib.contextmanager
def limited_to(ex: ProcessExecutor, seconds: float) -> Iterator[None]:
    """Calls of ``ex`` have ``seconds``; those before and after, which are to work, have more."""
    before, ex.options.timeout_seconds = ex.options.timeout_seconds, seconds
    try:
        yield
    finally:
        ex.options.timeout_seconds = before


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie that nobody has waited for has."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


class Leavings:
    """File descriptors and threads of this process that were not there when it was made.

    Named, not counted: what an earlier test has left may go in the meantime.
    """

    def __init__(self) -> None:
        gc.collect()
        self._before = self._all()

    def _all(self) -> set[object]:
        found: set[object] = set(threading.enumerate())
        for number in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # of the folder that is read here
                found.add(f"{number} -> {os.readlink(f'/proc/self/fd/{number}')}")
        return found

    def new(self) -> set[object]:
        """What there is more, once what ends by itself has had time to."""
        eventually(lambda: not self._all() - self._before, 20.0)
        return self._all() - self._before
