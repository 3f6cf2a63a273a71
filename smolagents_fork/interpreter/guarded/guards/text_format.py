"""``str.format`` with every attribute read through the attribute guard and every width estimated.

Not :class:`string.Formatter`, whose fields and errors differ from those of the method.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # the parser of str.format itself
import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..meter import Meter
from .sizes import TEXT, Estimate, Sizes

__all__ = ["guarded_format"]

_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}

#: Templates whose fields name no attributes or items and are at most 999 characters wide.
_FEW_FIELDS = re.compile(
    r"(?:[^{}]|\{\{|\}\}"
    r"|\{\w*(?:![rsa])?(?::[^{}\d]*(?:\d{1,3}(?:[^{}\d]+\d{1,3})?)?[^{}\d]*)?\})*"
)
_SMALL = frozenset({int, float, bool, str, type(None)})


@functools.lru_cache(1024)
def _is_simple(template: str) -> bool:
    return len(template) <= 256 and _FEW_FIELDS.fullmatch(template) is not None


def _are_small(name: str, rest: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Tell whether few values are given, each short and of a built-in type."""
    values: Iterable[Any] = rest
    if keywords:
        values = (*rest, *keywords.values())
    elif name == "format_map":
        if type(rest[0]) is not dict or len(rest[0]) > 64:
            return False
        values = rest[0].values()
    elif len(rest) > 64:
        return False
    for value in values:
        if type(value) not in _SMALL or (type(value) is str and len(value) > 4096):
            return False
    return True


class _Formatter:
    """Fills one template.

    Args:
        read: reads an attribute by name.
        sizes: checks estimates.
        meter: counts the text that is made.
    """

    def __init__(self, read: Callable[[Any, str], Any], sizes: Sizes, meter: Meter) -> None:
        self._read = read
        self._sizes = sizes
        self._meter = meter
        #: The next automatic field number; ``None`` once fields are numbered by hand.
        self._automatic: int | None = 0
        self._made = 0

    def vformat(self, template: str, args: tuple[Any, ...] | None, names: Any) -> str:
        """Fill in ``template``; ``args`` is ``None`` for ``format_map``."""
        return self._filled(template, args, names, 2)

    def _filled(self, template: str, args: tuple[Any, ...] | None, names: Any, depth: int) -> str:
        if depth <= 0:
            raise ValueError("Max string recursion exceeded")
        parts = []
        for text, field, specification, conversion in _string.formatter_parser(template):
            parts.append(text)
            if field is None:
                continue
            value = self._field(field, args, names)
            if conversion is not None:
                if conversion not in _CONVERSIONS:
                    raise ValueError(f"Unknown conversion specifier {conversion!s}")
                value = _CONVERSIONS[conversion](value)
            if specification and "{" in specification:
                specification = self._filled(specification, args, names, depth - 1)
            parts.append(self._counted(format(value, self._sizes.specification(specification))))
        return "".join(parts)

    def _counted(self, text: str) -> str:
        self._made += len(text)
        if len(text) > 64:
            # All fields together: a long value may be asked for many times.
            self._meter.charge(len(text) >> 6)
            if self._made > self._meter.limits.max_text_length:
                self._sizes.check(Estimate(self._made, TEXT), "A format")
        return text

    def _field(self, field: str, args: tuple[Any, ...] | None, names: Any) -> Any:
        first, rest = _string.formatter_field_name_split(field)
        if first == "" or isinstance(first, int):
            found = self._positional(first, args)
        else:
            found = names[first]
        for is_attribute, name in rest:
            found = self._read(found, name) if is_attribute else found[name]
        return found

    def _positional(self, number: int | str, args: tuple[Any, ...] | None) -> Any:
        if isinstance(number, int):
            if self._automatic:
                raise ValueError(
                    "cannot switch from automatic field numbering to manual field specification"
                )
            self._automatic = None
        elif self._automatic is None:
            raise ValueError(
                "cannot switch from manual field specification to automatic field numbering"
            )
        else:
            number = self._automatic
            self._automatic += 1
        if args is None:
            raise ValueError("Format string contains positional fields")
        if number >= len(args):
            raise IndexError(f"Replacement index {number} out of range for positional args tuple")
        return args[number]


def guarded_format(
    value: Any, name: str, read: Callable[[Any, str], Any], sizes: Sizes, meter: Meter
) -> Callable[..., str]:
    """Give the method ``format`` or ``format_map`` of a string, or of ``str`` itself.

    Args:
        value: the string or the class.
        name: which of the two methods.
        read: reads an attribute by name.
        sizes: checks estimates.
        meter: counts the text that is made.
    """

    def format_(*arguments: Any, **keywords: Any) -> str:
        bound = not isinstance(value, type)
        own = bound or (bool(arguments) and isinstance(arguments[0], str))
        rest = arguments if bound else arguments[1:]
        if not own or (name == "format_map" and (len(rest) != 1 or keywords)):
            # Raises, in Python's words.
            return getattr(value, name)(*arguments, **keywords)  # type: ignore[no-any-return]
        template = str.__str__(value if bound else arguments[0])
        if _is_simple(template) and _are_small(name, rest, keywords):
            text: str = getattr(template, name)(*rest, **keywords)
            if len(text) > 4096:
                meter.charge(len(text) >> 6)
            return text
        formatter = _Formatter(read, sizes, meter)
        if name == "format_map":
            return formatter.vformat(template, None, rest[0])
        return formatter.vformat(template, rest, keywords)

    return format_
