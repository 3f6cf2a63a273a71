"""``str.format`` and ``string.Formatter`` with attributes read through the attribute guard."""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # the parser of str.format itself
import string
from collections.abc import Callable
from typing import Any

from .. import policy

__all__ = ["formatter_class", "guarded_format"]


def formatter_class(read: Callable[[Any, str], Any]) -> type[string.Formatter]:
    """Make the formatter of programs.

    Args:
        read: reads an attribute by name.
    """

    class Formatter(string.Formatter):
        def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
            first, rest = _string.formatter_field_name_split(str.__str__(field_name))
            found = self.get_value(first, args, kwargs)
            for is_attribute, part in rest:
                found = read(found, part) if is_attribute else found[part]
            return found, first

    Formatter.__module__, Formatter.__qualname__ = "string", "Formatter"
    return Formatter


def guarded_format(value: Any, name: str, read: Callable[[Any, str], Any]) -> Callable[..., str]:
    """Give the method ``format`` or ``format_map`` of a string, or of ``str`` itself.

    Args:
        value: the string or the class.
        name: which of the two methods.
        read: reads an attribute by name.
    """

    def format_(*arguments: Any, **keywords: Any) -> str:
        given = arguments if isinstance(value, type) else (value, *arguments)
        if not given or not isinstance(given[0], str) or _is_plain(str.__str__(given[0])):
            return getattr(str, name)(*given, **keywords)  # type: ignore[no-any-return]
        template, *rest = given
        formatter = formatter_class(read)()
        if name == "format_map":
            return formatter.vformat(str.__str__(template), (), *rest, **keywords)
        return formatter.vformat(str.__str__(template), rest, keywords)

    return format_


def _is_plain(template: str) -> bool:
    """Tell whether a format reads no attribute but such as are read as CPython reads them."""
    try:
        for _text, field, specification, _conversion in _string.formatter_parser(template):
            _first, rest = _string.formatter_field_name_split(field or "")
            for is_attribute, part in rest:
                if is_attribute and not policy.is_plain(part):
                    return False
            if specification and not _is_plain(specification):
                return False
    except ValueError:
        pass  # the method says what is wrong, in Python's words
    return True
