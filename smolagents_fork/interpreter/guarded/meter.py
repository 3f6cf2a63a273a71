"""Counts what a run uses and ends it at its limits.

Every block of compiled code takes a *tick* before it runs: it tests the next item of an iterator
written in C. Ticks are granted in batches, which are counted in advance. Each batch ends with a
:class:`_Look`, which checks the clock and the limits, and grants another batch. A run that is over
has no ticks left, so every later block, in a handler, a ``finally`` or a ``__del__``, ends here
again.

No signal and no other thread is involved: upstream runs agents in any thread.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import length_hint
from threading import Lock, get_ident
from time import monotonic
from typing import Any, NoReturn

from ...codec.rpc import RUN_ENDED
from ...errors import LimitExceededError, TimeLimitExceededError
from ...options import accept
from ...output import DEFAULT_PRINT_LENGTH
from ...system.forks import ForkSafeLock
from ..stops import FinalAnswer, InterruptStop, ProgramStop, TimeStop

__all__ = [
    "Meter",
    "RunLimits",
    "recursion_room",
]

#: Ticks of the first portion of a run, and of the largest.
_FIRST_TICKS, _MOST_TICKS = 4, 512
#: Looks behind a portion: threads may come to one before the first of them hands out the next.
_LOOKS = 1024
#: Operations that guards charge between two looks at the clock.
_CHARGES = 600
#: A portion that took less than the first, in seconds, doubles the next one; one that took longer
#: than the second makes it smaller.
_QUICK_PORTION, _SLOW_PORTION = 0.0025, 0.02
#: Seconds between two looks at the deadline while a program waits.
_SLICE = 0.05


@dataclass(frozen=True)
class RunLimits:
    """Limits of one run.

    Args:
        max_operations: calls of the program's functions and rounds of its loops, with what guards
            charge for C code.
        max_while_iterations: iterations of one execution of one ``while`` loop; upstream's default.
        max_recursion_depth: Python frames on top of the caller's that there is room for at least;
            the process's own limit is never lowered.
        timeout_seconds: wall clock of one run, in seconds; ``None`` for no limit.
        max_print_outputs_length: characters kept of what a run prints: first and last half.
        max_items: items one operation may put into a list, tuple, set or dict.
        max_text_length: characters or bytes one operation may put into a string or bytes.
        max_integer_bits: bits of the largest integer an operation may make.

    Raises:
        ConfigurationError: a limit is not a positive number.
    """

    max_operations: int = 1_000_000_000
    max_while_iterations: int = 1_000_000
    max_recursion_depth: int = 1000
    timeout_seconds: float | None = 30.0
    max_print_outputs_length: int = DEFAULT_PRINT_LENGTH
    max_items: int = 20_000_000
    max_text_length: int = 100_000_000
    max_integer_bits: int = 1_000_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            check = accept.seconds_or_none if name == "timeout_seconds" else accept.count
            check(name, value)


_recursion_lock = ForkSafeLock()
#: How many ask for room now, and the process's limit before the first of them and after the last
#: change for one.
_recursion_users = _recursion_before = _recursion_raised = 0


@contextmanager
def recursion_room(depth: int) -> Iterator[None]:
    """Give room for ``depth`` frames on top of the caller's.

    The limit is the whole process's, so it is raised and never lowered. It comes back in the end,
    unless somebody else has changed it meanwhile.
    """
    global _recursion_users, _recursion_before, _recursion_raised
    needed, frame = depth, sys._getframe()
    while frame is not None:
        needed, frame = needed + 1, frame.f_back  # type: ignore[assignment]
    with _recursion_lock:
        if _recursion_users == 0:
            _recursion_before = _recursion_raised = sys.getrecursionlimit()
        _recursion_users += 1
        if needed > sys.getrecursionlimit():
            _recursion_raised = needed
            sys.setrecursionlimit(needed)
    try:
        yield
    finally:
        with _recursion_lock:
            _recursion_users -= 1
            if _recursion_users == 0 and sys.getrecursionlimit() == _recursion_raised:
                # Too low for where we are now would be an error; it cannot be, we were here before.
                sys.setrecursionlimit(_recursion_before)


class Meter:
    """Counter, clock and verdict of the runs of one interpreter."""

    def __init__(self, limits: RunLimits) -> None:
        self.limits = limits
        #: What compiled code takes its ticks from, for all runs. It never comes to its end: each
        #: portion sets it back.
        self.ticks: Any = iter([True] * _MOST_TICKS + [_Look(self)] * _LOOKS)
        self._portion = _FIRST_TICKS
        self._portion_since = 0.0
        #: What has ended the run: a limit, an interruption, or the final answer.
        self.end: ProgramStop | FinalAnswer | LimitExceededError | None = None
        #: The final answer; programs may get at the exception, and not at this.
        self.answer: Any = None
        self.running = False
        #: Whether the program may call tools now.
        self.tools = False
        #: Operations of the run that ended last.
        self.count = 0
        #: The run's number, and the program's threads with the number of the run they belong to.
        self.number = 0
        self.threads: dict[int, int] = {}
        #: Operations booked in this run.
        self.used = 0
        #: Operations that guards have charged since the last look at the clock.
        self._charged = 0
        #: When the run ends, by the monotonic clock; in the past once the host has interrupted it.
        self.deadline = math.inf
        #: Over the deadline and what decides about it: interrupt() comes from another thread.
        self._lock = Lock()
        self._interrupted = False
        #: Tools at work; and the time and the count when the last of them came or went.
        self._away = 0
        self._away_since = (0.0, 0)

    # -- called by the interpreter --

    def begin(self, limits: RunLimits, tools: bool = True) -> None:
        """Start a run, with or without tools: everything counted so far is forgotten."""
        self.limits = limits
        self.end = self.answer = None
        self.empty()
        self._portion, self._portion_since = _FIRST_TICKS, monotonic()
        self.used = self._charged = 0
        timeout = limits.timeout_seconds
        with self._lock:
            self.deadline = math.inf if timeout is None else monotonic() + timeout
            self._interrupted = False
            self._away = 0
            self.running = True
            self.tools = tools

    def finish_run(self) -> None:
        """End a run. Its threads end at their next check."""
        with self._lock:
            self.running = self.tools = False
            self.number += 1
            self._return_ticks()
        self.count = self.used

    def ready_for_callbacks(self) -> None:
        """Allow the host to call what the program left behind, within the limits of one run."""
        self.empty()
        self.end = self.answer = None  # they lead to what the program made
        self.used = 0

    def interrupt(self) -> bool:
        """End the run at its next check; from any thread, or from a signal's handler.

        Returns:
            Whether there is a run; without one nothing happens, to the next run neither.
        """
        # No lock: a signal's handler may have interrupted its owner.
        if not self.running:
            return False
        self._interrupted = True
        self.deadline = -math.inf
        self.empty()
        return True

    def finish(self, value: Any) -> NoReturn:
        """Leave the program with the final answer ``value``."""
        answer = FinalAnswer()
        if not self.running:
            raise answer
        if self.threads:
            self.check_thread()
        if self.end is None:
            self.end, self.answer = answer, value
        with self._lock:
            self._return_ticks()
        raise self.end

    # -- called by the program's code and by guards --

    def look(self) -> float:
        """Look at the limits and the clock.

        Returns:
            The time of the monotonic clock, in seconds.

        Raises:
            ProgramStop: a limit is spent, now or before.
            FinalAnswer: the run has its answer.
        """
        self.check()
        now = monotonic()
        if not self.running:
            self._look_afterwards()
        elif self.used >= self.limits.max_operations:
            self._halt(ProgramStop(self._too_many()))
        elif now > self.deadline:
            self.out_of_time()
        return now

    def hand_out_ticks(self) -> None:
        """Look at the limits, and book another portion of ticks."""
        self.empty()  # first, for other threads that come to a look
        now = self.look()
        seconds, self._portion_since = now - self._portion_since, now
        if seconds < _QUICK_PORTION:
            self._portion = min(2 * self._portion, _MOST_TICKS)
        elif seconds > _SLOW_PORTION:
            self._portion = max(1, self._portion >> 2)
        granted = max(1, min(self._portion, self.limits.max_operations - self.used))
        self.used += granted
        # The operation that came to this look is one of them.
        self.ticks.__setstate__(_MOST_TICKS - granted + 1)
        if self.running and (self.end is not None or self.deadline < now):
            self.empty()  # ended meanwhile, from another thread

    def empty(self) -> None:
        """Let the next tick come to a look at the limits, without a lock, from any thread."""
        self.ticks.__setstate__(_MOST_TICKS)

    def _return_ticks(self) -> None:
        """Take back the ticks that are left, with the lock; see :meth:`empty`.

        So the count is that of the program, and not that of portions, whose size the clock decides.
        """
        self.used -= max(0, length_hint(self.ticks) - _LOOKS)
        self.empty()

    def _look_afterwards(self) -> None:
        """Allow code of the program that the host calls between runs the operations of one run.

        Its error is an ordinary one, because it ends in the host's code.
        """
        if self.used >= self.limits.max_operations:
            self.used = 0
            raise LimitExceededError(self._too_many())

    def charge(self, operations: int) -> None:
        """Charge work that a guard lets one C call do."""
        self.used += operations
        self._charged += operations
        if self._charged > _CHARGES or self.used >= self.limits.max_operations:
            self._charged = 0
            self.look()

    def check(self) -> None:
        """Raise again what has ended the run, which the program may have caught."""
        if self.threads:
            self.check_thread()
        if self.end is not None and self.running:
            # A loop of catching and raising must not make the traceback longer and longer.
            raise self.end.with_traceback(self.end.__traceback__)

    def check_thread(self) -> None:
        """End the thread this is called in if it belongs to a run that is over."""
        if self.threads.get(get_ident(), self.number) != self.number:
            raise ProgramStop("the run that this thread belongs to is over")

    def while_exceeded(self) -> NoReturn:
        """End the run because a ``while`` loop went round too often."""
        most = self.limits.max_while_iterations
        self._halt(
            ProgramStop(
                f"Maximum number of {most} iterations in While loop exceeded "
                "(max_while_iterations raises it)"
            )
        )

    def too_large(self, message: str) -> NoReturn:
        """End the run because one operation would use too much; ``message`` names the figure."""
        self._halt(ProgramStop(message))

    def out_of_time(self) -> NoReturn:
        """End the run because its time is over, or was ended by the host."""
        if self._interrupted:
            self._halt(InterruptStop("the code was interrupted by interrupt(); its state is kept"))
        self._halt(TimeStop(self._too_long()))

    def waiting(self) -> float:
        """Check at every turn of a wait, which ends here with the run.

        Returns:
            Seconds to the next check.
        """
        self.check()
        if not self.running or (self._away and not self._interrupted):
            return _SLICE  # the clock is stopped
        seconds_left = self.deadline - monotonic()
        if seconds_left <= 0:
            self.out_of_time()
        return min(seconds_left, _SLICE)

    # -- while a tool of the host works --

    def pause(self) -> int:
        """Stop the clock: a tool begins to work.

        Returns:
            The run's number, for :meth:`resume`.

        Raises:
            ProgramStop, FinalAnswer: the run is over; no tool may be called.
            RuntimeError: there is no run, or it is one without tools.
        """
        self.check()
        if not self.tools:
            raise RuntimeError(RUN_ENDED)
        with self._lock:
            self._extend_deadline()
            self._away += 1
            return self.number

    def resume(self, number: int) -> None:
        """Start the clock again: the tool has ended, perhaps after the run that called it."""
        with self._lock:
            if number == self.number:
                self._extend_deadline()
                self._away = max(0, self._away - 1)

    def _extend_deadline(self) -> None:
        """Extend the deadline by what tools have worked since the last of them came or went.

        Not so if code of the program ran meanwhile, which the count shows: a function that was
        given to the tool, or another thread.
        """
        # Without ticks at hand, all that the program does from now on shows in the count.
        self._return_ticks()
        now, counter = monotonic(), self.used
        since, before = self._away_since
        if self._away and counter == before:
            self.deadline += now - since
        self._away_since = (now, counter)

    def check_interrupted(self) -> None:
        """End the run if the host has asked for that."""
        if self._interrupted and self.running and self.end is None:
            self.out_of_time()

    # -- inside --

    def _too_many(self) -> str:
        return (
            f"Reached the max number of operations of {self.limits.max_operations}. Maybe there is "
            "an infinite loop somewhere in the code, or you're just asking too many calculations. "
            "(max_operations raises it)"
        )

    def _too_long(self) -> str:
        return (
            "Code execution exceeded the maximum execution time of "
            f"{self.limits.timeout_seconds} seconds"
        )

    def _halt(self, stop: ProgramStop) -> NoReturn:
        if not self.running:
            # The host called something of the program's between runs: it gets an ordinary error.
            cls = TimeLimitExceededError if isinstance(stop, TimeStop) else LimitExceededError
            raise cls(str(stop))
        if self.end is None:
            self.end = stop
        self.empty()
        raise self.end


class _Look:
    """A tick that looks at the limits, and has the meter hand out the next ones."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __bool__(self) -> bool:
        self._meter.hand_out_ticks()
        return True

    def __reduce__(self) -> NoReturn:
        raise TypeError("a program's function cannot leave the process that counts its calls")
