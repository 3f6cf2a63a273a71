"""Counts what a run uses and stops it at its limits.

The program carries its own counter: a closure cell that every block of compiled code lowers by the
block's weight and compares with zero. Only when it falls below zero is :meth:`Meter.refill` called,
which books what was used, looks at the clock and hands out the next portion. A stopped meter leaves
the cell below zero, so that every later check, in a handler, a ``finally`` or a ``__del__``, ends
here again: a limit can be seen once more, but never outlived.

No signal is involved, and no thread but watch.py's: upstream runs agents in any thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from threading import Lock, get_ident
from types import CellType
from typing import Any, NoReturn

from ..errors import LimitExceededError, TimeLimitExceededError
from . import watch
from .limits import Limits
from .shared_clock import ProgramStop, SharedClock

__all__ = ["FinalAnswer", "InterruptStop", "LateStop", "Meter", "ProgramStop", "TimeStop"]

#: Operations between two looks at the clock: about 30 microseconds of plain code. Slow operations
#: shrink it, see refill().
PORTION = 600
SMALLEST_PORTION = 20
#: A portion that took longer than this (seconds) makes the next one smaller.
SLOW_PORTION = 0.02
#: Seconds a run may be late before watch.py ends what it is in.
GRACE = 0.2


#: Operations that ``finally`` and ``__exit__`` may use between them after a final answer.
_CLEANING_UP = 100_000


class TimeStop(ProgramStop):
    """The wall clock is spent."""


class InterruptStop(ProgramStop):
    """The host asked the program to stop."""


class LateStop(ProgramStop):
    """Raised by watch.py in the middle of what looks at no clock; the meter knows the reason."""


class FinalAnswer(BaseException):
    """``final_answer`` was called; ends the run through every handler of the program."""


class Meter(SharedClock):
    """Counter, clock and verdict of the runs of one interpreter.

    Args:
        limits: the limits in force.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.cell = CellType(-1)
        self.stop: BaseException | None = None
        self.final: FinalAnswer | None = None
        self._latest = self._answered = 0
        #: What was answered; programs may get at the exception, and not at this.
        self.answer: Any = None
        self.running = False
        self.count = {"counter": 0}
        self._used = 0
        self._portion = 0
        self._size = PORTION
        self._deadline: float | None = None
        self._last_look = 0.0
        self._afterwards = 0.0
        self._clock: Callable[[], float] = time.monotonic
        #: Over the deadline and what decides about it: interrupt() comes from another thread.
        self._lock = Lock()
        self._interrupted = False
        #: Tools at work; and what may not be broken off.
        self._away = 0
        self._left = (0.0, 0)
        self._whole = 0
        self._thread = 0
        #: The run's number, and the program's threads with the number of the run they belong to.
        self.number = 0
        self.threads: dict[int, int] = {}
        #: Top-level packages that a late run may be broken off in, besides Python's library.
        self.roots: Callable[[], Iterable[str]] = frozenset
        self._shot = False
        self._shot_at = -math.inf

    # -- called by the interpreter --

    def begin(self, limits: Limits) -> None:
        """Start a run: everything counted so far is forgotten."""
        self.limits = limits
        self.stop = None
        self.final = self.answer = None
        self._latest = 0
        self.count = {"counter": 0}
        self._used = 0
        self._size = PORTION
        self._last_look = self._clock()
        timeout = limits.timeout_seconds
        with self._lock:
            self._deadline = None if timeout is None else self._last_look + timeout
            self._interrupted = False
            self._away = self._whole = 0
            self._thread = get_ident()
            self._shot, self._shot_at = False, -math.inf
            self.running = True
        if timeout is not None:
            watch.watch(self)
        self._hand_out()

    def end(self) -> None:
        """End a run: book what is left, and let nothing of the program run for free afterwards."""
        self.number += 1
        self._book()
        watch.forget(self)
        self._afterwards = 0.0
        self._used = 0
        self._hand_out()
        with self._lock:
            # Last: whoever is interrupted before this comes here again.
            self.running = False
            if self._shot:
                watch.raise_in(self._thread, None)

    def interrupt(self) -> bool:
        """Let the run end at its next look at the clock; from any thread.

        Returns:
            Whether there is a run; without one nothing happens, to the next run neither.
        """
        with self._lock:
            if self.running:
                self._interrupted = True
                self._deadline = -math.inf
                watch.watch(self)
            return self.running

    def end_if_late(self) -> None:
        """Called by watch.py: raise in the run's thread if the run has missed its deadline."""
        with self._lock:
            now = self._clock()
            late = self._deadline is not None and now > self._deadline + GRACE
            again = now > self._shot_at + 1.0
            still = self._away and self.cell.cell_contents == self._left[1]
            if not (late and again and self.running) or still or self._whole:
                return
            if not watch.break_off(self._thread, LateStop, self.roots()):
                return
            self._shot, self._shot_at = True, now
            if self.stop is None:
                self.stop = self._time_stop()
            self.cell.cell_contents = -1

    # -- while a tool of the host works: see shared_clock.py --

    def check_interrupted(self) -> None:
        """Stop the run if that was asked for."""
        if self._interrupted and self.running:
            self.out_of_time()

    # -- called by the program's code and by guards --

    def refill(self) -> bool:
        """Book the used portion; hand out the next, or stop the run.

        Raises:
            ProgramStop: a limit is spent, now or before.
        """
        if self.threads:
            self.check_thread()
        if self.stop is not None:
            self.cell.cell_contents = -1
            raise self.stop
        self._book()
        now = self._clock()
        if not self.running:
            return self._refill_afterwards(now)
        if self._used > self.limits.max_operations:
            self._halt(ProgramStop(self._too_many()))
        if self._deadline is not None and now > self._deadline:
            self.out_of_time()
        if self.final is not None and self._used > self._latest:
            raise self.final
        if now - self._last_look > SLOW_PORTION:
            self._size = max(SMALLEST_PORTION, self._size // 8)
        elif self._size < PORTION:
            self._size = min(PORTION, self._size * 2)
        self._last_look = now
        self._hand_out()
        return True

    def _refill_afterwards(self, now: float) -> bool:
        """For code of the program that the host calls between runs: ``repr``, a callback.

        It has the limits of one run between two runs, and its error is an ordinary one, because
        it ends in the host's code.
        """
        self._afterwards += min(now - self._last_look, 0.5)
        self._last_look = now
        limits = self.limits
        if self._used > limits.max_operations:
            self._halt(LimitExceededError(self._too_many()))
        if limits.timeout_seconds is not None and self._afterwards > limits.timeout_seconds:
            self._halt(TimeLimitExceededError(self._too_long()))
        self._hand_out()
        return True

    def charge(self, operations: int) -> None:
        """Charge work a guard lets one C call do."""
        left = self.cell.cell_contents - operations
        self.cell.cell_contents = left
        if left < 0:
            self.refill()

    def came_late(self, late: LateStop) -> None:
        """Take the place that ``late`` was raised at for the place of the stop it stands for."""
        if self.stop is None:
            self.stop = self._time_stop()
        self.stop.__traceback__ = self.stop.__traceback__ or late.__traceback__

    def out_of_time(self) -> NoReturn:
        """Stop the run because its time is over, or was ended by the host."""
        self._halt(self._time_stop())

    def _time_stop(self) -> ProgramStop:
        if self._interrupted:
            return InterruptStop("the code was interrupted by interrupt(); its state is kept")
        return TimeStop(self._too_long())

    def while_exceeded(self) -> NoReturn:
        """Stop the run because a ``while`` loop went round too often."""
        self._halt(
            ProgramStop(
                f"Maximum number of {self.limits.max_while_iterations} iterations in While loop "
                "exceeded"
            )
        )

    def too_large(self, message: str) -> NoReturn:
        """Stop the run because one operation would use too much; ``message`` names the figure."""
        self._halt(ProgramStop(message))

    def seconds_left(self) -> float | None:
        """Seconds to the deadline, at least 0; ``None`` without one."""
        if self._deadline is None or not self.running:
            return None
        return max(0.0, self._deadline - self._clock())

    def finish(self, value: Any) -> NoReturn:
        """Leave the program with the final answer ``value``."""
        answer = FinalAnswer(value)
        if not self.running:
            raise answer
        if self.final is None:
            self._answered = get_ident()
            # Its handlers may clean up, and may not go on for ever.
            self.final, self.answer = answer, value
            self._latest = self._used + _CLEANING_UP
        raise self.final

    def caught(self) -> None:
        """Called where the program may have caught everything: what ends a run goes on."""
        if self.threads:
            self.check_thread()
        if self.stop is not None:
            raise self.stop
        if self.final is not None:
            raise self.final

    def round(self, rounds: int, weight: int, portion: int) -> int:
        """A loop has made ``rounds`` rounds: count them, hand out the next portion."""
        self.charge(rounds * weight)
        self.look()
        return portion if self._size == PORTION else 2

    def while_round(self, rounds: int, weight: int, portion: int, total: int) -> int:
        """The same for a ``while`` loop, which has a limit of its own."""
        most = self.limits.max_while_iterations
        if total > most:
            self.while_exceeded()
        self.charge(rounds * weight)
        self.look()
        return min(portion if self._size == PORTION else 2, most + 1 - total)

    def look(self) -> None:
        """Look at the clock."""
        if self.threads:
            self.check_thread()
        now = self._clock()
        if self.running and self._deadline is not None and now > self._deadline:
            self.out_of_time()
        if now - self._last_look > SLOW_PORTION:
            self._size = SMALLEST_PORTION
        self._last_look = now

    def stopped(self) -> None:
        """Raise again if a limit is spent."""
        if self.threads:
            self.check_thread()
        if self.stop is not None:
            raise self.stop

    # -- inside --

    def _too_many(self) -> str:
        return (
            f"Reached the max number of operations of {self.limits.max_operations}. Maybe there is "
            "an infinite loop somewhere in the code, or you're just asking too many calculations."
        )

    def _too_long(self) -> str:
        return (
            "Code execution exceeded the maximum execution time of "
            f"{self.limits.timeout_seconds} seconds"
        )

    def _halt(self, stop: BaseException) -> NoReturn:
        if not self.running and isinstance(stop, ProgramStop):
            # The host called something of the program's between runs: it gets an ordinary error.
            kind = TimeLimitExceededError if isinstance(stop, TimeStop) else LimitExceededError
            stop = kind(str(stop))
        self.stop = stop
        self.cell.cell_contents = -1
        raise stop

    def _book(self) -> None:
        self._used += self._portion - self.cell.cell_contents
        self.count["counter"] = self._used
        self._portion = 0
        self.cell.cell_contents = 0

    def _hand_out(self) -> None:
        # One below the limit's rest, so that the last portion ends where the limit does.
        size = min(self._size, max(0, self.limits.max_operations - self._used))
        self._portion = size
        self.cell.cell_contents = size
