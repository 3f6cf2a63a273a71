"""What loops, comprehensions and C code go over: counted ahead, or clocked as it is gone over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, cycle, repeat
from types import GeneratorType
from typing import Any, NoReturn

from .limits import Limits

__all__ = ["MeteredItems"]

#: How the file names of programs begin.
PROGRAM_FILE = "<program "
#: Exact types with a size; those of them that cannot grow while they are iterated over.
_FIXED = frozenset(
    {
        tuple,
        range,
        str,
        bytes,
        dict,
        set,
        frozenset,
        type({}.keys()),
        type({}.values()),
        type({}.items()),
    }
)
_SIZED = _FIXED | {list}
_FEW_ITEMS = 64
#: The same where each item may be dear.
_HANDFUL = 16
#: A chunk of items that took longer than this (seconds) makes the next one smaller.
_SLOW_CHUNK = 0.02


def _size(items: Any) -> int:
    """How many items there are; a range may have more than ``len`` can say."""
    try:
        return len(items)
    except OverflowError:
        return 1 << 63


class _Counter(map):  # type: ignore[type-arg]
    """Has nothing to give, and charges for what was taken before it when it is asked.

    A kind of ``map`` for its ``__iter__``, which is C code: nothing breaks that off.
    """

    meter: MeteredItems
    items: list[bool]
    since: float

    def __next__(self) -> NoReturn:
        size = len(self.items)
        self.meter.charge(size * 4)
        now = self.meter._clock()
        if now - self.since > _SLOW_CHUNK:
            del self.items[max(1, size >> 2) :]
            self.meter.look()
        elif size < 256 and now - self.since < _SLOW_CHUNK / 8:
            self.items.extend([True] * size)
        self.since = now
        raise StopIteration


class MeteredItems:
    """The part of the meter that hands items out; the rest charges and looks at the clock."""

    limits: Limits
    _clock: Callable[[], float]

    @abstractmethod
    def charge(self, operations: int) -> None:
        """Charge work a guard lets one C call do."""

    @abstractmethod
    def look(self) -> None:
        """Look at the clock."""

    def counted(self, items: Any, weight: int) -> Any:
        """The source of a loop that calls nothing and always runs to its end."""
        if type(items) is GeneratorType and items.gi_code.co_filename.startswith(PROGRAM_FILE):
            return items  # counts itself
        if type(items) in _SIZED and _size(items) <= 1000:
            self.charge(len(items) * weight)
            return items
        return self.metered(items, weight)

    def counted_growing(self, items: Any, weight: int) -> Any:
        """The same, of a loop that may add to the list it goes over."""
        return self.metered(items, weight) if type(items) is list else self.counted(items, weight)

    def each(self, items: Any, weight: int) -> Any:
        """The source of a comprehension that calls nothing: counted ahead where it has a size."""
        if type(items) in _SIZED and _size(items) <= self.limits.max_operations:
            self.charge(len(items) * weight)
            return items
        return self.metered(items, weight)

    def each_lazy(self, items: Any, weight: int) -> Any:
        """The source of a generator expression that calls nothing; it may be left early."""
        # A list may grow while it is gone over: a.extend(x for x in a).
        if type(items) in _FIXED and _size(items) <= _FEW_ITEMS:
            self.charge(len(items) * weight)
            return items
        if type(items) is GeneratorType and items.gi_code.co_filename.startswith(PROGRAM_FILE):
            return items  # counts itself
        return self.metered(items, weight)

    def each_heavy(self, items: Any, weight: int) -> Any:
        """The source of a comprehension that calls something, which may let a list grow."""
        if type(items) in _FIXED and _size(items) <= _FEW_ITEMS:
            self.charge(len(items) * weight)
            return items
        return compress(items, chain.from_iterable(self._chunks(weight, 32)))

    def fed(self, items: Any) -> Any:
        """What C code will take item by item, perhaps without an end: iterators are metered."""
        if type(items) in _SIZED or not hasattr(type(items), "__next__"):
            return items
        return self.metered(items, 1)

    def called_back(self, items: Any) -> Any:
        """What C code will take item by item, and call a function with each."""
        if type(items) in _FIXED and _size(items) <= _HANDFUL:
            self.charge(len(items))
            return items
        return self.metered(items, 1)

    def metered(self, items: Iterable[Any], weight: int = 4) -> Iterator[Any]:
        """``items`` at nearly C speed, charged and clocked every 256 of them.

        The default weight is that of a round of the smallest loop in upstream's count.
        """
        return compress(items, chain.from_iterable(self._chunks(weight, 256)))

    def ticks(self) -> Iterator[bool]:
        """``True`` without end, charged and clocked as :meth:`metered` does, for all runs.

        An iterator that has raised has ended, generators and a chain's source too. What a chain
        goes over may raise, and it goes on there: a limit ends a run, and not the next one.
        """
        counter = _Counter(bool, ())
        counter.meter, counter.items, counter.since = self, [True] * 4, self._clock()
        return chain.from_iterable(cycle((counter.items, counter)))

    def _chunks(self, weight: int, most: int) -> Iterator[Iterable[bool]]:
        # From small to large, so that short sources cost what they are, and as long as the items
        # are quick: one of them may be a million additions. C consumers of an endless source come
        # by here often enough for the clock.
        size, since = 4, self._clock()
        while True:
            yield repeat(True, size)
            self.charge(size * weight)
            now = self._clock()
            if now - since > _SLOW_CHUNK:
                size = max(1, size >> 2)
                self.look()
            elif size < most and now - since < _SLOW_CHUNK / 8:
                size *= 2
            since = now
