"""Errors of the fork as plain data, sent from a node to the host."""

from __future__ import annotations

from typing import Any

from ... import errors
from ...errors import ExecutorError, ForkError, ProtocolError, SandboxDiedError

__all__ = ["failure_data", "failure_of"]


def failure_data(error: ForkError) -> list[str]:
    """Return class, message and cause of an error."""
    cause = error.cause if isinstance(error, SandboxDiedError) else ""
    return [type(error).__name__, str(error), cause]


def failure_of(data: Any) -> ForkError:
    """Return the error that plain data describe.

    Raises:
        ProtocolError: they describe none.
    """
    if type(data) is not list or [type(one) for one in data] != [str, str, str]:
        raise ProtocolError("an error has a class, a message and a cause")
    name, message, cause = data
    # Compared with the classes there are; nothing is imported that the node could choose.
    found = getattr(errors, name, None) if name in errors.__all__ else None
    if found is SandboxDiedError:
        return SandboxDiedError(message, cause=cause)
    simple = isinstance(found, type) and issubclass(found, ForkError)
    if not simple or found is errors.AgentProgramError:
        return ExecutorError(message)
    made: ForkError = found(message)  # type: ignore[misc]  # checked above
    return made
