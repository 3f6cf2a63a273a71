"""Counts what a run uses and ends it at its limits.

A program carries its own counter: a closure cell that every block of compiled code lowers by the
block's cost and compares with zero. Only when it falls below zero is :meth:`Meter.refill` called,
which books what was used, looks at the clock and hands out the next portion. The cell of a run that
is over stays below zero, so that every later check, in a handler, a ``finally`` or a ``__del__``,
ends here again: the end can be seen once more, but never outlived.

No signal and no other thread is involved: upstream runs agents in any thread.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, compress, cycle, repeat
from threading import Lock, get_ident
from types import CellType, GeneratorType
from typing import Any, NoReturn

from ..errors import ConfigurationError, LimitExceededError, TimeLimitExceededError

__all__ = [
    "FinalAnswer",
    "InterruptStop",
    "Limits",
    "Meter",
    "MeteredItems",
    "ProgramStop",
    "TimeStop",
    "recursion_limit",
]

#: Operations between two looks at the clock: about 30 microseconds of plain code. Slow operations
#: shrink it, see refill().
PORTION = 600
SMALLEST_PORTION = 20
#: A portion that took longer than this, in seconds, makes the next one smaller.
SLOW_PORTION = 0.02
#: More seconds than the system's calls that wait can count.
_LONGEST_SECONDS = 1_000_000_000


@dataclass(frozen=True)
class Limits:
    """Limits of one run.

    Args:
        max_operations: syntax-tree nodes a run may evaluate, counted by blocks; upstream's default.
        max_while_iterations: iterations of one execution of one ``while`` loop; upstream's default.
        max_recursion_depth: Python frames on top of the caller's; CPython's own default.
        timeout_seconds: wall clock of one run, in seconds; ``None`` for no limit.
        max_print_outputs_length: characters kept of what a run prints: first and last half.
        max_items: items one operation may put into a list, tuple, set or dict.
        max_text_length: characters or bytes one operation may put into a string or bytes.
        max_integer_bits: bits of the largest integer an operation may make.

    Raises:
        ConfigurationError: a limit is not a positive number.
    """

    max_operations: int = 10_000_000
    max_while_iterations: int = 1_000_000
    max_recursion_depth: int = 1000
    timeout_seconds: float | None = 30.0
    max_print_outputs_length: int = 50_000
    max_items: int = 20_000_000
    max_text_length: int = 100_000_000
    max_integer_bits: int = 1_000_000

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if value is None and name == "timeout_seconds":
                continue
            kinds = (int, float) if name == "timeout_seconds" else (int,)
            if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0:
                raise ConfigurationError(f"{name} must be a positive number, got {value!r}")
        if self.timeout_seconds is not None and self.timeout_seconds > _LONGEST_SECONDS:
            raise ConfigurationError(
                f"timeout_seconds={self.timeout_seconds!r}: give at most {_LONGEST_SECONDS:,} "
                "seconds, some thirty years, or None for no limit"
            )


_recursion_lock = Lock()
_recursion_users = 0
_recursion_before = 0


@contextmanager
def recursion_limit(depth: int, *, lower: bool = True) -> Iterator[None]:
    """Give room for ``depth`` frames on top of the caller's; the process's own limit comes back.

    Args:
        depth: frames.
        lower: whether there may be less room than before; never so while others have asked.
    """
    global _recursion_users, _recursion_before
    here, frame = 0, sys._getframe()
    while frame is not None:
        here, frame = here + 1, frame.f_back  # type: ignore[assignment]
    with _recursion_lock:
        if _recursion_users == 0:
            _recursion_before = sys.getrecursionlimit()
        lower = lower and _recursion_users == 0
        _recursion_users += 1
        if lower or here + depth > sys.getrecursionlimit():
            sys.setrecursionlimit(here + depth)
    try:
        yield
    finally:
        with _recursion_lock:
            _recursion_users -= 1
            if _recursion_users == 0:
                # Too low for where we are now would be an error; it cannot be, we were here before.
                sys.setrecursionlimit(_recursion_before)


class ProgramStop(BaseException):
    """A limit is spent. A BaseException, so that ``except Exception`` does not see it."""


class TimeStop(ProgramStop):
    """The wall clock is spent."""


class InterruptStop(ProgramStop):
    """The host asked the program to stop."""


class FinalAnswer(BaseException):
    """``final_answer`` was called; ends the run through every handler of the program."""


class Meter:
    """Counter, clock and verdict of the runs of one interpreter.

    Args:
        limits: the limits in force.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        #: The program's counter.
        self.cell = CellType(-1)
        #: What has ended the run: a limit, an interruption, or the final answer.
        self.end: ProgramStop | FinalAnswer | LimitExceededError | None = None
        #: The final answer; programs may get at the exception, and not at this.
        self.answer: Any = None
        self.running = False
        #: Operations used, in the form in which upstream shows them.
        self.count = {"counter": 0}
        #: The run's number, and the program's threads with the number of the run they belong to.
        self.number = 0
        self.threads: dict[int, int] = {}
        self._class_rounds: dict[str, int] = {}
        self._used = 0
        self._portion = 0
        self._size = PORTION
        self._deadline: float | None = None
        self._last_look = 0.0
        self._afterwards = 0.0
        #: Over the deadline and what decides about it: interrupt() comes from another thread.
        self._lock = Lock()
        self._interrupted = False
        #: Tools at work; and the time and the counter when the last of them came or went.
        self._away = 0
        self._away_since = (0.0, 0)

    # -- called by the interpreter --

    def begin(self, limits: Limits) -> None:
        """Start a run: everything counted so far is forgotten."""
        self.limits = limits
        self.end = self.answer = None
        self.count = {"counter": 0}
        self._used = 0
        self._size = PORTION
        self._last_look = time.monotonic()
        timeout = limits.timeout_seconds
        with self._lock:
            self._deadline = None if timeout is None else self._last_look + timeout
            self._interrupted = False
            self._away = 0
            self.running = True
        self._hand_out()

    def finish_run(self) -> None:
        """End a run: book what is left. Its threads end at their next check."""
        with self._lock:
            self.running = False
            self.number += 1
        self._book()
        self.cell.cell_contents = -1

    def ready_for_callbacks(self) -> None:
        """Allow the host to call what the program left behind, within the limits of one run."""
        self.cell.cell_contents = 0
        self._portion = 0
        self._afterwards = 0.0
        self._used = 0
        self._hand_out()

    def interrupt(self, stop: ProgramStop | None = None) -> bool:
        """End the run at its next check; from any thread, or from a signal's handler.

        Args:
            stop: what to end it with; by default an :class:`InterruptStop`.

        Returns:
            Whether there is a run; without one nothing happens, to the next run neither.
        """
        # No lock: a signal's handler may have interrupted its owner.
        if not self.running:
            return False
        if stop is not None and self.end is None:
            self.end = stop
        self._interrupted = True
        self._deadline = -math.inf
        self.cell.cell_contents = -1
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
        self._close()
        raise self.end

    # -- called by the program's code and by guards --

    def refill(self) -> bool:
        """Book the used portion; hand out the next, or end the run.

        Raises:
            ProgramStop: a limit is spent, now or before.
            FinalAnswer: the run has its answer.
        """
        if self.threads:
            self.check_thread()
        if self.end is not None and self.running:
            self._end_again()
        self._book()
        now = time.monotonic()
        if not self.running:
            return self._refill_afterwards(now)
        if self._used > self.limits.max_operations:
            self._halt(ProgramStop(self._too_many()))
        if self._deadline is not None and now > self._deadline:
            self.out_of_time()
        if now - self._last_look > SLOW_PORTION:
            self._size = max(SMALLEST_PORTION, self._size // 8)
        elif self._size < PORTION:
            self._size = min(PORTION, self._size * 2)
        self._last_look = now
        self._hand_out()
        return True

    def _refill_afterwards(self, now: float) -> bool:
        """Allow code of the program that the host calls between runs the limits of one run.

        Its error is an ordinary one, because it ends in the host's code.
        """
        self._afterwards += min(now - self._last_look, 0.5)
        self._last_look = now
        timeout = self.limits.timeout_seconds
        if self._used > self.limits.max_operations:
            self._used = 0
            raise LimitExceededError(self._too_many())
        if timeout is not None and self._afterwards > timeout:
            self._afterwards = 0.0
            raise TimeLimitExceededError(self._too_long())
        self._hand_out()
        return True

    def charge(self, operations: int) -> None:
        """Charge work that a guard lets one C call do."""
        left = self.cell.cell_contents - operations
        self.cell.cell_contents = left
        if left < 0:
            self.refill()

    def check(self) -> None:
        """Raise again what has ended the run; see also whether the run is still the thread's."""
        if self.threads:
            self.check_thread()
        if self.end is not None and self.running:
            self._end_again()

    #: Called where the program may have caught everything: what ends a run goes on.
    caught = check

    def check_thread(self) -> None:
        """End the thread this is called in if it belongs to a run that is over."""
        if self.threads.get(get_ident(), self.number) != self.number:
            raise ProgramStop("the run that this thread belongs to is over")

    def look(self) -> None:
        """Look at the clock."""
        self.check()
        now = time.monotonic()
        if self.running and self._deadline is not None and now > self._deadline:
            self.out_of_time()
        if now - self._last_look > SLOW_PORTION:
            self._size = SMALLEST_PORTION
        self._last_look = now

    def round(self, rounds: int, cost: int, portion: int) -> int:
        """Count ``rounds`` rounds that a loop has made; hand out the next portion."""
        self.charge(rounds * cost)
        self.look()
        return portion if self._size == PORTION else 2

    def while_round(self, rounds: int, cost: int, portion: int, total: int) -> int:
        """Do the same for a ``while`` loop, which has a limit of its own."""
        most = self.limits.max_while_iterations
        if total > most:
            self.while_exceeded()
        self.charge(rounds * cost)
        self.look()
        return min(portion if self._size == PORTION else 2, most + 1 - total)

    def class_loop(self, place: str) -> None:
        """Begin a ``while`` loop of a class body, whose rounds are counted here, by its place."""
        self._class_rounds[place] = 0

    def class_round(self, place: str, cost: int) -> bool:
        """Count one round of it; there is always another one."""
        self._class_rounds[place] += 1
        if self._class_rounds[place] > self.limits.max_while_iterations + 1:
            self.while_exceeded()
        self.charge(cost)
        return True

    def while_exceeded(self) -> NoReturn:
        """End the run because a ``while`` loop went round too often."""
        most = self.limits.max_while_iterations
        self._halt(ProgramStop(f"Maximum number of {most} iterations in While loop exceeded"))

    def too_large(self, message: str) -> NoReturn:
        """End the run because one operation would use too much; ``message`` names the figure."""
        self._halt(ProgramStop(message))

    def out_of_time(self) -> NoReturn:
        """End the run because its time is over, or was ended by the host."""
        if self._interrupted:
            self._halt(InterruptStop("the code was interrupted by interrupt(); its state is kept"))
        self._halt(TimeStop(self._too_long()))

    def seconds_left(self) -> float | None:
        """Give the seconds to the deadline, at least 0; ``None`` without one."""
        if self._deadline is None or not self.running:
            return None
        return max(0.0, self._deadline - time.monotonic())

    def waiting(self) -> float | None:
        """Check at every turn of a wait, which ends here with the run.

        Returns:
            Seconds to the deadline, ``None`` without one.
        """
        self.check()
        if self._away and not self._interrupted:
            return None  # the clock is stopped
        left = self.seconds_left()
        if left is not None and left <= 0:
            self.out_of_time()
        return left

    # -- while a tool of the host works --

    def pause(self) -> int:
        """Stop the clock: a tool begins to work.

        Returns:
            The run's number, for :meth:`resume`.

        Raises:
            ProgramStop, FinalAnswer: the run is over; no tool may be called.
        """
        self.check()
        with self._lock:
            self._put_off()
            self._away += 1
            return self.number

    def resume(self, number: int) -> None:
        """Start the clock again: the tool has ended, perhaps after the run that called it."""
        with self._lock:
            if number == self.number:
                self._put_off()
                self._away = max(0, self._away - 1)

    def _put_off(self) -> None:
        """Put the deadline off by what tools have worked since the last of them came or went.

        Not so if code of the program ran meanwhile, which the counter shows: a function that was
        given to the tool, or another thread.
        """
        now, counter = time.monotonic(), self.cell.cell_contents
        since, before = self._away_since
        if self._away and counter == before and self._deadline is not None:
            self._deadline += now - since
            self._last_look += now - since
        self._away_since = (now, counter)

    def check_interrupted(self) -> None:
        """End the run if the host has asked for that."""
        if self._interrupted and self.running and self.end is None:
            self.out_of_time()

    # -- inside --

    def _end_again(self) -> NoReturn:
        assert self.end is not None
        self.cell.cell_contents = -1
        # A loop of catching and raising must not make the traceback longer and longer.
        raise self.end.with_traceback(self.end.__traceback__)

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

    def _halt(self, stop: ProgramStop) -> NoReturn:
        if not self.running:
            # The host called something of the program's between runs: it gets an ordinary error.
            kind = TimeLimitExceededError if isinstance(stop, TimeStop) else LimitExceededError
            raise kind(str(stop))
        if self.end is None:
            self.end = stop
        self._close()
        raise self.end

    def _close(self) -> None:
        """Book what was used, and leave the cell below zero."""
        self._book()
        self._portion = self.cell.cell_contents = -1

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


#: Exact types with a size; those of them that cannot grow while they are iterated over.
_FIXED = frozenset(
    {
        *(tuple, range, str, bytes, dict, set, frozenset),
        *(type({}.keys()), type({}.values()), type({}.items())),
    }
)
_SIZED = _FIXED | {list}
_FEW_ITEMS = 64
#: Items of a list that a loop counts ahead; of more it may be left early.
_COUNTED_AHEAD = 1000
#: A range of more items than this is metered where C code goes over it.
_LONG_RANGE = 1_000_000
#: A chunk of items that took longer than this, in seconds, makes the next one smaller.
_SLOW_CHUNK = 0.02


def _size(items: Any) -> int:
    """Count the items; a range may have more than ``len`` can say."""
    try:
        return len(items)
    except OverflowError:
        return 1 << 63


class _Counter(map):  # type: ignore[type-arg]
    """An iterator without items that charges for what was taken before it when it is asked.

    A kind of ``map`` for its ``__iter__``, which is C code.
    """

    meter: Meter
    items: list[bool]
    since: float

    def __next__(self) -> NoReturn:
        size = len(self.items)
        self.meter.charge(size * 4)
        now = time.monotonic()
        if now - self.since > _SLOW_CHUNK:
            del self.items[max(1, size >> 2) :]
            self.meter.look()
        elif size < 256 and now - self.since < _SLOW_CHUNK / 8:
            self.items.extend([True] * size)
        self.since = now
        raise StopIteration


class MeteredItems:
    """Sources of loops, comprehensions and C code: counted ahead, or item by item.

    Args:
        meter: counts.
        is_program_file: tells whether a code object's file name is a program's.
    """

    def __init__(self, meter: Meter, is_program_file: Callable[[str], bool]) -> None:
        self._meter = meter
        self._is_program_file = is_program_file

    def _counts_itself(self, items: Any) -> bool:
        return type(items) is GeneratorType and self._is_program_file(items.gi_code.co_filename)

    def counted(self, items: Any, cost: int) -> Any:
        """Meter the source of a loop that calls nothing and always runs to its end."""
        if type(items) in _SIZED and _size(items) <= _COUNTED_AHEAD:
            self._meter.charge(len(items) * cost)
            return items
        return items if self._counts_itself(items) else self.metered(items, cost)

    def counted_growing(self, items: Any, cost: int) -> Any:
        """Do the same for a loop that may add to the list it goes over."""
        return self.metered(items, cost) if type(items) is list else self.counted(items, cost)

    def each(self, items: Any, cost: int) -> Any:
        """Meter the source of a comprehension that calls nothing."""
        if type(items) in _SIZED and _size(items) <= self._meter.limits.max_operations:
            self._meter.charge(len(items) * cost)
            return items
        return self.metered(items, cost)

    def each_lazy(self, items: Any, cost: int) -> Any:
        """Meter the source of a generator expression that calls nothing; it may be left early."""
        # A list may grow while it is gone over: a.extend(x for x in a).
        if type(items) in _FIXED and _size(items) <= _FEW_ITEMS:
            self._meter.charge(len(items) * cost)
            return items
        return items if self._counts_itself(items) else self.metered(items, cost)

    def each_heavy(self, items: Any, cost: int) -> Any:
        """Meter the source of a comprehension that calls something, which may let a list grow."""
        if type(items) in _FIXED and _size(items) <= _FEW_ITEMS:
            self._meter.charge(len(items) * cost)
            return items
        return compress(items, chain.from_iterable(self._chunks(cost, 32)))

    def fed(self, items: Any) -> Any:
        """Meter an iterator that C code takes item by item, perhaps without an end."""
        if type(items) in _SIZED or not hasattr(type(items), "__next__"):
            return items
        return self.metered(items, 1)

    def fed_range(self, items: Any) -> Any:
        """Meter a long range that C code goes over."""
        if type(items) is not range or _size(items) <= _LONG_RANGE:
            return items
        return self.metered(items, 1)

    def metered(self, items: Iterable[Any], cost: int = 4) -> Iterator[Any]:
        """Give ``items`` at nearly C speed, charged and clocked every 256 of them.

        The default cost is that of a round of the smallest loop in upstream's count.
        """
        return compress(items, chain.from_iterable(self._chunks(cost, 256)))

    def ticks(self) -> Iterator[bool]:
        """Give ``True`` without end, charged and clocked as :meth:`metered` does, for all runs.

        An iterator that has raised has ended, generators and a chain's source too. What a chain
        goes over may raise, and it goes on there: a limit ends a run, and not the next one.
        """
        counter = _Counter(bool, ())
        counter.meter, counter.items, counter.since = self._meter, [True] * 4, time.monotonic()
        return chain.from_iterable(cycle((counter.items, counter)))

    def _chunks(self, cost: int, most: int) -> Iterator[Iterable[bool]]:
        # From small to large, so that short sources cost what they are, and as long as the items
        # are quick: one of them may be a million additions. C consumers of an endless source come
        # by here often enough for the clock.
        meter = self._meter
        size, since = 4, time.monotonic()
        while True:
            yield repeat(True, size)
            meter.charge(size * cost)
            now = time.monotonic()
            if now - since > _SLOW_CHUNK:
                size = max(1, size >> 2)
                meter.look()
            elif size < most and now - since < _SLOW_CHUNK / 8:
                size *= 2
            since = now
