"""The calls of one executor to its kernel, and what happens when something ends under them.

Who calls what: an executor makes a session around a connection, then calls
:meth:`KernelSession.run` from one thread at a time and :meth:`KernelSession.interrupt` from any.
:meth:`KernelSession.close` may come at any moment from any thread; a running call then ends with an
error.
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
from ...jupyter.websocket import ConnectionLost
from ...sandboxes.provisioner import Sandbox
from .connection import KernelConnection, unsent_request
from .diagnosis import last_words, signal_name

__all__ = ["Interrupted", "KernelSession", "OnDeath", "SessionLimits"]

OnDeath = Literal["restart", "fail"]

# After the final answer the program has this long to end by itself.
_AFTER_ANSWER_SECONDS = 1.0
# An interrupted program is interrupted again this often: it may have caught the first, or not have
# begun when it came.
_AFTER_INTERRUPT_SECONDS = 0.5


@dataclass(frozen=True)
class SessionLimits:
    """Limits of calls, and what happens when the sandbox has died.

    Attributes:
        timeout_seconds: code may run; ``None`` for no limit.
        startup_timeout_seconds: a sandbox and its kernel may take to come up.
        interrupt_grace_seconds: interrupted code may take to end.
        on_death: whether the next call starts a new sandbox or fails.
    """

    timeout_seconds: float | None = 60.0
    startup_timeout_seconds: float = 60.0
    interrupt_grace_seconds: float = 3.0
    on_death: OnDeath = "restart"


class Interrupted(Exception):
    """The code was interrupted before it had begun, and has not been run."""


class KernelSession:
    """The calls of one executor to a kernel.

    Args:
        connection: to the kernel; owned from now on.
        limits: of calls.
        prepare: called with this session when a kernel is fresh, to send it tools and variables.
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
        # What interrupt(), which comes from other threads, has to know of the call.
        self._state = threading.RLock()  # a signal's handler may interrupt, wherever it comes
        self._in_run = False
        self._interrupted = False
        self._running: Request | None = None
        #: How long the last code had, in seconds, without the time the host worked for it.
        self.last_seconds = 0.0

    @property
    def connection(self) -> KernelConnection:
        """The connection to the kernel."""
        return self._connection

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox there is now."""
        return self._connection.sandbox

    def _ready(self) -> Channel:
        """The open channel, made anew when the last one ended, with the kernel prepared."""
        if self._failure is not None:
            raise SandboxDiedError(self._failure)
        if self._connection.closed:
            raise ExecutorClosedError("the executor has been closed")
        seconds = self._limits.startup_timeout_seconds
        try:
            link = self._connection.ready(seconds)
            if not link.prepared:
                link.prepared = True  # first, because what prepares it asks for it, too
                try:
                    self._prepare(self)
                except BaseException:
                    link.prepared = False
                    raise
        except (ConnectionLost, KernelGone, ProtocolError) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            raise self._died("while it was prepared", lost) from error
        except DeadlinePassed as error:
            self._connection.drop_sandbox()
            raise ExecutorStartError(f"the kernel did not answer in {seconds} s") from error
        return link.channel

    # -- running --

    def run(
        self,
        code: str,
        collector: Collector,
        answered: Callable[[], bool],
        end_run: Callable[[str], None] = lambda _reason: None,
    ) -> Request:
        """Run ``code``; the collector gets what it gives.

        Args:
            code: Python, with IPython's additions.
            collector: takes output, displays and the value.
            answered: whether the final answer has been given.
            end_run: called with the reason as soon as the code may call no more tools.

        Raises:
            Interrupted: :meth:`interrupt` came before the code had begun.
            SandboxTimeoutError: past ``timeout_seconds``; says whether state survived.
            SandboxDiedError: the kernel, the container or the engine went away.
        """
        with self._state:
            self._in_run, self._interrupted = True, False
        try:
            channel = self._ready()
            if self._interrupted:
                raise Interrupted
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
        try:
            self._connection.check_end()
            channel.read_pending(unsent_request())
            request = channel.execute(code, sink=collector.sink)
            deadline = Deadline(self._limits.timeout_seconds)
            try:
                with self._state:
                    self._running, too_early = request, self._interrupted
                if too_early:
                    channel.interrupt()
                channel.wait(request, deadline, until=lambda: answered() or self._interrupted)
                if not request.done and answered():
                    self._end_after_answer(channel, request)
                elif not request.done:
                    self._end_after_interrupt(channel, request)
            except DeadlinePassed:
                end_run("timeout")
                self._overrun(channel, request)
            except ProtocolError as error:
                # It goes on with what it was told not to: no kernel to keep.
                self._connection.drop_sandbox()
                raise ProtocolError(
                    f"{error}; its container was removed and its state is lost{self._what_next()}"
                ) from error
            except BaseException as error:
                if not isinstance(error, (ConnectionLost, KernelGone)):
                    # Ctrl-C on the host: the program must not go on behind the next call.
                    end_run("end")
                    self._stop_quietly(channel, request)
                raise
            finally:
                self.last_seconds = deadline.elapsed()
        except KernelGone as error:
            if answered():
                self._connection.drop_channel()
                return request
            raise self._died("while code ran") from error
        except ConnectionLost as error:
            raise self._died("while code ran", error) from error
        return request

    def request(
        self, code: str, buffers: Sequence[bytes], what: str, *, seconds: float | None = None
    ) -> None:
        """Run a request of the fork's own and wait for it.

        Args:
            code: for the kernel.
            buffers: sent along.
            what: for messages.
            seconds: to wait at most; ``None``: ``startup_timeout_seconds``.

        Raises:
            ExecutorError: the kernel's side raised.
        """
        channel = self._ready()
        seconds = seconds or self._limits.startup_timeout_seconds
        deadline = Deadline(seconds)
        try:
            self._connection.check_end()
            request = channel.execute(code, sink=Sink(), silent=True, buffers=buffers)
            channel.wait(request, deadline)
        except (KernelGone, ConnectionLost) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            raise self._died(f"during {what}", lost) from error
        except DeadlinePassed as error:
            self._connection.drop_sandbox()
            raise ExecutorError(
                f"{what} took more than {seconds} s; "
                "the container was removed and its state is lost"
            ) from error
        if request.error is not None:
            raise ExecutorError(f"{what}: {request.error.name}: {request.error.value}")

    def interrupt(self, also: Callable[[], Callable[[], None]] = lambda: lambda: None) -> None:
        """Interrupt what runs, or is about to; from any thread.

        Args:
            also: called with it, and not where nothing runs; what it returns is called afterwards.
        """
        # All of it within the run: sent a moment later, it would hit the next one.
        with self._state:
            if not self._in_run:
                return
            self._interrupted = True
            rest = also()
            channel = self._connection.channel if self._running is not None else None
            if channel is not None:
                with contextlib.suppress(ConnectionLost):  # who waits for the code finds out why
                    channel.interrupt()
        rest()

    def kill(self) -> None:
        """End what runs together with its sandbox; from any thread."""
        self._connection.drop_sandbox()

    @property
    def was_interrupted(self) -> bool:
        """Tell whether :meth:`interrupt` was called during the last run."""
        return self._interrupted

    def _overrun(self, channel: Channel, request: Request) -> None:
        timeout = self._limits.timeout_seconds
        grace = self._limits.interrupt_grace_seconds
        channel.interrupt()
        if not self._stopped(channel, request):
            raise SandboxTimeoutError(
                f"code ran past timeout_seconds={timeout} and did not stop within "
                f"interrupt_grace_seconds={grace} of being interrupted; its container was removed "
                "and its state is lost" + self._what_next()
            ) from None
        raise SandboxTimeoutError(
            f"code ran past timeout_seconds={timeout}; the kernel was interrupted and its state "
            "kept"
        ) from None

    def _end_after_answer(self, channel: Channel, request: Request) -> None:
        """The answer is there; see that the program ends, and do not wait for it for long."""
        try:
            channel.wait(request, Deadline(_AFTER_ANSWER_SECONDS))
        except DeadlinePassed:
            channel.interrupt()
            self._stopped(channel, request)

    def _end_after_interrupt(self, channel: Channel, request: Request) -> None:
        """See that an interrupted program ends, also one that catches what it is stopped by."""
        if not self._stopped(channel, request):
            raise SandboxTimeoutError(
                "code was interrupted by interrupt() and did not stop within "
                f"interrupt_grace_seconds={self._limits.interrupt_grace_seconds}; its container "
                "was removed and its state is lost" + self._what_next()
            ) from None

    def _stopped(self, channel: Channel, request: Request) -> bool:
        """Wait for an interrupted program to end within its grace; remove its sandbox otherwise."""
        grace = Deadline(self._limits.interrupt_grace_seconds)
        behind: Request | None = None
        while not request.done:
            try:
                slice_ = Deadline(grace.at_most(_AFTER_INTERRUPT_SECONDS))
                channel.wait(request, slice_, behind=behind)
                if not request.done:
                    request.give_up_on_end()
            except DeadlinePassed:
                if grace.expired():
                    self._connection.drop_sandbox()
                    return False
                channel.interrupt()
                behind = behind or channel.execute("pass", sink=Sink(), silent=True)
        _end_threads(channel)
        return True

    def _stop_quietly(self, channel: Channel, request: Request) -> None:
        try:
            channel.interrupt()
            channel.wait(request, Deadline(self._limits.interrupt_grace_seconds))
            _end_threads(channel)
        except (DeadlinePassed, ConnectionLost, KernelGone):
            self._connection.drop_sandbox()

    # -- ends --

    def _died(self, when: str, lost: ConnectionLost | None = None) -> ExecutorError:
        """Find out what ended, let go of it, and say so.

        Args:
            when: for the message, as in "while code ran".
            lost: how the stream ended, when that is what was noticed.
        """
        connection = self._connection
        if connection.closed:
            connection.drop_channel()
            when = when.replace("while code", "while its code")
            return ExecutorClosedError(f"the executor was closed {when}")
        sandbox = connection.sandbox
        if sandbox is None:
            return SandboxDiedError(
                f"the sandbox was removed {when}; its state is lost" + self._what_next()
            )
        ending = connection.find_ending(sandbox, of_kernel=lost is None)
        status, kernel = ending.status, ending.kernel
        if not status.running:
            what = f"container {sandbox.id} ended {when}: {status}"
            connection.drop_sandbox()
        elif lost is None and kernel is not None:
            cause = f"exit code {kernel.exit_code}{signal_name(kernel.exit_code)}"
            if kernel.out_of_memory:
                cause += f", out of memory (memory={connection.spec.limits.memory!r})"
            cause += last_words(status)
            what = f"the kernel in container {sandbox.id} ended {when}: {cause}"
            connection.drop_channel()
        elif lost is None:
            what = f"the kernel in container {sandbox.id} ended {when}: {status}"
            connection.drop_channel()
        else:
            # The gateway or the relay is gone, and the container is of no use without them.
            what = f"container {sandbox.id} lost its kernel gateway {when}: {lost}; {status}"
            connection.drop_sandbox()
        message = f"{what}; its state is lost" + self._what_next()
        if self._limits.on_death == "fail":
            self._failure = message
        return SandboxDiedError(message)

    def _what_next(self) -> str:
        if self._limits.on_death == "restart":
            return ", the next call works on a new kernel with the tools and variables sent again"
        return "; on_death='fail': call restart(), or make a new executor"

    def restart(self) -> None:
        """Throw the sandbox away; the next call starts a new one."""
        self._failure = None
        self._connection.drop_sandbox()

    def close(self) -> None:
        """End everything; from any thread, any number of times."""
        self._connection.close()

    def is_alive(self) -> bool:
        """Return whether the next call can be expected to work without a new sandbox.

        Must not be called while code runs.
        """
        return self._failure is None and self._connection.is_alive()


def _end_threads(channel: Channel) -> None:
    """Have threads of a run that met its limit or was interrupted call no tool in later runs.

    Nobody waits for it: the kernel carries it out before the code that is sent next.
    """
    channel.execute("__smolagents_fork__.end()", sink=Sink(), silent=True)
