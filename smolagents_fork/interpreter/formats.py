"""Formatting and names: ``str.format`` with every attribute going through the attribute guard."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable
from typing import Any

from .build import words

__all__ = ["HARMLESS_BUILTINS", "SafeFormatter", "harmless", "normal"]

#: Builtins that neither reach attributes by name nor can use much more than they are given.
HARMLESS_BUILTINS = words(
    "abs aiter all anext any ascii bin bool bytearray bytes callable chr classmethod complex "
    "dict divmod enumerate filter float frozenset hash hex id int isinstance issubclass iter "
    "len list map max memoryview min next object oct ord property range repr reversed round "
    "set slice sorted staticmethod str sum super tuple type zip None True False Ellipsis "
    "NotImplemented "
)


def normal(name: str) -> str:
    """``name`` as the parser would read it (PEP 3131)."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


#: Guarded names that are ordinary members of these classes of the standard library.
_MEMBERS: dict[str, frozenset[str]] = {}


def harmless(value: Any) -> frozenset[str]:
    """Guarded names that are harmless on ``value``."""
    cls = value if isinstance(value, type) else type(value)
    if isinstance(value, BaseException):
        return frozenset({"with_traceback"})
    module = (cls.__module__ or "").split(".")[0]
    if module in ("datetime", "_pydatetime", "decimal", "fractions", "uuid", "json"):
        return frozenset({"format", "dump", "dumps"})
    return _MEMBERS.get(module, frozenset())


class SafeFormatter(string.Formatter):
    """``str.format`` in Python, with names read through ``read`` and sizes held by ``sizes``."""

    def __init__(self, read: Callable[[Any, str], Any], sizes: Any) -> None:
        self._read = read
        self._sizes = sizes

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        import _string  # type: ignore[import-not-found]  # string.Formatter's own helper

        first, rest = _string.formatter_field_name_split(field_name)
        found = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            found = self._read(found, name) if is_attribute else found[name]
        return found, first

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(key, int):
            if key >= len(args):
                raise IndexError(f"Replacement index {key} out of range for positional args tuple")
            return args[key]
        return kwargs[key]

    def format_field(self, value: Any, format_spec: str) -> str:
        return format(value, self._sizes.specification(format_spec))
