"""Calls of Ray that have a deadline, and their errors as the fork's."""

from __future__ import annotations

import re
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from ...errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ..links.failure_data import failure_of

__all__ = ["answer_of"]

_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def _value_of(reference: Any, seconds: float) -> Any:
    """Return what an actor's method returned.

    Args:
        reference: of the call.
        seconds: to wait at most.

    Raises:
        TimeoutError: no answer in time.
        SandboxDiedError: the actor has ended, or cannot be reached now.
        ExecutorStartError: Ray could not carry out the call.
    """
    done, _ = ray.wait([reference], timeout=seconds)
    if not done:
        raise TimeoutError(f"no answer within {seconds:.1f} s")
    try:
        return ray.get(done[0], timeout=max(1.0, seconds))
    except RayActorError as error:
        raise SandboxDiedError(_first_line(error), cause="node") from error
    except RayError as error:
        raise ExecutorStartError(f"{type(error).__name__}: {_first_line(error)}") from error


def answer_of(reference: Any, seconds: float) -> Any:
    """Return the value of a supervisor's answer.

    Raises:
        ForkError: the error that it answered with; otherwise as for a call of Ray.
    """
    answer = _value_of(reference, seconds)
    if type(answer) is not tuple or len(answer) != 2:
        raise ProtocolError("a supervisor answers with ok or an error")
    if answer[0] == "ok":
        return answer[1]
    raise failure_of(answer[1])


def _first_line(error: BaseException) -> str:
    """Return the first line of Ray's message, and the error at its end if there is one.

    The others are about Ray's own classes and logs.
    """
    text = _COLOUR.sub("", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    cause = f" ({lines[-1][:400]})" if len(lines) > 1 and _ERROR.match(lines[-1]) else ""
    return lines[0][:400] + cause
