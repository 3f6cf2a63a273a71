"""The part of the meter that knows who else works: tools of the host, and the program's threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, get_ident
from types import CellType
from typing import NoReturn

from .metered_items import MeteredItems

__all__ = ["ProgramStop", "SharedClock"]


class ProgramStop(BaseException):
    """A limit is spent. A BaseException, so that ``except Exception`` does not see it."""


def _settle() -> None:
    """A call of a Python function: an exception that another thread has set is raised here."""


class SharedClock(MeteredItems):
    """A run's clock, which stands still while tools work, and which threads look at, too."""

    cell: CellType
    stop: BaseException | None
    final: BaseException | None
    number: int
    threads: dict[int, int]
    _lock: Lock
    _deadline: float | None
    _last_look: float
    _left: tuple[float, int]
    _away: int
    _whole: int
    _answered: int
    _interrupted: bool
    _used: int

    @abstractmethod
    def stopped(self) -> None:
        """Raise again if a limit is spent."""

    @abstractmethod
    def seconds_left(self) -> float | None:
        """Seconds to the deadline."""

    @abstractmethod
    def out_of_time(self) -> NoReturn:
        """Stop the run because its time is over."""

    @abstractmethod
    def _book(self) -> None: ...

    @abstractmethod
    def _hand_out(self) -> None: ...

    # -- while a tool of the host works --

    def leave(self) -> int:
        """A tool begins to work: its time is not the program's.

        Returns:
            The run's number, for :meth:`back`.
        """
        with self._lock:
            self._put_off()
            self._away += 1
            return self.number

    def back(self, number: int) -> None:
        """The tool has ended, perhaps after the run ``number`` that called it."""
        with self._lock:
            if number == self.number:
                self._put_off()
                self._away = max(0, self._away - 1)

    def _put_off(self) -> None:
        """Put the deadline off by what tools have worked since the last of them came or went.

        Not so if code of the program ran meanwhile, which the counter shows: a function that was
        given to the tool, or another thread.
        """
        now, counter = self._clock(), self.cell.cell_contents
        since, before = self._left
        if self._away and counter == before and self._deadline is not None:
            self._deadline += now - since
            self._last_look += now - since
        self._left = (now, counter)

    @contextmanager
    def unbroken(self) -> Iterator[None]:
        """Nothing that the interpreter does inside is broken off in the middle by watch.py.

        For what has to be whole afterwards, and is short: the time goes on.
        """
        with self._lock:
            self._whole += 1
        try:
            _settle()
            yield
        finally:
            with self._lock:
                self._whole = max(0, self._whole - 1)

    # -- the program's threads --

    def number_here(self) -> int:
        """The number of the run that the code that runs here belongs to."""
        return self.threads.get(get_ident(), self.number)

    def over(self) -> bool:
        """Whether the run that the code that runs here belongs to is over, or about to be."""
        here = self.number_here() != self.number
        return here or self.stop is not None or self.final is not None

    def check_thread(self) -> None:
        """End the thread this is called in if it belongs to a run that is over."""
        if self.number_here() != self.number:
            raise ProgramStop("the run that this thread belongs to is over")

    def waiting(self) -> float | None:
        """Called at every turn of a wait, which ends here with the run.

        Returns:
            Seconds to the deadline, ``None`` without one.
        """
        self.stopped()
        if self.final is not None and self._answered != get_ident():
            raise self.final
        if self._away and not self._interrupted:
            return None  # the clock stands still
        left = self.seconds_left()
        if left is not None and left <= 0:
            self.out_of_time()
        return left

    def end_threads(self) -> None:
        """The run is over: let its threads come to a check, and end there."""
        self.cell.cell_contents = -1

    def threads_ended(self) -> None:
        """They have ended: the host may call what the program left behind."""
        self._book()
        self._used = 0
        self._hand_out()
