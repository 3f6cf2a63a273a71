"""Checks of arguments: each returns the value to keep, or names the parameter and what to pass.

An argument of the wrong type often has the opposite effect: ``network="none"`` is true, and
``readable_paths="/etc"`` begins with ``/``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..deadline import LONGEST_SECONDS
from ..errors import ConfigurationError

__all__ = [
    "count",
    "count_or_none",
    "existing",
    "existing_path_or_none",
    "flag",
    "flag_or_none",
    "function_or_none",
    "functions",
    "logger",
    "mapping",
    "names",
    "one_of",
    "path_or_none",
    "paths",
    "seconds",
    "seconds_or_none",
    "tenant",
    "text_or_none",
    "whole",
]

# Longest name of a tenant, in characters.
_LONGEST_TENANT = 200


def seconds(name: str, value: Any) -> float:
    """Return a number of seconds above zero."""
    return _seconds(name, value, "")


def seconds_or_none(name: str, value: Any) -> float | None:
    """Return a number of seconds above zero, or ``None`` for no limit."""
    return None if value is None else _seconds(name, value, ", or None for no limit")


def _seconds(name: str, value: Any, or_none: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigurationError(f"{name}={value!r}: pass a number of seconds above 0{or_none}")
    if not math.isfinite(value) or value <= 0:
        raise ConfigurationError(f"{name}={value!r}: pass a finite number of seconds above 0")
    if value > LONGEST_SECONDS:
        raise ConfigurationError(
            f"{name}={value!r}: pass at most {LONGEST_SECONDS:,} seconds, about thirty years"
            f"{or_none}"
        )
    return float(value)


def flag(name: str, value: Any) -> bool:
    """Return ``True`` or ``False``; nothing else: any text is true, ``"no"`` and ``"none"`` too."""
    if isinstance(value, bool):
        return value
    raise ConfigurationError(f"{name}={value!r}: pass True or False")


def flag_or_none(name: str, value: Any) -> bool | None:
    """Return ``True``, ``False`` or ``None``."""
    if value is None or isinstance(value, bool):
        return value
    raise ConfigurationError(f"{name}={value!r}: pass True or False, or None")


def whole(least: int) -> Callable[[str, Any], int]:
    """Make a check for whole numbers of at least ``least``."""

    bound = f"above {least - 1}" if least > 0 else f"of at least {least}"

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ConfigurationError(f"{name}={value!r}: pass a whole number {bound}")
        return value

    return check


def count(name: str, value: Any) -> int:
    """Return a whole number above zero."""
    return whole(1)(name, value)


def count_or_none(name: str, value: Any) -> int | None:
    """Return a whole number above zero, or ``None``."""
    return None if value is None else count(name, value)


def text(name: str, value: Any) -> str:
    """Return text."""
    if isinstance(value, str):
        return value
    raise ConfigurationError(f"{name}={value!r}: pass text")


def text_or_none(name: str, value: Any) -> str | None:
    """Return text, or ``None``."""
    if value is None or isinstance(value, str):
        return value
    raise ConfigurationError(f"{name}={value!r}: pass text, or None")


def tenant(name: str, value: Any) -> str:
    """Return the name of a tenant, which is part of messages; empty for none.

    Raises:
        ConfigurationError: it is not text, is too long, or has characters that cannot be printed.
    """
    if not isinstance(value, str) or len(value) > _LONGEST_TENANT or not value.isprintable():
        raise ConfigurationError(
            f"{name}={value!r}: pass up to {_LONGEST_TENANT} printable characters"
        )
    return value


def one_of(*allowed: Any) -> Callable[[str, Any], Any]:
    """Make a check for one of some values."""

    def check(name: str, value: Any) -> Any:
        if value not in allowed:
            raise ConfigurationError(
                f"{name}={value!r}: pass one of {', '.join(map(repr, allowed))}"
            )
        return value

    return check


def path_or_none(name: str, value: Any) -> str | os.PathLike[str] | None:
    """Return text or a path, or ``None``."""
    if value is not None and (not isinstance(value, (str, os.PathLike)) or not value):
        raise ConfigurationError(f"{name}={value!r}: pass a path, or None")
    path: str | os.PathLike[str] | None = value
    return path


def existing_path_or_none(name: str, value: Any) -> str | os.PathLike[str] | None:
    """Return the path of something on this machine, or ``None``."""
    path = path_or_none(name, value)
    existing(name, [] if path is None else [path])
    return path


def existing(name: str, paths: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse paths at which this machine has nothing that this process can find.

    Raises:
        ConfigurationError: names the first of them.
    """
    for path in paths:
        if not os.path.exists(path):
            raise ConfigurationError(f"{name}: {os.fspath(path)!r} does not exist on this machine")


def names(name: str, value: Any) -> tuple[str, ...]:
    """Return names given as a sequence; ``None`` means an empty one.

    Raises:
        ConfigurationError: a text, whose letters would be names; not a sequence; an entry that is
            not a name.
    """
    if isinstance(value, (str, bytes)):
        raise ConfigurationError(f"{name}={value!r}: pass a list, such as [{value!r}]")
    entries = _items(name, value)
    for item in entries:
        if not isinstance(item, str) or not item.strip():
            raise ConfigurationError(f"{name}: {item!r} is not a name: pass text")
    return entries


def paths(name: str, value: Any) -> tuple[str, ...]:
    """Return paths given as a sequence, made absolute.

    Raises:
        ConfigurationError: one path, whose letters would be paths, ``/`` among them; not a
            sequence; an entry that is not a path.
    """
    if isinstance(value, (str, bytes, os.PathLike)):
        raise ConfigurationError(f"{name}={value!r}: pass a list, such as [{str(value)!r}]")
    entries = _items(name, value)
    for item in entries:
        if not isinstance(item, (str, os.PathLike)) or not os.fspath(item):
            raise ConfigurationError(f"{name}: {item!r} is not a path: pass text or a Path")
    return tuple(os.path.abspath(path) for path in entries)


def _items(name: str, values: Any) -> tuple[Any, ...]:
    if values is None:
        return ()
    if not isinstance(values, Iterable) or isinstance(values, Mapping):
        raise ConfigurationError(f"{name}={values!r}: pass a list")
    return tuple(values)


def mapping(name: str, value: Any) -> dict[Any, Any]:
    """Return a mapping as a dict; ``None`` means an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise ConfigurationError(f"{name}={value!r}: pass a mapping of names to values")
    return dict(value or {})


def functions(name: str, value: Any) -> dict[str, Callable[..., Any]]:
    """Return a mapping of names to functions as a dict; ``None`` means an empty one."""
    entries = mapping(name, value)
    for key, function in entries.items():
        if not callable(function):
            raise ConfigurationError(
                f"{name}[{key!r}]={function!r}: pass a function; other values are sent by "
                "send_variables"
            )
    return entries


def function_or_none(name: str, value: Any) -> Callable[..., Any] | None:
    """Return a function, or ``None``."""
    if value is not None and not callable(value):
        raise ConfigurationError(f"{name}={value!r}: pass a function, or None")
    function: Callable[..., Any] | None = value
    return function


def logger(name: str, value: Any) -> Any:
    """Return a logger as upstream has it; one of :mod:`logging` has other methods."""
    if value is not None and not (hasattr(value, "log") and hasattr(value, "log_error")):
        raise ConfigurationError(
            f"{name}={value!r}: pass upstream's AgentLogger, an object with its methods log() and "
            "log_error(), or None"
        )
    return value
