"""Texts of values and exceptions that a program made, without trusting either.

A program's class decides what its ``__str__``, its ``__class__`` and its metaclass do. Nothing here
reads more of such a class than the interpreter of Python itself has stored. This file is also sent
to kernels, alone: it imports the standard library only.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

__all__ = [
    "chained_anew",
    "class_name",
    "exact_text",
    "exception_field",
    "is_static",
    "name_of_class",
    "plain_text",
    "without_text",
]

#: Types whose text runs no code of a program, whatever the value.
_PLAIN = frozenset({bool, bytes, complex, float, int, type(None)})
_NAME, _FLAGS = vars(type)["__name__"], vars(type)["__flags__"]
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
# Longest message of an exception that is repeated.
_LONGEST_MESSAGE = 500
# Exceptions of a chain that are kept; a chain may be a circle.
_MOST_LINKS = 20


def exact_text(text: str) -> str:
    """``text`` as a ``str`` of no subclass; no method of a subclass is called."""
    return text if type(text) is str else str.__str__(text)


def class_name(value: object) -> str:
    """The name of the class of ``value``; nothing of a metaclass is called."""
    return name_of_class(type(value))


def name_of_class(kind: type) -> str:
    """The name of ``kind``; nothing of a metaclass is called."""
    return exact_text(_NAME.__get__(kind))


def is_static(kind: type) -> bool:
    """Tell whether ``kind`` is a static type of C code, which no program makes."""
    return not _FLAGS.__get__(kind) & _HEAP_TYPE


def exception_field(error: BaseException, name: str) -> Any:
    """Read a field that every exception has; its class may have put something in front of it."""
    return vars(BaseException)[name].__get__(error)


def chained_anew(
    error: BaseException | None, make: Callable[[BaseException], BaseException]
) -> BaseException | None:
    """Make ``error`` and those that led to it anew, chained as they are.

    Args:
        error: the last of the chain; ``None`` for none.
        make: makes one of them, without a chain.
    """
    links: list[tuple[BaseException, bool]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(links) < _MOST_LINKS:
        seen.add(id(error))
        cause = exception_field(error, "__cause__")
        links.append((error, cause is not None))
        if cause is None and not exception_field(error, "__suppress_context__"):
            cause = exception_field(error, "__context__")
        error = cause
    made: BaseException | None = None
    for link, caused in reversed(links):
        one = make(link)
        if made is not None and caused:
            one.__cause__ = made
        elif made is not None:
            one.__context__ = made
        made = one
    return made


def plain_text(value: object, conversion: str = "str") -> str | None:
    """The text of a plain value; ``None`` where making it might run a program's code.

    Args:
        value: anything.
        conversion: ``"str"`` or ``"repr"``.
    """
    kind = type(value)
    if kind is str and conversion == "str":
        return value  # type: ignore[return-value]
    if kind is not str and kind not in _PLAIN:
        return None
    try:
        return str(value) if conversion == "str" else repr(value)
    except ValueError as error:  # an int of more digits than sys.get_int_max_str_digits()
        return without_text(value, error, conversion)


def without_text(value: object, error: BaseException, conversion: str = "str") -> str:
    """Make the replacement for a text that could not be made.

    Args:
        value: has no text.
        error: what was raised instead.
        conversion: ``"str"`` or ``"repr"``.
    """
    return f"<{class_name(value)} whose {conversion}() raised {_said(error)}>"


def _said(error: BaseException) -> str:
    name = class_name(error)
    arguments = exception_field(error, "args")
    builtin = getattr(builtins, name, None) is type(error)
    if not builtin or len(arguments) != 1 or type(arguments[0]) is not str:
        return name
    return f"{name}: {arguments[0][:_LONGEST_MESSAGE]}"
