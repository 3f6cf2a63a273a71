"""Guards of the methods whose result can be far larger than what they are called with.

Part of the boundary in guards.py, which binds these functions; nothing here looks at names.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter, deque
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

from .metered_items import PROGRAM_FILE
from .shared_keys import plain_key, plain_keys
from .size_checks import SEQUENCES, SHORT, length, number
from .sized_callbacks import SizedCallbacks

__all__ = ["SizedMethods"]

_MEASURED = (str, bytes, bytearray, int, list, dict, set, deque, array, re.Pattern, re.Match)
_PLAIN_SIZED = frozenset({list, tuple, set, dict, range, str, frozenset})
_PADDING = frozenset({"center", "ljust", "rjust", "zfill"})
#: Methods of patterns and matches that keep the template they were given.
_REMEMBERING = frozenset({"sub", "subn", "expand"})
#: Characters below which a result needs no second look.
_MUCH = 1 << 16


def _count(value: Any, part: Any) -> int:
    """How often ``part`` is in a text or bytes, whatever their class says."""
    for base in (str, bytes, bytearray):
        if issubclass(type(value), base):
            return base.count(value, part)
    return 0


class SizedMethods(SizedCallbacks):
    """The methods that policy.SIZED_METHODS names."""

    def check_substitution(self, pattern: Any, replacement: Any, text: Any) -> None:
        """Let ``re.sub`` make a result of reasonable size."""
        self.meter.look()
        if isinstance(replacement, (str, bytes)) and isinstance(text, (str, bytes)):
            most = (len(text) + 1) * len(replacement) + len(text)
            # What the groups of all matches hold is no more than the text, for each time it is
            # asked for.
            groups = bytes(replacement, "utf-8") if isinstance(replacement, str) else replacement
            if most > self.meter.limits.max_text_length:
                self.check_items(groups.count(b"\\") * len(text), "A substitution", text=True)
                found = sum(1 for _ in pattern.finditer(text))
                self.check_items(found * len(replacement) + len(text), "A substitution", text=True)

    @staticmethod
    def measures(receiver: Any, name: str) -> bool:
        """Whether a method as a value is one to look at."""
        if name == "strptime":
            return not isinstance(receiver, ModuleType)
        return isinstance(receiver, (*_MEASURED, type, super))

    def sized_call(self, receiver: Any, name: str, /, *arguments: Any, **keywords: Any) -> Any:
        """A call of one of policy.SIZED_METHODS."""
        kind = type(receiver)
        if kind is str and not keywords:
            if name == "replace" and len(arguments) == 2:
                old, new = arguments
                if type(new) is str and len(receiver) * (len(new) + 1) < _MUCH:
                    return receiver.replace(old, new)
            elif name == "join" and len(arguments) == 1:
                items = arguments[0]
                if type(items) in (list, tuple) and not self._long(receiver, items):
                    return receiver.join(items)
            elif name in _PADDING and arguments:
                width = arguments[0]
                if type(width) is int and width < SHORT:
                    return getattr(receiver, name)(*arguments)
        elif kind is list and name == "extend" and len(arguments) == 1 and not keywords:
            items = arguments[0]
            if type(items) in _PLAIN_SIZED and len(items) < SHORT:
                return receiver.extend(items)
        elif (kind is dict or kind is set) and name == "update" and len(arguments) == 1:
            items = arguments[0]
            if type(items) in _PLAIN_SIZED and len(items) < SHORT and not keywords:
                return receiver.update(items)
        elif kind is ModuleType:
            return getattr(receiver, name)(*arguments, **keywords)
        elif kind is list and name == "sort" and not arguments:
            return self.sort(receiver, **keywords)
        if isinstance(receiver, (*_MEASURED, type, super)) or name == "strptime":
            return self.method(receiver, name)(*arguments, **keywords)
        return getattr(receiver, name)(*arguments, **keywords)

    def _long(self, separator: str, items: Any) -> bool:
        """Whether a join gives much; items that are no strings are the join's own business."""
        try:
            return sum(map(str.__len__, items)) + len(separator) * len(items) >= _MUCH
        except TypeError:
            return True

    def method(self, receiver: Any, name: str) -> Callable[..., Any]:
        """One of policy.SIZED_METHODS of a string, bytes or integer, or of their classes."""
        found = getattr(receiver, name)
        if name == "strptime":
            return plain_keys(found) if isinstance(found, BuiltinMethodType) else found
        if isinstance(receiver, type) and not issubclass(receiver, _MEASURED):
            return found  # type: ignore[no-any-return]
        unbound = isinstance(receiver, type) and name != "from_bytes"
        bound = receiver
        if isinstance(receiver, super):
            bound = receiver.__self__  # type: ignore[attr-defined]  # typeshed has no super objects
        function = found.__func__ if type(found) is MethodType else found
        own = type(function) is FunctionType
        if own and function.__code__.co_filename.startswith(PROGRAM_FILE):
            return found  # type: ignore[no-any-return]  # of a class of the program's

        def limited(*arguments: Any, **keywords: Any) -> Any:
            if unbound and not arguments:
                return found(**keywords)  # says what is missing
            value = arguments[0] if unbound else bound
            rest = arguments[1:] if unbound else arguments
            if name == "sort" and isinstance(value, list) and type(value).sort is list.sort:
                return self.sort(value, *rest, **keywords)
            # An iterator can be read once only: join gets what was measured.
            rest = self._measure(value, name, rest, keywords)
            if name in _REMEMBERING and isinstance(value, (re.Pattern, re.Match)):
                rest = tuple(map(plain_key, rest))
                keywords = {one: plain_key(given) for one, given in keywords.items()}
            return found(value, *rest, **keywords) if unbound else found(*rest, **keywords)

        return limited

    def _measure(self, value: Any, name: str, rest: Any, keywords: Any) -> Any:
        size = length(value) if isinstance(value, (str, bytes, bytearray)) else 0
        if name in ("extend", "extendleft", "update"):
            return self._measure_extension(value, rest)
        if name in ("sub", "subn") and isinstance(value, re.Pattern) and len(rest) > 1:
            self.check_substitution(value, rest[0], rest[1])
            return rest
        if name == "expand" and isinstance(value, re.Match) and rest:
            groups = (value[0], *value.groups(""))
            longest = max(len(group) for group in groups)
            template = rest[0]
            if isinstance(template, (str, bytes)):
                asked = str(template).count("\\")
                self.check_items(len(template) + asked * longest, "expand()", text=True)
            return rest
        if name == "elements" and isinstance(value, Counter):
            total = sum(count for count in value.values() if isinstance(count, int) and count > 0)
            self.check_items(total, "elements()")
            return rest
        if name == "join" and rest:
            items = rest[0]
            if not isinstance(items, (list, tuple)):
                try:
                    iterator = iter(items)
                except TypeError:
                    return rest  # join's own error
                items = list(iterator)
            total = sum(length(item) for item in items if isinstance(item, SEQUENCES))
            total += size * len(items)
            if total > SHORT:
                self.check_items(total, "join()", text=True)
            return (items, *rest[1:])
        if name == "replace" and len(rest) >= 2 and isinstance(rest[0], (str, bytes, bytearray)):
            much = isinstance(rest[1], SEQUENCES) and size * length(rest[1]) > SHORT
            if much and length(rest[1]) > length(rest[0]):
                found = _count(value, rest[0])
                self.check_items(size + found * length(rest[1]), "replace()", text=True)
        elif name == "translate" and size and rest and isinstance(rest[0], dict):
            longest = max((length(v) for v in rest[0].values() if isinstance(v, str)), default=1)
            self.check_items(size * max(1, longest), "translate()", text=True)
        elif name == "expandtabs":
            width = rest[0] if rest else keywords.get("tabsize", 8)
            if isinstance(width, int):
                self.check_items(
                    size + _count(value, "\t" if isinstance(value, str) else b"\t") * number(width),
                    "expandtabs()",
                    text=True,
                )
        elif name == "from_bytes" and rest and isinstance(rest[0], (bytes, bytearray)):
            self.check_bits(len(rest[0]) * 8, "from_bytes()")
        elif name in ("ljust", "rjust", "center", "zfill", "to_bytes"):
            width = rest[0] if rest else keywords.get("length", 0)
            if isinstance(width, int) and number(width) > SHORT:
                self.check_items(number(width), f"{name}()", text=True)
        return rest

    def _measure_extension(self, value: Any, rest: Any) -> Any:
        checked = []
        for items in rest:
            if hasattr(type(items), "__len__"):
                count = len(items)
                if count > SHORT:
                    self.check_items(
                        count + len(value), "An extension", isinstance(value, bytearray)
                    )
                    self.meter.charge(count >> 3)
                checked.append(items)
            elif items is None or hasattr(type(items), "keys"):
                checked.append(items)
            else:
                # It may have no end, or be fed by what it fills.
                checked.append(self.meter.metered(items, 1))
        return tuple(checked)

    def limited_format(self, found: Callable[[str], str]) -> Callable[..., str]:
        """``x.__format__``"""

        def format_(*arguments: Any) -> str:
            for argument in arguments:
                if isinstance(argument, str):
                    self.specification(argument)
            return found(*arguments)

        return format_
