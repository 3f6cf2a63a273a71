"""Carries out the calls that sandboxed code makes to functions of the host.

The sandbox is hostile: only registered names are called, arguments pass the codec with a size
limit, and an exception travels back as a type name and a message, without traceback or locals. What
a program can do with a registered function is what the function allows.

Transport-free: :meth:`Dispatcher.handle` takes a header and a payload and gives both back. The road
(the Jupyter stdin channel, a pipe) is the executor's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import codec
from ..errors import CodecError

__all__ = ["Dispatcher", "Reply"]

_MAX_MESSAGE_CHARS = 20_000
_NOTHING = object()


@dataclass(frozen=True)
class Reply:
    """The answer to one call.

    Attributes:
        header: ``kind`` is ``value``, ``error`` (with ``type`` and ``message``) or ``stop``.
        payload: the encoded value of a ``value``.
    """

    header: dict[str, Any]
    payload: bytes = b""


@dataclass
class Dispatcher:
    """Calls registered functions for one executor.

    Attributes:
        max_value_bytes: largest encoded arguments or result.
        max_calls: calls one run of code may make.
        log: gets one line a call.
        functions: by the name the sandbox uses.
        final: the name whose result ends the run, ``None`` for none.
    """

    max_value_bytes: int
    max_calls: int = 100_000
    log: Callable[[str], None] = lambda _line: None
    functions: dict[str, Callable[..., Any]] = field(default_factory=dict)
    final: str | None = None

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._answer: Any = _NOTHING

    def begin(self) -> None:
        """A new run of code begins: no answer yet, no calls counted."""
        self._calls = 0
        self._answer = _NOTHING

    @property
    def has_answer(self) -> bool:
        """Whether the final answer has been given in this run."""
        return self._answer is not _NOTHING

    @property
    def answer(self) -> Any:
        """The final answer of this run."""
        return None if self._answer is _NOTHING else self._answer

    def handle(self, header: Mapping[str, Any], payload: bytes) -> Reply:
        """Carry out one call; never raises but for what ends the host's own run.

        Args:
            header: from the sandbox; ``name`` says which function.
            payload: encoded ``{"args": [...], "kwargs": {...}}``.
        """
        if self.has_answer:
            return Reply({"kind": "stop"})
        name = header.get("name")
        function = self.functions.get(name) if isinstance(name, str) else None
        if header.get("kind") != "call" or function is None or not isinstance(name, str):
            return _error("NameError", f"the host has no function {str(name)[:100]!r}")
        self._calls += 1
        if self._calls > self.max_calls:
            return _error(
                "RuntimeError", f"more than max_tool_calls={self.max_calls} calls in one run"
            )
        try:
            arguments = codec.decode(payload, max_bytes=self.max_value_bytes)
            args, kwargs = _checked(arguments)
        except CodecError as error:
            return _error("ValueError", f"{name}(): {error}")
        started = time.monotonic()
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            self.log(f"{name}() raised {type(error).__name__} after {_since(started)}")
            return _error(type(error).__name__, _message(error))
        self.log(f"{name}() returned after {_since(started)}")
        if name == self.final:
            self._answer = result
            return Reply({"kind": "stop"})
        try:
            data = codec.encode(result, path=f"{name}()", max_bytes=self.max_value_bytes)
        except CodecError as error:
            return _error("ValueError", f"the result cannot travel to the sandbox: {error}")
        return Reply({"kind": "value"}, data)


def _checked(arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    if isinstance(arguments, dict):
        args, kwargs = arguments.get("args"), arguments.get("kwargs")
        if isinstance(args, list) and isinstance(kwargs, dict):
            if all(isinstance(key, str) for key in kwargs):
                return args, kwargs
    raise CodecError("the call's arguments are not laid out as a call's")


def _error(kind: str, message: str) -> Reply:
    return Reply({"kind": "error", "type": kind, "message": message[:_MAX_MESSAGE_CHARS]})


def _message(error: Exception) -> str:
    # KeyError('x') reads "'x'" as text; the sandbox makes a KeyError of it again.
    if len(error.args) == 1 and isinstance(error.args[0], str):
        return error.args[0]
    try:
        return str(error)
    except Exception:
        return f"({type(error).__name__} whose message cannot be shown)"


def _since(started: float) -> str:
    return f"{(time.monotonic() - started) * 1000:.0f} ms"
