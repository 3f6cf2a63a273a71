"""``range``, ``bytes`` and ``bytearray`` where a plain one could exhaust the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .meter import Meter

__all__ = ["LONG_RANGE", "LongRange", "SizedType", "plain_type", "prepared"]

#: Ranges of more items than this are metered wherever they are consumed.
LONG_RANGE = 1_000_000


class SizedType:
    """``range``, ``bytes`` or ``bytearray`` as a value: the type, but for calls of it."""

    def __init__(self, make: Callable[..., Any], cls: type) -> None:
        self._make = make
        self._cls = cls
        self.__name__ = self.__qualname__ = cls.__name__
        self.__module__ = cls.__module__
        self.__doc__ = cls.__doc__

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        return self._make(self._cls, *arguments, **keywords)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._cls)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return issubclass(plain_type(subclass), self._cls)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self._cls,)

    def __getitem__(self, item: Any) -> Any:
        alias = self._cls[item]  # type: ignore[index]
        # Called, an alias calls what it stands for.
        return SizedType(lambda _alias, *given, **named: self(*given, **named), alias)

    def __or__(self, other: Any) -> Any:
        # No operator: the other side would be given the class itself.
        return type(self._cls).__or__(self._cls, plain_type(other))

    def __ror__(self, other: Any) -> Any:
        return type(self._cls).__ror__(self._cls, other)  # type: ignore[attr-defined,unused-ignore]

    def __eq__(self, other: object) -> bool:
        return other is self._cls or other is self

    def __hash__(self) -> int:
        return hash(self._cls)

    def __repr__(self) -> str:
        return repr(self._cls)

    def __copy__(self) -> SizedType:
        return self

    def __deepcopy__(self, _memo: Any) -> SizedType:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cls, name)


def plain_type(value: Any) -> Any:
    """The type that a :class:`SizedType` stands for; anything else as it is."""
    return value._cls if isinstance(value, SizedType) else value


def prepared(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """``__prepare__`` of a metaclass, given the classes that its bases stand for."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        given = [tuple(map(plain_type, a)) if type(a) is tuple else a for a in arguments]
        return prepare(*given, **keywords)

    return call


class LongRange(Sequence[int]):
    """A range so long that whatever consumes it must be metered; else a range like any other."""

    def __init__(self, items: range, meter: Meter) -> None:
        self._items = items
        self._meter = meter
        self._fresh = False
        self.start, self.stop, self.step = items.start, items.stop, items.step

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return range  # for isinstance()

    def __len__(self) -> int:
        if self._fresh:
            # list() asks for the size between taking an iterator and its first item, and would
            # reserve that much; told that there is none, it grows as it goes.
            self._fresh = False
            raise TypeError("a range of this length is counted item by item")
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        found = self._items[index]
        if isinstance(found, range) and len(found) > LONG_RANGE:
            return LongRange(found, self._meter)
        return found

    def __iter__(self) -> Iterator[int]:
        self._fresh = True
        return self._meter.metered(self._started())

    def _started(self) -> Iterator[int]:
        self._fresh = False
        yield from self._items

    def __reversed__(self) -> Iterator[int]:
        return self._meter.metered(reversed(self._items))

    def __contains__(self, value: object) -> bool:
        if isinstance(value, int):
            return value in self._items
        return any(value == item for item in self)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, LongRange) else other)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def index(self, value: Any, *_bounds: Any) -> int:
        return self._items.index(value)

    def count(self, value: Any) -> int:
        return self._items.count(value) if isinstance(value, int) else super().count(value)
