"""Text forms of untrusted values and exceptions.

A program's class controls its ``__str__``, its ``__class__`` and its metaclass. This module reads
only what CPython itself stores about such a class. It is also sent to kernels as a single file, so
it imports the standard library only.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from typing import Any

__all__ = [
    "class_name",
    "encodable",
    "exact_text",
    "exception_field",
    "exit_failure",
    "is_static",
    "is_successful_exit",
    "missing_cause",
    "name_of_class",
    "own_text",
    "plain_text",
    "read_members",
    "read_notes",
    "rebuild_chain",
    "without_text",
]

#: Types whose conversion to text runs no code of a program, whatever the value.
_PLAIN = frozenset({bool, bytes, complex, float, int, type(None)})
_NAME, _FLAGS = vars(type)["__name__"], vars(type)["__flags__"]
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_SURROGATE = re.compile("[\ud800-\udfff]")
# Longest exception message that is quoted, in characters.
_LONGEST_MESSAGE = 500
_MOST_NOTES, _LONGEST_NOTE = 10, 50_000
# Exceptions shown of a group, and the depth of groups in it.
_MOST_MEMBERS, _DEEPEST_MEMBER = 10, 3
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", None)
# Number of exceptions kept of a chain; a chain may be circular.
_MOST_LINKS = 20


def encodable(text: str) -> str:
    """Return ``text`` as it leaves an executor: a lone surrogate becomes U+FFFD.

    Such a character is not text: UTF-8 cannot encode it, and to print, log, save or send it to a
    model raises. ``json.loads('"\\ud83d"')`` makes one. Values keep it; printed text, errors,
    names, displays and log lines do not.

    Example:
        >>> encodable("cut \\ud83d here")
        'cut \ufffd here'
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def exact_text(text: str) -> str:
    """Convert ``text`` to an exact ``str`` without calling methods of a subclass."""
    return text if type(text) is str else str.__str__(text)


def class_name(value: object) -> str:
    """Return the name of the class of ``value`` without calling a metaclass."""
    return name_of_class(type(value))


def name_of_class(kind: type) -> str:
    """Return the name of ``kind`` without calling a metaclass."""
    return exact_text(_NAME.__get__(kind))


def is_static(kind: type) -> bool:
    """Return whether ``kind`` is a static type of C code, which a program cannot create."""
    return not _FLAGS.__get__(kind) & _HEAP_TYPE


def exception_field(error: BaseException, name: str) -> Any:
    """Read a field that every exception has, even if its class overrides the attribute."""
    return vars(BaseException)[name].__get__(error)


def read_notes(error: BaseException) -> str:
    """Return the notes of an exception, each on a line after its text; run none of its code."""
    notes = exception_field(error, "__dict__").get("__notes__")
    if type(notes) is not list:
        return ""
    return "".join(f"\n{note[:_LONGEST_NOTE]}" for note in notes[:_MOST_NOTES] if type(note) is str)


def read_members(
    error: BaseException, read_text: Callable[[BaseException], str], depth: int = 1
) -> str:
    """Return the exceptions of a group, each on a line after its text; empty for another error.

    Args:
        error: any exception.
        read_text: returns the text of an exception, whose class may be the program's.
        depth: Depth of the group in other groups, from 1.
    """
    if _GROUP is None or not issubclass(type(error), _GROUP) or depth > _DEEPEST_MEMBER:
        return ""
    return "".join(
        f"\n{'  ' * depth}{class_name(member)}: {read_text(member)}"
        f"{read_members(member, read_text, depth + 1)}"
        for member in _GROUP.exceptions.__get__(error)[:_MOST_MEMBERS]
    )


def is_successful_exit(error: BaseException) -> bool:
    """Return whether a program has ended itself in success: ``sys.exit()``, ``sys.exit(0)``."""
    if not issubclass(type(error), SystemExit):
        return False
    code = vars(SystemExit)["code"].__get__(error)
    return code is None or (issubclass(type(code), int) and int.__int__(code) == 0)


def exit_failure(error: BaseException) -> str:
    """Return the text of a ``SystemExit`` that is not success, with the status of a process.

    As at the end of a Python process, what is not a number is an error message.
    """
    code = vars(SystemExit)["code"].__get__(error)
    if issubclass(type(code), int):
        status = int.__int__(code)
        return f"{status} (exit status {status})"
    try:
        text = exact_text(str(code))
    except BaseException as broken:
        text = f"<exception str() failed: {class_name(broken)}>"
    return f"{text} (exit status 1)"


def rebuild_chain(
    error: BaseException | None,
    make: Callable[[BaseException], BaseException],
    is_kept: Callable[[BaseException], bool] = lambda _cause: True,
) -> BaseException | None:
    """Rebuild ``error`` and the exceptions chained to it, with the same chain.

    Args:
        error: the last exception of the chain, or ``None``.
        make: rebuilds one exception, without its chain.
        is_kept: returns whether a cause is kept; else the chain ends before it.
    """
    links: list[tuple[BaseException, bool]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(links) < _MOST_LINKS:
        seen.add(id(error))
        cause = exception_field(error, "__cause__")
        links.append((error, cause is not None))
        if cause is None and not exception_field(error, "__suppress_context__"):
            cause = exception_field(error, "__context__")
        error = cause if cause is not None and is_kept(cause) else None
    chain: BaseException | None = None
    for link, caused in reversed(links):
        copy = make(link)
        if chain is not None and caused:
            copy.__cause__ = chain
        elif chain is not None:
            copy.__context__ = chain
        chain = copy
    return chain


def plain_text(value: object, conversion: str = "str") -> str | None:
    """Return the text of a plain value; ``None`` if the conversion might run a program's code.

    Args:
        value: any value.
        conversion: ``"str"`` or ``"repr"``.
    """
    cls = type(value)
    if cls is str and conversion == "str":
        return value  # type: ignore[return-value]
    if cls is not str and cls not in _PLAIN:
        return None
    try:
        return str(value) if conversion == "str" else repr(value)
    except ValueError as error:  # an int of more digits than sys.get_int_max_str_digits()
        return without_text(value, error, conversion)


def own_text(value: object) -> str | None:
    """Return ``str(value)`` in a program's process; ``None`` if it raises or is :func:`plain_text`.

    Args:
        value: any value. An exception that stops the program must not be an ``Exception``.
    """
    if plain_text(value) is not None:
        return None
    try:
        return encodable(exact_text(str(value)))
    except (Exception, SystemExit, GeneratorExit):
        return None


def without_text(value: object, error: BaseException, conversion: str = "str") -> str:
    """Return a placeholder for the text of a value whose conversion failed.

    Args:
        value: the value.
        error: the exception that the conversion raised.
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


def missing_cause(error: BaseException) -> str:
    """Return a line about an absent module that led to an error, or the empty string.

    Libraries replace the error of an optional import by one of their own.
    """
    if not issubclass(type(error), (AttributeError, ImportError)):
        return ""
    for _ in range(_MOST_LINKS):
        cause = exception_field(error, "__cause__")
        if cause is None:
            cause = exception_field(error, "__context__")
        if cause is None:
            break
        error = cause
        if type(error) is ModuleNotFoundError and type(error.name) is str:
            return f"\nCaused by ModuleNotFoundError: No module named {error.name[:100]!r}"
    return ""
