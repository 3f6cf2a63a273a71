"""A short busy wait for the other process, before the thread blocks in the kernel.

Two processes that answer each other in microseconds spend most of a call on falling asleep and
being woken on a core with cold caches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["SpinWait"]

_Found = TypeVar("_Found")
_SECONDS = 50e-6
# Most waits that are left out after one that found nothing.
_LEFT_OUT = 1024


class SpinWait:
    """Busy waits of one thread, until something is found.

    After a wait that finds nothing, as on a busy machine or for a slow program, the next one is
    left out, then the next two, four and so on, until one finds something.

    Args:
        seconds: longest wait, in seconds.
        cores: cores that this process may use; ``None`` to ask the system. On one core the other
            process cannot run meanwhile, so that nothing is waited for.
    """

    def __init__(self, seconds: float = _SECONDS, cores: int | None = None) -> None:
        self._seconds = seconds if (cores or _cores()) > 1 else 0.0
        self._pause = 0
        self._left_out = 0

    def wait(self, attempt: Callable[[], _Found | None]) -> _Found | None:
        """Call ``attempt`` until it returns something; ``None`` if it does not within the time."""
        if not self._seconds:
            return None
        if self._left_out < self._pause:
            self._left_out += 1
            return None
        self._left_out = 0
        end = time.perf_counter() + self._seconds
        while True:
            found = attempt()
            if found is not None:
                self._pause = 0
                return found
            if time.perf_counter() >= end:
                self._pause = min(2 * self._pause or 1, _LEFT_OUT)
                return None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
