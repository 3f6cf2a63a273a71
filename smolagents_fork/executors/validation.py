"""Validation of arguments that all executors share; errors name the parameter.

An argument of the wrong type often has the opposite effect: ``network="none"`` is true, and
``readable_paths="/etc"`` begins with ``/``.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import ConfigurationError, ConfigurationTypeError
from .suggestions import suggest_options

__all__ = [
    "check_code",
    "check_count",
    "check_flag",
    "check_functions",
    "check_known",
    "check_logger",
    "check_output_function",
    "check_text",
    "copy_refused",
    "current_names",
    "former_names_of",
    "mapping_of",
    "names_of",
    "parameters_of",
    "paths_of",
]

_logger = logging.getLogger(__name__)

#: Options by the names that earlier releases of the fork had for them; these go on working.
FORMER_NAMES: dict[str, str] = {
    "max_output_bytes": "max_print_outputs_length",
    "max_output_length": "max_print_outputs_length",
    "start_seconds": "startup_timeout_seconds",
}
_noted: set[tuple[str, str]] = set()


def former_names_of(name: str) -> list[str]:
    """Return the former names of an option.

    Args:
        name: its present one.
    """
    return [former for former, present in FORMER_NAMES.items() if present == name]


def current_names(owner: str, given: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return keywords with the present name for each former one, which is noted once a process.

    Args:
        owner: the class that was called.
        given: keywords it was called with.
        known: keywords it accepts.

    Raises:
        ConfigurationError: an option is given by both names.
    """
    accepted = set(known)
    keywords = dict(given)
    for former in given:
        present = FORMER_NAMES.get(former)
        if present is None or former in accepted or present not in accepted:
            continue
        if present in given:
            raise ConfigurationError(
                f"{owner}: {former}= is the former name of {present}=; give the latter alone"
            )
        keywords[present] = keywords.pop(former)
        if (owner, former) not in _noted:
            _noted.add((owner, former))
            _logger.warning("%s: %s= is now called %s=", owner, former, present)
    return keywords


def check_known(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown keywords; the error lists the known ones.

    Args:
        owner: the class that was called.
        given: keywords it was called with.
        known: keywords it accepts.
    """
    names = sorted(known)
    unknown = sorted(set(given) - set(names))
    if unknown:
        meant = suggest_options(unknown[0], names)
        hint = f"did you mean {' or '.join(map(repr, meant))}?"
        if not meant:
            hint = f"known are: {', '.join(names)}"
        raise ConfigurationError(f"{owner} has no parameter {unknown[0]!r}; {hint}")


def parameters_of(cls: type) -> list[str]:
    """List the keyword parameters of the constructor of ``cls``."""
    found = inspect.signature(cls).parameters.values()
    return [parameter.name for parameter in found if parameter.kind is not parameter.VAR_KEYWORD]


def check_flag(name: str, value: object, *, optional: bool = False) -> None:
    """Refuse all but ``True`` and ``False``: any text counts as true, ``"no"`` and ``"none"`` too.

    Args:
        name: of the parameter.
        value: its argument.
        optional: whether ``None`` is allowed.
    """
    if not isinstance(value, bool) and not (optional and value is None):
        raise ConfigurationError(f"{name}={value!r}: give True or False{', or None' * optional}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{name}={value!r}: give a whole number above {least - 1}")


def check_text(name: str, value: object) -> None:
    """Refuse a value that is neither text nor ``None``."""
    if value is not None and not isinstance(value, str):
        raise ConfigurationError(f"{name}={value!r}: give text, or None")


def check_code(code: object) -> None:
    """Refuse a program that is not text."""
    if not isinstance(code, str):
        raise ConfigurationError(f"code is {type(code).__name__}: give text")


def check_output_function(value: object) -> None:
    """Refuse an ``on_output`` that cannot be called."""
    if value is not None and not callable(value):
        raise ConfigurationError(f"on_output={value!r}: give a function that takes text, or None")


def check_logger(value: object) -> None:
    """Refuse a logger that cannot log, such as one of :mod:`logging`, whose methods are others."""
    if value is not None and not (hasattr(value, "log") and hasattr(value, "log_error")):
        raise ConfigurationError(
            f"logger={value!r}: give upstream's AgentLogger, an object with its methods log() and "
            "log_error(), or None"
        )


def names_of(name: str, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return names given as a sequence; ``None`` means an empty one.

    Raises:
        ConfigurationError: a text, whose letters would be names; not a sequence; an entry that is
            not a name.
    """
    if isinstance(names, (str, bytes)):
        raise ConfigurationError(f"{name}={names!r}: give a list, such as [{names!r}]")
    found = _items(name, names)
    for item in found:
        if not isinstance(item, str) or not item.strip():
            raise ConfigurationError(f"{name}: {item!r} is not a name: give text")
    return found


def paths_of(name: str, paths: Sequence[str | os.PathLike[str]] | None) -> tuple[str, ...]:
    """Return paths given as a sequence, made absolute.

    Raises:
        ConfigurationError: one path, whose letters would be paths, ``/`` among them; not a
            sequence; an entry that is not a path.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise ConfigurationError(f"{name}={paths!r}: give a list, such as [{str(paths)!r}]")
    found = _items(name, paths)
    for item in found:
        if not isinstance(item, (str, os.PathLike)) or not os.fspath(item):
            raise ConfigurationError(f"{name}: {item!r} is not a path: give text or a Path")
    return tuple(os.path.abspath(path) for path in found)


def _items(name: str, values: Any) -> tuple[Any, ...]:
    if values is None:
        return ()
    if not isinstance(values, Iterable) or isinstance(values, Mapping):
        raise ConfigurationError(f"{name}={values!r}: give a list")
    return tuple(values)


def mapping_of(name: str, value: Any) -> dict[Any, Any]:
    """Return ``value`` as a dict; ``None`` means an empty one.

    Raises:
        ConfigurationError: not a mapping.
    """
    if value is not None and not isinstance(value, Mapping):
        raise ConfigurationError(f"{name}={value!r}: give a mapping of names to values")
    return dict(value or {})


def check_functions(functions: Any) -> dict[str, Callable[..., Any]]:
    """Return ``additional_functions`` as a dict of names to callables.

    Raises:
        ConfigurationError: not a mapping, or an entry that cannot be called.
    """
    found = mapping_of("additional_functions", functions)
    for name, function in found.items():
        if not callable(function):
            raise ConfigurationError(
                f"additional_functions[{name!r}]={function!r}: give a function; other "
                "values are sent by send_variables"
            )
    return found


def copy_refused(executor: object) -> ConfigurationTypeError:
    """Return the error for a copy of an executor whose state is in a sandbox."""
    return ConfigurationTypeError(
        f"cannot copy or pickle {type(executor).__name__}: its state is in a sandbox of its own; "
        "make another executor, and give it the variables by "
        "other.send_variables(executor.variables())"
    )
