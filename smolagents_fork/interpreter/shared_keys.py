"""Caches of the process that are looked up by what a program gives them.

``re``, ``typing``, ``strptime`` and ABCs keep what they made under the text, class or object they
were called with. A key of a program's own class says itself what it equals: left there, it would be
found in place of the host's. Part of the boundary that guards.py decides by.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import repeat
from operator import is_, itemgetter
from types import FunctionType, ModuleType
from typing import Any

from ..errors import AttributeRefusedError
from .families import defines, real_mro, real_namespace

__all__ = [
    "KINDS",
    "Cleared",
    "keep_identity",
    "know_hosts",
    "plain_key",
    "plain_keys",
    "settle_metaclasses",
]


def plain_key(value: Any) -> Any:
    """``value``; of a text, bytes or an integer that is of another class, the value alone."""
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, int):
        return value if type(value) in (int, bool) else int.__add__(value, 0)
    if isinstance(value, bytes) and type(value) is not bytes:
        return bytes.__getitem__(value, slice(None))
    return value


def plain_keys(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, called with plain texts and integers only."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        given = map(plain_key, arguments)
        return function(*given, **{name: plain_key(one) for name, one in keywords.items()})

    for name in ("__name__", "__qualname__", "__doc__"):
        setattr(call, name, getattr(function, name))
    return call


# -- classes as keys --


def _lying(made: type) -> type | None:
    """The class that says what the classes of a metaclass equal, if it is not Python."""
    holder = defines(real_mro(made), "__eq__")
    if holder is None or real_namespace(holder)["__eq__"] is object.__eq__:
        return None
    return holder


def keep_identity(made: type, is_own: Callable[[type], bool]) -> None:
    """Let classes of ``made``, a metaclass of the program's, equal themselves only.

    ABCs remember the classes they were asked about, and would take the host's for a program's.

    Raises:
        AttributeRefusedError: the metaclass says otherwise.
    """
    holder = _lying(made)
    own = holder is not None and is_own(holder)
    if holder is None or own:
        type.__setattr__(made, "__eq__", object.__eq__)
    if own:
        raise AttributeRefusedError(
            f"Cannot define __eq__ of metaclass {made.__name__!r}: what classes equal decides what "
            "the host finds in its caches. Compare by a method of another name"
        )


#: Metaclasses of the host's, by identity.
_hosts: dict[int, type] = {}


def _metaclasses() -> Iterator[type]:
    waiting: list[type] = [type]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(type.__subclasses__(one))


def know_hosts() -> None:
    """Note, before the first program runs, which metaclasses there are."""
    if not _hosts:
        _hosts.update((id(one), one) for one in _metaclasses())


def settle_metaclasses() -> None:
    """Undo what a program's metaclasses say that came by other ways, as ``map(type, ...)``."""
    for one in _metaclasses():
        if id(one) in _hosts:
            continue
        holder = _lying(one)
        if _is_found(one) or (holder is not None and _says_so_itself(holder)):
            _hosts[id(one)] = one
        elif holder is not None:
            type.__setattr__(one, "__eq__", object.__eq__)


def _says_so_itself(holder: type) -> bool:
    """Whether ``__eq__`` is written in the body of a class, in a module of the host's."""
    names: Any = real_namespace(type)
    found = real_namespace(holder)["__eq__"]
    if not isinstance(found, FunctionType):
        return False
    module = sys.modules.get(found.__module__)
    name = f"{str.__str__(names['__qualname__'].__get__(holder))}.__eq__"
    return found.__qualname__ == name and found.__globals__ is getattr(module, "__dict__", None)


def _is_found(one: type) -> bool:
    names: Any = real_namespace(type)
    module = real_namespace(one).get("__module__")
    found: Any = sys.modules.get(str.__str__(module)) if isinstance(module, str) else None
    for part in str.__str__(names["__qualname__"].__get__(one)).split("."):
        found = vars(found).get(part) if isinstance(found, (type, ModuleType)) else None
    return found is one


# -- what can only be cleared --


class Cleared:
    """Caches that are cleared when the program ends, and while a tool works."""

    #: Whether the program has classes, without which all keys are plain.
    defines: Callable[[], bool] = staticmethod(lambda: True)

    def enter(self) -> None:
        """Nothing of the host's is in the way."""

    def leave(self) -> None:
        if self.defines():
            self.clear()

    def clear(self) -> None:
        raise NotImplementedError


class _Patterns(Cleared):
    """Compiled patterns, and combinations of their flags, which the flags' class keeps."""

    def __init__(self) -> None:
        import re

        self._re: Any = re
        self._size = 0

    def clear(self) -> None:
        flags = map(itemgetter(2), list(self._re._cache))
        if not all(map(is_, map(type, flags), repeat(int))):
            self._re.purge()  # string.Template compiles with a program's flags
        kind = self._re.RegexFlag
        known = kind._value2member_map_
        if len(known) == self._size:
            return
        kept = {
            key: member
            for key, member in list(known.items())
            if type(key) is int and type(member._value_) is int
        }
        if len(kept) != len(known):
            type.__setattr__(kind, "_value2member_map_", kept)
        self._size = len(kept)


class _Generics(Cleared):
    """``typing.List[X]``."""

    def clear(self) -> None:
        import typing

        for clear in getattr(typing, "_cleanups", ()):
            clear()


def _clearing(module: str, *path: str) -> type[Cleared]:
    class Clearing(Cleared):
        def clear(self) -> None:
            found: Any = sys.modules.get(module)
            for name in path:
                found = getattr(found, name, None)
            if found is not None:
                found()

    return Clearing


#: By the root of the module with which a program comes to them.
KINDS: dict[str, type[Cleared]] = {
    "re": _Patterns,
    "typing": _Generics,
    "struct": _clearing("_struct", "_clearcache"),
    "xml": _clearing("xml.etree.ElementPath", "_cache", "clear"),
    "fractions": _clearing("fractions", "_hash_algorithm", "cache_clear"),
}
