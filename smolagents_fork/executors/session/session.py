"""Session of an executor: one guest at a time, its runs, requests and replacement.

Who calls what: an executor makes a session, then calls :meth:`Session.run` and
:meth:`Session.request` from one thread at a time, and :meth:`Session.interrupt` and
:meth:`Session.close` from any. The session knows nothing of smolagents, and nothing of a guest's
messages.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...call_output import CallOutput
from ...deadline import Deadline
from ...errors import (
    DecodeError,
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    ProgramInterruptedError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...guest.frames import body_size
from ..call_options import CallOptions
from .bindings import Bindings
from .exchange import Exchange, NotStopped
from .guest import Ask, End, Failure, Guest, GuestSource, Request, Task

__all__ = ["Outcome", "Session"]

# Nodes of a cluster that may be lost one after the other while a guest starts.
_MOST_STARTS = 3
# Longest wait of a close for the run in another thread, in seconds.
_CLOSE_SECONDS = 5.0
#: About a guest that did not end by itself. Before a node is lost, its processes may be killed.
_UNKNOWN = "; the code may have run, in part or to its end"
_UNKNOWN_CAUSES = frozenset({"node", "signal"})


@dataclass(frozen=True)
class Outcome:
    """Outcome of a run.

    Attributes:
        output: value of the last expression, or the final answer.
        is_final_answer: whether the code gave the final answer.
        seconds: run time, without that of tools.
        failure: the exception that ended the code; ``None`` without one.
    """

    output: Any
    is_final_answer: bool
    seconds: float
    failure: Failure | None = None


class Session:
    """Runs and requests of one executor, with their limits and errors.

    Args:
        prepare: gives a new guest what it gets besides; called before the bindings do.
    """

    def __init__(
        self,
        limits: CallOptions,
        source: GuestSource,
        bindings: Bindings,
        prepare: Callable[[Ask], object] = lambda _ask: None,
    ) -> None:
        self.limits = limits
        self._source = source
        self._bindings = bindings
        self._prepare = prepare
        self._guest: Guest | None = None
        #: Whether any code was run.
        self.has_run = False
        #: Why no further guest is started, with ``on_death="fail"``.
        self._failure: str | None = None
        self._interrupted = threading.Event()
        # Guards the state that interrupt() reads from other threads. Reentrant: the handler of a
        # signal may interrupt while its own thread has the lock.
        self._state = threading.RLock()
        self._running = False
        self._idle = threading.Event()
        self._idle.set()
        self._closing = False

    # -- the guest --

    @property
    def guest(self) -> Guest | None:
        """Present guest; ``None`` when there is none."""
        return self._guest

    def open(self) -> None:
        """Start a guest, in place of the present one, and give it the tools and variables.

        Raises:
            ExecutorStartError: it did not start, or was lost while it was prepared.
            ExecutorClosedError: :meth:`close` was called meanwhile.
        """
        self.drop()
        try:
            self._open_somewhere()
            # After the guest was stored: close() sets the mark before it reads the guest.
            if self._closing:
                raise ExecutorClosedError("the executor has been closed")
        except BaseException as error:
            self._drop()
            if self._closing:
                self._source.close()
                if isinstance(error, Exception):
                    raise ExecutorClosedError(
                        "the executor was closed while its sandbox started"
                    ) from error
            if isinstance(error, (SandboxDiedError, ProtocolError, DecodeError)):
                raise ExecutorStartError(f"the sandbox did not start: {error}") from None
            raise

    def _open_somewhere(self) -> None:
        """Open a guest; another one if the node of the first is lost, for no program has run."""
        for _ in range(_MOST_STARTS - 1):
            try:
                self._open()
            except SandboxDiedError as error:
                if error.cause != "node" or self._closing:
                    raise
                self._drop()
            else:
                return
        self._open()

    def _open(self) -> None:
        seconds = self.limits.startup_timeout_seconds
        deadline = Deadline(seconds)
        self._guest = guest = self._source.start(self._interrupted.is_set)

        def ask(request: Request, action: str) -> bytes:
            return self._ask(guest, request, action)

        self._source.set_up(ask)
        if deadline.expired():
            raise ExecutorStartError(
                f"the sandbox did not start in startup_timeout_seconds={seconds}"
            )
        self._prepare(ask)
        self._bindings.prepare(ask)

    def drop(self) -> None:
        """End the guest; the next run or request starts another."""
        self._failure = None
        self._drop()

    def _drop(self) -> None:
        guest, self._guest = self._guest, None
        if guest is not None:
            guest.close()

    def close(self, *, from_inside: bool = False) -> None:
        """End the guest for good. Idempotent; a run in another thread ends first.

        Args:
            from_inside: whether a tool or a callback of the run calls: then the run cleans up.
        """
        self._closing = True
        guest = self._guest
        if self._running and guest is not None:
            guest.kill()
            if from_inside:
                return
            self._bindings.calls.interrupt()
            self._idle.wait(_CLOSE_SECONDS)
        self._drop()
        self._source.close()

    def is_alive(self) -> bool:
        """Tell whether the next call can be expected to work without a new guest.

        Must not be called while code runs.
        """
        guest = self._guest
        return self._failure is None and guest is not None and guest.is_alive()

    def interrupt(self) -> None:
        """Interrupt the run or request; no-op when idle. From any thread."""
        # Under the lock: an interruption that is noted after the run would stop the next one.
        with self._state:
            if not self._running:
                return
            self._interrupted.set()
            stop_tool = self._bindings.calls.give_up()
        stop_tool()

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """Let :meth:`interrupt` and :meth:`close` end the block."""
        with self._state:
            self._running = True
            self._idle.clear()
        try:
            yield
        finally:
            with self._state:
                self._running = False
                self._interrupted.clear()
            self._idle.set()
            if self._closing:
                self._drop()
                self._source.close()

    def _ready(self) -> Guest:
        """Return the guest; start one if there is none.

        Raises:
            SandboxDiedError: the guest has ended since the last call; there is none any more.
        """
        if self._failure is not None:
            raise SandboxDiedError(self._failure)
        if self._closing:
            raise ExecutorClosedError("the executor has been closed")
        guest = self._guest
        if guest is None:
            self.open()
        elif not guest.is_alive():
            # Once, or the user would not learn that the state is lost.
            raise self._lost(guest, guest.death(), "between two calls, ")
        assert self._guest is not None
        return self._guest

    # -- requests --

    def request(self, request: Request, action: str) -> bytes:
        """Make a request of the guest, which is started if necessary; return the answer.

        Raises:
            ExecutorError: the guest refused.
            SandboxDiedError: the guest has ended.
            ProtocolError: it did not answer in time, or not as it must.
        """
        with self._busy():
            guest = self._ready()
            try:
                return self._ask(guest, request, action)
            except (SandboxDiedError, ProtocolError) as error:
                raise self._lost(guest, error, f"{action}: ") from None

    def _ask(self, guest: Guest, request: Request, action: str) -> bytes:
        size = sum(map(body_size, request.bodies))
        seconds = request.seconds or self.limits.startup_timeout_seconds
        # One second per megabyte is enough even on a busy machine.
        deadline = Deadline(seconds + size / 1e6)
        grace, stop = self.limits.interrupt_grace_seconds, self._interrupted.is_set
        exchange = Exchange(guest, deadline, grace, stop)
        try:
            guest.ask(request, deadline)
            end = exchange.finish()
        except NotStopped as error:
            begun = "interrupted: " if error.reason == "interrupt" else ""
            waited = grace if begun else deadline.seconds
            raise ProtocolError(f"{begun}{guest.unread or 'no answer'} within {waited} s") from None
        except (SandboxDiedError, ProtocolError):
            raise
        except BaseException:
            if not exchange.abandon():  # Ctrl-C
                self._drop()
            raise
        if end.failure is not None:
            raise ExecutorError(_refusal(request, action, end.failure, exchange.reason))
        answer: bytes = end.read()
        return answer

    # -- runs --

    def run(self, code: str, output: CallOutput) -> Outcome:
        """Run ``code``.

        Raises:
            ProgramInterruptedError: it was interrupted, or never began; its state is kept.
            LimitExceededError: its calls have reached a limit.
            SandboxTimeoutError: it ran past ``timeout_seconds``; says whether its state survived.
            SandboxDiedError: the guest ended; says how.
            ProtocolError: the guest violated the protocol.
            DecodeError: the value cannot be read.
        """
        calls = self._bindings.calls
        calls.begin_run()
        with self._busy():
            self.has_run = True
            try:
                guest = self._ready()
                if self._interrupted.is_set():
                    raise ProgramInterruptedError(
                        "the code was interrupted by interrupt() before it began"
                    )
                begun = time.monotonic()
                try:
                    return self._run(guest, code, output)
                finally:
                    # An optional capability of sandboxes whose engine keeps figures of calls.
                    record = getattr(guest.recorder, "record_call", None)
                    if record is not None:
                        record(time.monotonic() - begun)
            finally:
                calls.end_run("end")

    def _run(self, guest: Guest, code: str, output: CallOutput) -> Outcome:
        calls, stop = self._bindings.calls, self._interrupted.is_set
        deadline = Deadline(self.limits.timeout_seconds)
        grace = self.limits.interrupt_grace_seconds
        exchange = Exchange(guest, deadline, grace, stop, calls)
        try:
            guest.run(code, output, deadline)
            end = exchange.finish()
        except (NotStopped, SandboxDiedError, ProtocolError) as error:
            guest.kill()
            lost = self._lost(guest, self._describe(error), "")
            if not calls.has_final_answer:
                raise lost from None
            return Outcome(calls.final_answer, True, deadline.elapsed())
        except BaseException:
            # Ctrl-C, or a callback that raised: the program must not run without a reader.
            if not exchange.abandon():
                self._drop()
            raise
        return self._outcome(exchange, end, deadline.elapsed())

    def _outcome(self, exchange: Exchange, end: End, seconds: float) -> Outcome:
        calls = self._bindings.calls
        if calls.has_final_answer:
            # The final answer counts, whatever the program did afterwards.
            return Outcome(calls.final_answer, True, seconds)
        if self._closing and end.failure is not None:
            # The guest may report the cancelled tool before the kill takes effect.
            raise ExecutorClosedError("the code was ended by cleanup()")
        if calls.limit is not None:
            raise calls.limit
        # Whatever the program has made of its stop.
        if exchange.reason == "timeout":
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={self.limits.timeout_seconds}; it was interrupted "
                "and its state kept"
            )
        if end.failure is None:
            return Outcome(end.read(), False, seconds)
        if exchange.reason == "interrupt":
            traceback = end.failure.traceback
            raise ProgramInterruptedError(
                "the code was interrupted by interrupt(); its state is kept"
                + (f"\n{traceback}" if traceback else "")
            )
        return Outcome(None, False, seconds, end.failure)

    # -- ends --

    def _describe(self, error: NotStopped | SandboxDiedError | ProtocolError) -> ExecutorError:
        """Return the error of a run whose guest is of no more use, without what follows from it."""
        if isinstance(error, SandboxDiedError) and error.cause in _UNKNOWN_CAUSES:
            return error.rephrase(f"{error}{_UNKNOWN}")
        if isinstance(error, ExecutorError):
            return error
        grace = (
            "did not stop within "
            f"interrupt_grace_seconds={self.limits.interrupt_grace_seconds} and was killed"
        )
        if error.reason == "interrupt":
            return SandboxTimeoutError(f"code was interrupted by interrupt(), {grace}")
        if error.reason == "tools":
            return SandboxTimeoutError(f"{self._bindings.calls.limit}; the code {grace}")
        return SandboxTimeoutError(
            f"code ran past timeout_seconds={self.limits.timeout_seconds}, {grace}"
        )

    def _lost(self, guest: Guest, error: ExecutorError, when: str) -> ExecutorError:
        """Drop a guest that is of no more use, and return the error that says so.

        Args:
            when: beginning of the message.
        """
        self._drop()
        if self._closing:
            action = when.removesuffix(": ") if when.endswith(": ") else "the code"
            return ExecutorClosedError(f"{action} was ended by cleanup()")
        event = f"{when}{error}"
        following = (
            f"the next call starts in a new {guest.noun} with the tools and variables sent again"
        )
        if self.limits.on_death == "fail":
            following = "and on_death='fail': call restart(), or make a new executor"
        lost = error.rephrase(f"{event}; its state is lost, {following}")
        lost.event = event
        if self.limits.on_death == "fail":
            self._failure = str(lost)
        return lost


def _refusal(request: Request, action: str, failure: Failure, reason: str | None) -> str:
    if reason == "interrupt":
        return f"{action} was interrupted by interrupt()"
    if request.task is Task.FILE:
        return failure.value  # the caller names the file
    return f"{action}: {failure.name}: {failure.value}"
