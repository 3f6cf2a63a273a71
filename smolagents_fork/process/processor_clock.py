"""Processor time of a child, read from outside: no program can set its clock back or ignore it."""

from __future__ import annotations

import contextlib
import time

__all__ = ["ProcessorClock"]

_PAUSE_SECONDS = 0.05  # between two looks at the clock


class ProcessorClock:
    """Limit of the processor time of one run.

    Args:
        seconds: the limit; ``None`` for none, and where the system has no such clock.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._clock = 0
        self._end: float | None = None
        # Monotonic time of the next look.
        self._next = float("inf")

    def begin(self, pid: int) -> None:
        """Count from now on.

        Args:
            pid: the child.
        """
        if self._seconds is None:
            return
        # clock_getcpuclockid(3): CPUCLOCK_SCHED of the whole process.
        self._clock = ~pid << 3 | 2
        now = self._now()
        if now is not None:
            self._end = now + self._seconds
            self._next = 0.0

    def is_over(self, monotonic: float) -> bool:
        """Return whether the child has used more than the limit since :meth:`begin`.

        Args:
            monotonic: the time now. The clock is read 20 times a second at most.
        """
        if monotonic < self._next or self._end is None:
            return False
        self._next = monotonic + _PAUSE_SECONDS
        now = self._now()
        return now is not None and now > self._end

    def __str__(self) -> str:
        return f"cpu_seconds={self._seconds}"

    def _now(self) -> float | None:
        with contextlib.suppress(OSError):  # the child has ended
            return time.clock_gettime(self._clock)
        return None
