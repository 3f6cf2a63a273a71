"""Container exceptions, formatted for the agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...distributions.namespaces import NAMESPACES
from ...distributions.requirements import requirements_for
from ...errors import ConfigurationError
from ...jupyter.collector import without_colours
from ...jupyter.protocol import KernelError
from ...upstream import AgentError

__all__ = ["CodeFailedError", "NoLogger", "failure_words"]

_NO_MODULE = re.compile(r"No module named '([\w.]{1,100})'")


class NoLogger:
    """Stands in where no logger was given, and for errors of the code.

    Upstream's errors log themselves, and the agent logs what it makes of them: with its logger, a
    user would read each traceback twice.
    """

    def log(self, *_args: Any, **_kwargs: Any) -> None: ...
    def log_error(self, *_args: Any, **_kwargs: Any) -> None: ...


class CodeFailedError(AgentError):  # type: ignore[misc]  # upstream ships no types
    """The code in a container raised, or was interrupted: upstream's error, which pickle copies.

    Upstream's own asks for a logger, which pickle does not give it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, NoLogger())


def failure_words(
    error: KernelError, *, interrupted: bool, present: Sequence[str], of_pool: bool
) -> str:
    """The traceback, and what led to it or helps where that is known.

    Args:
        error: as the kernel gave it.
        interrupted: whether ``interrupt()`` was called.
        present: import names the image was made for.
        of_pool: whether the container came from a pool, which decides what is installed.
    """
    words = without_colours(error.traceback) or str(error.value)
    if interrupted:
        return f"the code was interrupted by interrupt()\n{words}"
    return words + _missing_module(error, present, of_pool)


def _missing_module(error: KernelError, present: Sequence[str], of_pool: bool) -> str:
    found = _NO_MODULE.fullmatch(error.value) if error.name == "ModuleNotFoundError" else None
    name = found[1] if found is not None else ""
    top = name.partition(".")[0]
    # A part that is missing of what is there is a misspelt one, which no installation brings.
    if not name or name in present or (name != top and top not in NAMESPACES):
        return ""
    parameter = "additional_imports= of the pool" if of_pool else "additional_authorized_imports="
    more = ""
    try:
        if not requirements_for([name]):
            return ""  # of the standard library, or the fork's own: not pip's to bring
    except ConfigurationError as error:
        more = f" ({error})"
    return (
        f"\n{name!r} is not installed in the container. Whoever makes the executor can have it "
        f"installed: {parameter} takes import names, requirements= pip's own{more}"
    )
