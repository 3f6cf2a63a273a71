"""Deadlines on the monotonic clock.

A wall clock may be set back while code waits; ``time.monotonic`` may not. Every wait in the fork
uses a :class:`Deadline`, never a bare number of seconds. A limit therefore counts once, from the
moment it was set, and does not restart in each layer.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from typing import TypeVar

from .errors import ForkError

__all__ = ["LONGEST_SECONDS", "Deadline", "within"]

_Result = TypeVar("_Result")

#: Some waiting system calls overflow beyond this.
LONGEST_SECONDS = 1_000_000_000


def within(
    seconds: float,
    work: Callable[[], _Result],
    late: ForkError,
    undo: Callable[[_Result], object] = lambda _result: None,
) -> _Result:
    """Return the result of work that itself takes no limit, such as the look-up of a name.

    Args:
        seconds: Seconds to wait at most; what takes longer goes on in a thread of its own.
        work: returns the result.
        late: raised when it takes longer.
        undo: takes a result that comes too late.
    """
    outcome: Future[_Result] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            with contextlib.suppress(InvalidStateError):
                outcome.set_exception(error)
            return
        try:
            outcome.set_result(result)
        except InvalidStateError:  # too late
            undo(result)

    threading.Thread(target=run, name="smolagents-fork-within", daemon=True).start()
    try:
        return outcome.result(seconds)
    except (FutureTimeoutError, TimeoutError):
        if outcome.cancel():
            raise late from None
        return outcome.result()


class Deadline:
    """A deadline on the monotonic clock that can be paused.

    Args:
        seconds: seconds from now; ``None`` never expires.
        clock: the clock, for tests; must never go backwards.
    """

    def __init__(
        self, seconds: float | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._started = clock()
        self._end = None if seconds is None else self._started + seconds
        self._paused_at: float | None = None
        self._paused_total = 0.0

    def remaining(self) -> float | None:
        """Return the seconds left, 0.0 after expiry; ``None`` if the deadline never expires."""
        if self._end is None:
            return None
        now = self._clock() if self._paused_at is None else self._paused_at
        return max(0.0, self._end - now)

    def expired(self) -> bool:
        """Return whether no time is left."""
        return self.remaining() == 0.0

    def elapsed(self) -> float:
        """Return the seconds since the deadline was set, excluding pauses."""
        now = self._clock() if self._paused_at is None else self._paused_at
        return now - self._started - self._paused_total

    def at_most(self, seconds: float) -> float:
        """Return the smaller of ``seconds`` and the time left, as the limit of one poll."""
        remaining = self.remaining()
        return seconds if remaining is None else min(seconds, remaining)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock inside the block, for example while the host works for the sandbox.

        Nested blocks count once.
        """
        if self._paused_at is not None:
            yield
            return
        self._paused_at = self._clock()
        try:
            yield
        finally:
            spent = self._clock() - self._paused_at
            self._paused_at = None
            self._paused_total += spent
            if self._end is not None:
                self._end += spent
