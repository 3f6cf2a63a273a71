"""Checks that executors share besides those of their options."""

from __future__ import annotations

import inspect

from ..errors import ConfigurationError, ConfigurationTypeError

__all__ = ["check_code", "copy_refused", "parameters_of"]


def parameters_of(cls: type) -> list[str]:
    """List the keyword parameters of the constructor of ``cls``."""
    found = inspect.signature(cls).parameters.values()
    return [parameter.name for parameter in found if parameter.kind is not parameter.VAR_KEYWORD]


def check_code(code: object) -> None:
    """Refuse a program that is not text."""
    if not isinstance(code, str):
        raise ConfigurationError(f"code is {type(code).__name__}: give text")


def copy_refused(executor: object) -> ConfigurationTypeError:
    """Return the error for a copy of an executor whose state is in a sandbox."""
    return ConfigurationTypeError(
        f"cannot copy or pickle {type(executor).__name__}: its state is in a sandbox of its own; "
        "make another executor, and give it the variables by "
        "other.send_variables(executor.variables())"
    )
