"""Dispatcher of requests from a hostile sandbox to registered callables, and to nothing else."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from .. import telemetry
from ..awaitables import complete
from ..codec import DEFAULT_MAX_BYTES, decode, encode
from ..codec.attachments import Attachments
from ..codec.limits import RAISE_VALUE_BYTES
from ..errors import (
    AuditError,
    CodecError,
    ConfigurationError,
    DecodeError,
    EncodeError,
    LimitExceededError,
    ProtocolError,
)
from ..upstream import AgentType
from .call_record import CallRecord
from .exceptions import describe_exception, raised_by_signal
from .signatures import StubSpec, describe, make_callable, offer
from .thread import CallThread, GivenUp, ToolThread

__all__ = ["Dispatcher"]

# Number of refused calls before the sandbox is stopped. It is high enough for a program that
# catches each error in a loop to receive it, and too low to keep the host busy.
_PATIENCE = 100
# Bits of the number that a sandbox gives a call.
_NUMBER_BITS = 63

#: Tools of one executor that may run on after they were abandoned, over all its runs.
MOST_ABANDONED = 8


class Dispatcher:
    """Registered callables of one executor, and the calls of one run.

    Args:
        max_value_bytes: largest request and largest reply, in bytes.
        max_calls: number of calls one run may make.
        tool_timeout_seconds: time limit of one tool call, in seconds; ``None`` for no limit.
        calling_thread: run tools in the thread that calls :meth:`handle`, where objects that they
            are bound to were made. ``None``: unless a tool may time out. ``False``: in a thread of
            their own.
        on_call: called with the record of every served call.
        before_call: called with name and arguments by parameter before a tool is; what it raises is
            raised in the code, and the tool is not called.

    A tool in the calling thread cannot be abandoned: interruption waits for it. Other tools run in
    one thread that is reused for each call. A tool that is interrupted or times out is abandoned in
    it, since Python cannot stop it, and its result is discarded. At most :data:`MOST_ABANDONED`
    run on so: then the next call ends its run, and :attr:`limit` says why. A
    :class:`.thread.CallThread` runs no tools.

    After a run has given its final answer, reached its limit or been interrupted, :meth:`handle`
    refuses all its calls until :meth:`begin_run`.

    Only the thread that runs the code calls :meth:`handle`. Any thread may call :meth:`interrupt`
    and :meth:`end_run`.

    Raises:
        ConfigurationError: an argument is invalid.
    """

    def __init__(
        self,
        *,
        max_value_bytes: int = DEFAULT_MAX_BYTES,
        max_calls: int = 100_000,
        tool_timeout_seconds: float | None = None,
        calling_thread: bool | None = None,
        on_call: Callable[[CallRecord], None] | None = None,
        before_call: Callable[[str, Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.max_value_bytes = max_value_bytes
        self.max_calls = max_calls
        self.tool_timeout_seconds = tool_timeout_seconds
        if calling_thread and tool_timeout_seconds is not None:
            raise ConfigurationError(
                f"tool_timeout_seconds={tool_timeout_seconds!r}: a tool in the calling thread "
                "cannot be abandoned; omit tool_timeout_seconds or run tools in their own thread"
            )
        self.on_call = on_call
        self._before_call = before_call
        self._calling_thread = calling_thread is not False and tool_timeout_seconds is None
        self._thread = ToolThread()
        self._targets: dict[str, tuple[StubSpec, Callable[..., Any]]] = {}
        self._running: Callable[..., Any] | None = None
        self._interrupted = threading.Event()
        self.begin_run()

    def register(self, targets: Mapping[str, Callable[..., Any]]) -> list[StubSpec]:
        """Register tools and managed agents by name; an existing name is replaced.

        One that code cannot call is left out, with a warning that names it.
        """
        specs = {name: (describe(name, target), target) for name, target in offer(targets).items()}
        for _, target in specs.values():
            make_callable(target)
        self._targets.update(specs)
        return [spec for spec, _ in specs.values()]

    @property
    def specs(self) -> list[StubSpec]:
        """Specifications of all registered callables, in order."""
        return [spec for spec, _ in self._targets.values()]

    def begin_run(self) -> None:
        """Start a new run: reset its call count, and clear the final answer.

        Numbers of calls grow within a run: a program that forges one harms no later run.
        """
        self._last_call = self._calls = 0
        self._bad = 0
        self._final: tuple[Any] | None = None
        self._over = ""
        #: The reason for which the host itself ended the run.
        self.limit: LimitExceededError | None = None
        if self._interrupted.is_set():
            self._interrupted.clear()

    def end_run(self, reason: str) -> None:
        """Refuse all further calls of this run. May be called from any thread.

        Args:
            reason: ``"timeout"``, ``"interrupt"``, ``"tools"`` or ``"end"``; the first call
                decides.
        """
        self._over = self._over or reason

    @property
    def has_final_answer(self) -> bool:
        """True if this run gave a final answer."""
        return self._final is not None

    @property
    def final_answer(self) -> Any:
        """The final answer of this run; ``None`` without one."""
        return self._final[0] if self._final else None

    def interrupt(self) -> None:
        """Ask the running tool to stop. May be called from any thread.

        An agent is stopped by its ``interrupt()``. Any other tool is abandoned. The run can call no
        further tools.
        """
        self.give_up()()

    def give_up(self) -> Callable[[], None]:
        """Interrupt without waiting; return the function that calls the tool's ``interrupt()``."""
        self.end_run("interrupt")
        self._interrupted.set()
        target = self._running
        # First, so that the call ends as interrupted even if the agent stops at once.
        self._thread.interrupt()
        return functools.partial(_stop, target)

    def close(self) -> None:
        """Release the tools' thread and abandon its running tool. May be called from any thread."""
        self.interrupt()
        self._thread.close()

    def handle(
        self,
        request: bytes | bytearray | memoryview,
        *,
        pause: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> bytes:
        """Serve one request and return the reply.

        Every request gets a reply, whatever it contains and whatever the tool raises.
        ``SystemExit`` and similar exceptions of a tool do not end the host.

        Args:
            pause: stops the clock of the run while the tool runs.

        Raises:
            ProtocolError: the sandbox continues to send refused calls; the caller must end it.
            BaseException: of a signal's handler in the calling thread, such as KeyboardInterrupt
                after Ctrl-C.
        """
        if self._final is not None or self._over:
            # Neither decoded nor counted: what is sent after the end costs the host nothing.
            end = {"over": self._over} if self._final is None else {"final": True}
            return encode({"call": None, **end})
        try:
            number, name, args, kwargs = self._read(request)
        except CodecError as error:
            return self._refusal(None, ValueError(f"the host cannot read this call: {error}"))
        if number <= self._last_call:  # a copy: nothing is called twice
            return self._refusal(None, ValueError(f"call {number} was made before"))
        self._last_call = number
        self._calls += 1
        if self._calls > self.max_calls:
            message = f"more than max_calls={self.max_calls} calls of tools in one run"
            return self._refusal(number, RuntimeError(message))
        if self._thread.abandoned >= MOST_ABANDONED:
            self.limit = LimitExceededError(
                f"{MOST_ABANDONED} tools that were interrupted or ran past tool_timeout_seconds "
                f"still run on the host, the most that one executor may leave there; {name[:100]}"
                "() was not called. Give them a time limit of their own, or an interrupt() "
                "method"
            )
            self.end_run("tools")
            return encode({"call": number, "over": self._over})
        if name not in self._targets:
            return self._refusal(number, NameError(f"the host has no tool called {name[:100]!r}"))
        spec = self._targets[name][0]
        # Before they are shown: our stubs send no such dict.
        args, kwargs = spec.as_read(args, kwargs)
        misfit = spec.misfit(args, kwargs)
        if misfit is not None:  # our stubs never send this
            return self._refusal(number, TypeError(misfit))
        return self._serve_call(number, name, args, kwargs, pause, len(request))

    def _read(
        self, request: bytes | bytearray | memoryview
    ) -> tuple[int, str, list[Any], dict[str, Any]]:
        frame = decode(request, path="call", max_bytes=self.max_value_bytes)
        if type(frame) is not dict or frame.keys() != {"call", "name", "args", "kwargs"}:
            raise DecodeError("call: a request needs call, name, args and kwargs")
        number, name, args, kwargs = (frame[key] for key in ("call", "name", "args", "kwargs"))
        kinds = (type(number), type(name), type(args), type(kwargs))
        if kinds != (int, str, list, dict) or not all(type(key) is str for key in kwargs):
            raise DecodeError("call: a request needs an int, a name, a list and a dict")
        if number.bit_length() > _NUMBER_BITS:  # it is quoted, and sent back
            raise DecodeError(f"call: the number of a request has {_NUMBER_BITS} bits at most")
        return number, name, args, kwargs

    def _serve_call(
        self,
        number: int,
        name: str,
        args: list[Any],
        kwargs: dict[str, Any],
        pause: Callable[[], AbstractContextManager[None]],
        request_bytes: int,
    ) -> bytes:
        spec, target = self._targets[name]
        started = time.monotonic()
        problem: str | None = None
        begun = False
        reply = b""
        self._running = target
        try:
            with pause(), telemetry.tool_call(name) as call:
                refusal = self._refusal_before(spec, args, kwargs)
                begun = refusal is None
                returned, value = (
                    self._outcome(name, target, args, kwargs)
                    if refusal is None
                    else (False, refusal)
                )
                call.error = None if returned else value
            call.error = None
            if returned and spec.final:
                self._final = (value,)
                reply = encode({"call": number, "final": True})
                return reply
            if returned:
                try:
                    reply = self._reply(number, name, value)
                    return reply
                except Exception as error:
                    value = error
            described = describe_exception(_with_name(value, spec))
            problem = f"{type(value).__name__}: {described[2]}"
            reply = encode({"call": number, "error": described})
            return reply
        except BaseException as error:
            # Not from the tool: Ctrl-C, or an exception of a signal handler in the waiting thread.
            problem = type(error).__name__
            _stop(target)
            raise
        finally:
            # The frames of an error's traceback refer to this one: it must not refer to the error.
            value = None
            self._running = None
            if self.on_call is not None:
                seconds = time.monotonic() - started
                self.on_call(
                    CallRecord(name, seconds, problem, request_bytes, len(reply), refused=not begun)
                )

    def _refusal_before(
        self, spec: StubSpec, args: list[Any], kwargs: dict[str, Any]
    ) -> Exception | None:
        """Return why a call is not made; ``None`` if it is."""
        if self._before_call is None:
            return None
        try:
            self._before_call(spec.name, spec.arguments(args, kwargs))
        except AuditError:
            raise  # the run ends, and not only the call
        except Exception as error:
            if raised_by_signal(error):
                raise
            return error
        return None

    def _reply(self, number: int, name: str, value: Any) -> bytes:
        attachments = Attachments()
        try:
            text = encode(
                _raw(value),
                path=f"result of {name}()",
                max_bytes=self.max_value_bytes,
                attachments=attachments,
                remedy=RAISE_VALUE_BYTES,
            )
        except EncodeError as error:
            raise TypeError(str(error)) from error
        return attachments.message(b'{"call":%d,"value":%s}' % (number, text))

    def _outcome(
        self, name: str, target: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> tuple[bool, Any]:
        """Return ``True`` and the tool's value, or ``False`` and its exception."""
        if self._calling_thread and not isinstance(threading.current_thread(), CallThread):
            try:
                value = _call(target, args, kwargs)
            except BaseException as error:
                if raised_by_signal(error):
                    raise
                return self._unless_interrupted(name, False, error)
            return self._unless_interrupted(name, True, value)
        try:
            return self._thread.run(
                functools.partial(_call, target, args, kwargs),
                self.tool_timeout_seconds,
                self._interrupted.is_set,
            )
        except GivenUp as given_up:
            if given_up.reason == "interrupt":
                return False, TimeoutError(
                    f"{name}() was interrupted; it keeps running on the host"
                )
            _stop(target)
            return False, TimeoutError(
                f"{name}() ran past tool_timeout_seconds={self.tool_timeout_seconds}; "
                "it keeps running on the host"
            )

    def _unless_interrupted(self, name: str, returned: bool, value: Any) -> tuple[bool, Any]:
        if self._interrupted.is_set():
            return False, TimeoutError(f"{name}() was interrupted")
        return returned, value

    def _refusal(self, number: int | None, error: Exception) -> bytes:
        self._bad += 1
        if self._bad > _PATIENCE:
            raise ProtocolError(
                f"the sandbox continued after {_PATIENCE} refused calls; the last: {error}"
            )
        return encode({"call": number, "error": describe_exception(error)})


def _call(target: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    return complete(target(*args, **kwargs))


def _stop(target: Any) -> None:
    stop = getattr(target, "interrupt", None)
    if callable(stop):
        stop()


def _raw(value: Any) -> Any:
    """Unwrap upstream's agent types (AgentText, AgentImage); return anything else unchanged."""
    return value.to_raw() if isinstance(value, AgentType) else value


def _with_name(error: BaseException, spec: StubSpec) -> BaseException:
    """Rewrite a binding error to name the tool instead of ``Tool.forward()``."""
    if type(error) is TypeError and len(error.args) == 1 and isinstance(error.args[0], str):
        head, dot, rest = error.args[0].partition("forward() ")
        if dot and (not head or head.endswith(".")):
            return TypeError(f"{spec.name}() {rest}")
    return error
