"""Exceptions of the code in a sandbox, formatted for the agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...distributions.requirements import NAMESPACES, requirements_for
from ...errors import ConfigurationError
from ...text.hints import advice
from ...upstream import AgentError, LogLevel
from ..session.guest import Failure

__all__ = ["CodeFailedError", "NoLogger", "failure_text", "kernel_advice"]


class NoLogger:
    """A logger that drops every message.

    Upstream's errors log themselves, and the agent logs the step that failed: with the agent's
    logger, a user would read each traceback twice.
    """

    level = LogLevel.OFF

    # Any: upstream's logger takes whatever rich can print.
    def log(self, *_args: Any, **_kwargs: Any) -> None: ...
    def log_error(self, *_args: Any, **_kwargs: Any) -> None: ...


class CodeFailedError(AgentError):  # type: ignore[misc]  # upstream ships no types
    """The code in a sandbox raised or was interrupted: upstream's error, which can be pickled.

    Upstream's own constructor needs a logger, which pickle does not pass.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, NoLogger())


def failure_text(error: Failure, advise: Callable[[str], str]) -> str:
    """Return the traceback, with its cause or with advice if that is known.

    Args:
        advise: returns advice about the message of an error, with its type.
    """
    end = f"{error.name}: {error.value}"
    text = error.traceback or error.value or end
    # An absent module that led to the error is named after the traceback.
    return text + advise(f"{end}\n{text.rpartition(end)[2]}")


def kernel_advice(
    message: str,
    *,
    present: Sequence[str],
    of_pool: bool,
    network_remedy: str,
    own_loopback: bool,
) -> str:
    """Return lines for an error that the sandbox explains, or the empty string.

    Args:
        present: import names the image was made for.
        of_pool: whether the sandbox came from a pool, which decides what is installed.
        network_remedy: how the sandbox gets a network; empty if it has one.
        own_loopback: whether ``127.0.0.1`` is the sandbox's own.
    """
    return advice(
        message,
        network_remedy,
        of_module=lambda name: _missing_module(name, present, of_pool),
        own_loopback=own_loopback,
    )


def _missing_module(name: str, present: Sequence[str], of_pool: bool) -> str:
    top = name.partition(".")[0]
    # A missing submodule of an installed package is misspelt; an installation would not add it.
    if name in present or (name != top and top not in NAMESPACES):
        return ""
    parameter = "additional_imports=" if of_pool else "additional_authorized_imports="
    owner = "pool" if of_pool else "executor"
    more = ""
    try:
        if not requirements_for([name]):
            return ""  # of the fork: pip does not install it
    except ConfigurationError as error:
        more = f" ({error})"
    return (
        f"{name!r} is not installed in the sandbox. To have it installed, pass its import name "
        f"to the {owner} in {parameter}, or a pip requirement in requirements={more}"
    )
