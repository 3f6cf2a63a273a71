"""Calls of one executor to its kernel, with their limits and errors.

Who calls what: an executor makes a session for a connection, then calls :meth:`KernelSession.run`
from one thread at a time and :meth:`KernelSession.interrupt` from any. :meth:`KernelSession.close`
may be called from any thread; a running call then raises.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...deadline import Deadline
from ...errors import (
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ...jupyter.channel import Channel, DeadlinePassed
from ...jupyter.collector import Collector
from ...jupyter.protocol import KernelGone, Request, Sink
from ...jupyter.websocket import ConnectionLost, SendTimeout
from ...sandboxes.provisioner import Sandbox
from ..call_times import recorded
from .connection import KernelConnection
from .diagnosis import status_after_end

__all__ = ["Interrupted", "KernelSession", "OnDeath", "SessionLimits"]

OnDeath = Literal["restart", "fail"]

# Time the program may take to end by itself after the final answer.
_AFTER_ANSWER_SECONDS = 1.0
# Time after the first interrupt until the next: the program may have caught it, or not have begun
# when it came. It doubles: the next one also interrupts what the program does at its end, such as
# a finally block.
_AFTER_INTERRUPT_SECONDS = 0.5


@dataclass(frozen=True)
class SessionLimits:
    """Limits of calls, and the behaviour after a sandbox has died.

    Attributes:
        timeout_seconds: time the code of one call may run; ``None`` for no limit.
        startup_timeout_seconds: time a sandbox and its kernel may take to start.
        interrupt_grace_seconds: time interrupted code may take to end.
        on_death: whether the next call starts a new sandbox or fails.
    """

    timeout_seconds: float | None = 60.0
    startup_timeout_seconds: float = 60.0
    interrupt_grace_seconds: float = 3.0
    on_death: OnDeath = "restart"


class Interrupted(Exception):
    """The code was interrupted before it began, and has not run."""


class KernelSession:
    """Calls of one executor to a kernel.

    Args:
        connection: to the kernel; closed with the session.
        limits: of calls.
        prepare: called with this session for each new kernel, to send it tools and variables.
    """

    def __init__(
        self,
        connection: KernelConnection,
        limits: SessionLimits,
        prepare: Callable[[KernelSession], None] = lambda _session: None,
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._prepare = prepare
        self._failure: str | None = None
        # Guards the state of the call that interrupt() reads from other threads. Reentrant: the
        # handler of a signal may interrupt while its own thread has the lock.
        self._state = threading.RLock()
        self._in_run = False
        self._interrupted = False
        self._running: Request | None = None
        #: Seconds the last code ran, without the time of its tools on the host.
        self.last_seconds = 0.0

    @property
    def connection(self) -> KernelConnection:
        """Connection to the kernel."""
        return self._connection

    @property
    def sandbox(self) -> Sandbox | None:
        """Present sandbox; ``None`` when there is none."""
        return self._connection.sandbox

    def prepare(self) -> None:
        """Prepare a kernel now, which the first call does otherwise."""
        self._ready()

    def _ready(self) -> Channel:
        """Return a channel to a prepared kernel; a new one when the last has ended."""
        if self._failure is not None:
            raise SandboxDiedError(self._failure)
        if self._connection.closed:
            raise ExecutorClosedError("the executor has been closed")
        seconds = self._limits.startup_timeout_seconds
        try:
            link = self._connection.ready(seconds)
            if not link.prepared:
                link.prepared = True  # first, because the preparation calls this method, too
                try:
                    self._prepare(self)
                except BaseException:
                    link.prepared = False
                    raise
        except (ConnectionLost, KernelGone, ProtocolError) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            raise self._died("while it was prepared", lost) from None
        except DeadlinePassed:
            self._connection.drop_sandbox()
            raise ExecutorStartError(f"the kernel did not answer in {seconds} s") from None
        return link.channel

    # -- running --

    def run(
        self,
        code: str,
        collector: Collector,
        answered: Callable[[], bool],
        end_run: Callable[[str], None] = lambda _reason: None,
    ) -> Request:
        """Run ``code`` and return its request.

        Args:
            code: Python, with IPython's additions.
            collector: takes output, displays and the value.
            answered: returns whether the final answer has been given.
            end_run: called with the reason as soon as the code may call no more tools.

        Raises:
            Interrupted: :meth:`interrupt` was called before the code began.
            SandboxTimeoutError: past ``timeout_seconds``; says whether state survived.
            SandboxDiedError: the kernel, the sandbox or the engine ended.
        """
        with self._state:
            self._in_run, self._interrupted = True, False
        try:
            channel = self._ready()
            if self._interrupted:
                raise Interrupted
            with recorded(self.sandbox):
                return self._run(channel, code, collector, answered, end_run)
        finally:
            end_run("end")
            with self._state:
                self._in_run, self._running = False, None

    def _run(
        self,
        channel: Channel,
        code: str,
        collector: Collector,
        answered: Callable[[], bool],
        end_run: Callable[[str], None],
    ) -> Request:
        stop = self._is_interrupted
        request: Request | None = None
        try:
            self._connection.catch_up(channel, stop)
            deadline = Deadline(self._limits.timeout_seconds)
            try:
                request = channel.execute(code, sink=collector.sink, deadline=deadline, stop=stop)
                with self._state:
                    self._running, interrupted = request, self._interrupted
                if interrupted:
                    channel.interrupt()
                channel.wait(request, deadline, until=lambda: answered() or stop(), stop=stop)
                if not request.done and answered():
                    self._end_after_answer(channel, request)
                elif not request.done:
                    self._end_after_interrupt(channel, request)
            except SendTimeout:
                if not self._interrupted:
                    raise
                self._end_after_interrupt(channel, request)
            except DeadlinePassed:
                if request is not None and answered():
                    self._end_after_answer(channel, request)
                else:
                    end_run("timeout")
                    self._end_after_timeout(channel, request)
            except ProtocolError as error:
                # The kernel violates the protocol again and again: it cannot be used further.
                self._connection.drop_sandbox()
                raise ProtocolError(
                    f"{error}; its sandbox was removed and its state is lost{self._next_step()}"
                ) from None
            except BaseException as error:
                if not isinstance(error, (ConnectionLost, KernelGone)):
                    # Ctrl-C on the host: the program must not run on during the next call.
                    end_run("end")
                    self._stop_quietly(channel, request)
                raise
            finally:
                self.last_seconds = deadline.elapsed()
        except KernelGone:
            if request is not None and answered():
                self._connection.drop_channel()
                return request
            raise self._died("while code ran") from None
        except ConnectionLost as error:
            raise self._died("while code ran", error) from None
        assert request is not None  # every other end has raised
        return request

    def request(
        self,
        code: str,
        buffers: Sequence[bytes],
        action: str,
        *,
        seconds: float | None = None,
        sink: Sink | None = None,
    ) -> None:
        """Run a request of the fork's own and wait for it.

        :meth:`interrupt` ends it, and removes the sandbox unless the kernel stops in time.

        Args:
            code: for the kernel.
            buffers: of the message.
            action: for error messages.
            seconds: to wait at most; ``None``: ``startup_timeout_seconds``.
            sink: takes what the kernel's side publishes.

        Raises:
            ExecutorError: the kernel's side raised, or was interrupted.
        """
        with self._state:
            # Within a run, a request prepares its kernel, and an interrupt is the run's.
            outermost = not self._in_run
            if outermost:
                self._in_run, self._interrupted = True, False
        try:
            self._request(code, buffers, action, seconds, sink or Sink())
        except Interrupted as interrupted:
            if not outermost:
                raise
            raise ExecutorError(f"{action} was interrupted by interrupt(){interrupted}") from None
        finally:
            with self._state:
                self._in_run = not outermost

    def _request(
        self, code: str, buffers: Sequence[bytes], action: str, seconds: float | None, sink: Sink
    ) -> None:
        channel = self._ready()
        seconds = seconds or self._limits.startup_timeout_seconds
        deadline = Deadline(seconds)
        stop = self._is_interrupted
        request: Request | None = None
        try:
            self._connection.catch_up(channel, stop)
            if stop():
                raise Interrupted
            try:
                request = channel.execute(
                    code, sink=sink, silent=True, buffers=buffers, deadline=deadline, stop=stop
                )
                channel.wait(request, deadline, until=stop, stop=stop)
            except SendTimeout:
                if not stop():
                    raise
            if request is None or not request.done:
                stopped = self._stopped(channel, request, interrupt=True)
                end = "; its sandbox was removed and its state is lost" + self._next_step()
                raise Interrupted("" if stopped else end)
        except (KernelGone, ConnectionLost) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            raise self._died(f"during {action}", lost) from None
        except DeadlinePassed:
            self._connection.drop_sandbox()
            raise ExecutorError(
                f"{action} took more than {seconds} s; "
                "the sandbox was removed and its state is lost"
            ) from None
        if request.error is not None:
            raise ExecutorError(f"{action}: {request.error.name}: {request.error.value}")

    def interrupt(self, also: Callable[[], Callable[[], None]] = lambda: lambda: None) -> None:
        """Interrupt the code that runs or is about to; no-op when idle. From any thread.

        The first one of a run is sent; the thread that waits for the run repeats it.

        Args:
            also: called before the interrupt is sent; its result is called afterwards.
        """
        # Under the lock: an interrupt that is sent after the run would stop the next one.
        with self._state:
            if not self._in_run:
                return
            again, self._interrupted = self._interrupted, True
            afterwards = also()
            channel = self._connection.channel if self._running is not None else None
            if channel is not None and not again:
                with contextlib.suppress(ConnectionLost):  # the running call reports it
                    channel.interrupt()
        afterwards()

    def kill(self) -> None:
        """Remove the sandbox and the code that runs in it; from any thread."""
        self._connection.drop_sandbox()

    @property
    def was_interrupted(self) -> bool:
        """Tell whether :meth:`interrupt` was called during the last run."""
        return self._interrupted

    def _is_interrupted(self) -> bool:
        return self._interrupted

    def _end_after_timeout(self, channel: Channel, request: Request | None) -> None:
        timeout = self._limits.timeout_seconds
        grace = self._limits.interrupt_grace_seconds
        if not self._stopped(channel, request, interrupt=True):
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={timeout} and did not stop within "
                f"interrupt_grace_seconds={grace} of being interrupted; its sandbox was removed "
                "and its state is lost" + self._next_step()
            ) from None
        raise SandboxTimeoutError(
            f"code ran past timeout_seconds={timeout}; the kernel was interrupted and its state "
            "kept"
        ) from None

    def _end_after_answer(self, channel: Channel, request: Request) -> None:
        """Wait briefly for the program to end after its final answer; interrupt it otherwise."""
        try:
            channel.wait(request, Deadline(_AFTER_ANSWER_SECONDS))
        except (DeadlinePassed, SendTimeout):
            self._stopped(channel, request, interrupt=True)

    def _end_after_interrupt(self, channel: Channel, request: Request | None) -> None:
        """End an interrupted program, also one that catches the interrupt."""
        if not self._stopped(channel, request):
            raise SandboxTimeoutError(
                "code was interrupted by interrupt() and did not stop within "
                f"interrupt_grace_seconds={self._limits.interrupt_grace_seconds}; its sandbox "
                "was removed and its state is lost" + self._next_step()
            ) from None

    def _stopped(
        self, channel: Channel, request: Request | None, *, interrupt: bool = False
    ) -> bool:
        """Wait for an interrupted program to end; remove its sandbox after the grace period.

        Args:
            channel: to the kernel.
            request: of the program; ``None`` if the kernel has not read it.
            interrupt: whether the interrupt is still to be sent.
        """
        try:
            if interrupt:
                channel.interrupt()
            return request is not None and self._ended_in_time(channel, request)
        except SendTimeout:
            return False
        finally:
            if request is None or not request.done:
                self._connection.drop_sandbox()

    def _ended_in_time(self, channel: Channel, request: Request) -> bool:
        grace = Deadline(self._limits.interrupt_grace_seconds)
        behind: Request | None = None
        seconds = _AFTER_INTERRUPT_SECONDS
        while not request.done:
            try:
                slice_ = Deadline(grace.at_most(seconds))
                seconds *= 2
                channel.wait(request, slice_, behind=behind)
                if not request.done:
                    request.give_up_on_end()
            except DeadlinePassed:
                if grace.expired():
                    return False
                channel.interrupt()
                behind = behind or channel.execute("pass", sink=Sink(), silent=True)
        _end_threads(channel)
        return True

    def _stop_quietly(self, channel: Channel, request: Request | None) -> None:
        try:
            self._stopped(channel, request, interrupt=True)
        except (ConnectionLost, KernelGone):
            self._connection.drop_sandbox()

    # -- ends --

    def _died(self, when: str, lost: ConnectionLost | None = None) -> ExecutorError:
        """Drop whatever ended, and return the error that names it.

        Args:
            when: for the message, as in "while code ran".
            lost: error of the stream, if the end of the stream was noticed.
        """
        connection = self._connection
        if connection.closed:
            connection.drop_channel()
            when = when.replace("while code", "while its code")
            return ExecutorClosedError(f"the executor was closed {when}")
        sandbox = connection.sandbox
        if sandbox is None:
            return SandboxDiedError(
                f"the sandbox was removed {when}; its state is lost" + self._next_step(),
                cause="removed",
            )
        # A gateway that reports the end of its kernel runs on.
        status = sandbox.status() if lost is None else status_after_end(sandbox)
        kind = "exit"
        if not status.running:
            cause = f"sandbox {sandbox.id} ended {when}: {status}"
            if status.out_of_memory:
                kind = "out_of_memory"
            elif status.signal_name:
                kind = "signal"
            connection.drop_sandbox()
        elif lost is None:
            cause = f"the kernel in sandbox {sandbox.id} ended {when}: {status}"
            connection.drop_channel()
        else:
            # The gateway or the relay has ended, and a sandbox without them cannot be used.
            cause = f"sandbox {sandbox.id} lost its kernel gateway {when}: {lost}; {status}"
            kind = "connection"
            connection.drop_sandbox()
        message = f"{cause}; its state is lost" + self._next_step()
        if self._limits.on_death == "fail":
            self._failure = message
        return SandboxDiedError(message, cause=kind)

    def _next_step(self) -> str:
        if self._limits.on_death == "restart":
            return ", the next call works on a new kernel with the tools and variables sent again"
        return "; on_death='fail': call restart(), or make a new executor"

    def restart(self) -> None:
        """Remove the sandbox; the next call starts a new one."""
        self._failure = None
        self._connection.drop_sandbox()

    def close(self) -> None:
        """Close the connection and its sandbox; idempotent, from any thread."""
        self._connection.close()

    def is_alive(self) -> bool:
        """Return whether the next call can be expected to work without a new sandbox.

        Must not be called while code runs.
        """
        return self._failure is None and self._connection.is_alive()


def _end_threads(channel: Channel) -> None:
    """Keep threads of a run that was interrupted from calling tools in later runs.

    The caller does not wait: the kernel runs it before the next code.
    """
    channel.execute("__smolagents_fork__.end()", sink=Sink(), silent=True)
