"""Calls of Ray that have a deadline, and their errors as the fork's."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError

from ...errors import ExecutorStartError, ProtocolError, SandboxDiedError
from ..links.failure_data import failure_of

__all__ = ["answer_of", "bytes_of"]

_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def answer_of(reference: Any, seconds: float) -> Any:
    """Return the value of a supervisor's answer.

    Args:
        reference: of the call.
        seconds: to wait at most.

    Raises:
        TimeoutError: no answer in time.
        SandboxDiedError: the actor has ended, or cannot be reached now.
        ExecutorStartError: Ray could not carry out the call.
        ForkError: the error that the supervisor answered with.
    """
    done, _ = ray.wait([reference], timeout=seconds)
    if not done:
        raise TimeoutError(f"no answer within {seconds:.1f} s")
    return _checked(_value(lambda: ray.get(done[0], timeout=max(1.0, seconds))))


def bytes_of(done: Future[Any]) -> bytes:
    """Return an answer that is bytes, of a call that is done.

    Args:
        done: of the call.

    Raises:
        ForkError: as :func:`answer_of`.
    """
    answer = _value(done.result)
    if type(answer) is bytes:
        return answer
    _checked(answer)
    raise ProtocolError("a supervisor answers with bytes or an error")


def _value(get: Callable[[], Any]) -> Any:
    """Return what an actor's method returned, or raise Ray's error as the fork's."""
    try:
        return get()
    except RayActorError as error:
        raise SandboxDiedError(_first_line(error), cause="node") from error
    except RayError as error:
        raise ExecutorStartError(f"{type(error).__name__}: {_first_line(error)}") from error


def _checked(answer: Any) -> Any:
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
