"""One sandbox, one kernel and the connection to it; what happens when either ends.

Who calls what: :class:`DockerExecutor` makes a session, calls :meth:`KernelSession.open` once, then
:meth:`run` from one thread at a time and :meth:`interrupt` from any. :meth:`close` may come at any
moment from any thread; a running call then ends with an error.
"""

from __future__ import annotations

import contextlib
import secrets
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..containers import removal
from ..containers.runtime import DockerProvisioner, DockerSandbox
from ..containers.tunnel import StreamUnsupported
from ..errors import (
    ExecutorClosedError,
    ExecutorError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
    SandboxTimeoutError,
)
from ..jupyter.channel import Channel, DeadlinePassed, message_limits
from ..jupyter.collector import Collector
from ..jupyter.install import install_request
from ..jupyter.kernels import channels_path, create_kernel
from ..jupyter.messages import KernelGone, Request, Requests, Sink
from ..jupyter.websocket import Connection, ConnectionLost, TimedSocket
from ..limits import Deadline
from .docker_evidence import cause_of_death, connected, last_words, signal_name
from .docker_options import Options

__all__ = ["KernelSession"]

# After the final answer the program has this long to end by itself.
_AFTER_ANSWER_SECONDS = 1.0
# An interrupted program is interrupted again this often: it may have caught the first.
_AFTER_INTERRUPT_SECONDS = 0.5
_MAX_ERROR_CHARS = 100_000


@dataclass
class _Link:
    """A connection to a kernel, and how far the kernel has been prepared.

    Attributes:
        installed: the kernel's side of the protocol is there.
        prepared: it also has the host's tools and variables.
    """

    channel: Channel
    installed: bool = False
    prepared: bool = False


class KernelSession:
    """A kernel in a sandbox of its own.

    Args:
        options: of the executor.
        image: to start.
        provisioner: starts the sandbox.
        prepare: called with this session when a kernel is fresh, to send it tools and variables.
        note: gets a line for the log.
    """

    def __init__(
        self,
        options: Options,
        image: str,
        provisioner: DockerProvisioner,
        *,
        note: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.options = options
        self.image = image
        self.sandbox: DockerSandbox | None = None
        self.prepare: Callable[[KernelSession], None] = lambda _session: None
        self._provisioner = provisioner
        self._note = note
        self._published = options.published
        self._kernel_id: str | None = None
        self._link: _Link | None = None
        self._closed = False
        self._running: Request | None = None
        self._interrupted = False
        self._comm_id = ""
        self._failure: str | None = None
        self._kernels_ended = 0
        self._unread_end: Exception | None = None
        #: How long the last code had, in seconds, without the time the host worked for it.
        self.last_seconds = 0.0

    # -- opening --

    def open(self) -> None:
        """Start the sandbox and its kernel, and prepare the kernel.

        Raises:
            ExecutorStartError: it did not come up in ``startup_timeout_seconds``.
        """
        deadline = Deadline(self.options.startup_timeout_seconds)
        self.sandbox = self._provisioner.start(
            self.options.spec(self.image, published=self._published)
        )
        if self._closed:  # close() came while the engine was starting it
            self.sandbox.remove()
            raise ExecutorClosedError("the executor was closed while its container started")
        try:
            self._connect(deadline)
            self._install(deadline)
        except (
            ConnectionLost,
            ProtocolError,
            KernelGone,
            DeadlinePassed,
            ExecutorStartError,
        ) as error:
            raise ExecutorStartError(
                f"the kernel in container {self.sandbox.id} (image {self.image}) did not come up "
                f"in startup_timeout_seconds={self.options.startup_timeout_seconds}: {error}; "
                f"{self.sandbox.evidence()}"
            ) from error

    def _connect(self, deadline: Deadline) -> None:
        """Open the kernel's channels, starting a kernel when there is none yet."""
        assert self.sandbox is not None
        while True:
            sock = TimedSocket(self._open_stream(deadline))
            try:
                if self._kernel_id is None:
                    self._kernel_id = create_kernel(
                        sock, token=self.sandbox.token, timeout=deadline.at_most(1e6)
                    )
                break
            except ConnectionLost:
                sock.close()
                # The engine's proxy accepts for a gateway that does not listen yet, and hangs up.
                if not self._published or deadline.expired() or not self.sandbox.is_running():
                    raise
                time.sleep(0.05)
            except BaseException:
                sock.close()
                raise
        try:
            session_id = uuid.uuid4().hex
            connection = Connection(
                sock,
                channels_path(self._kernel_id, session_id),
                token=self.sandbox.token,
                timeout=deadline.at_most(1e6),
                limit_for=message_limits(
                    max(self.options.max_output_bytes, _MAX_ERROR_CHARS),
                    self.options.max_value_bytes,
                ),
            )
        except BaseException:
            sock.close()
            raise
        self._comm_id = secrets.token_hex(16)
        self._link = _Link(Channel(connection, Requests(session_id, self._comm_id)))

    def _open_stream(self, deadline: Deadline) -> Any:
        assert self.sandbox is not None
        if not self._published:
            try:
                return self.sandbox.open_stream(timeout=deadline.at_most(60.0))
            except StreamUnsupported as error:
                if self.options.transport == "exec":
                    raise ExecutorStartError(f"transport='exec': {error}") from error
                self._fall_back(error)
        port = self.sandbox.published_port(deadline.at_most(5.0))
        host = "127.0.0.1" if self.options.host in ("0.0.0.0", "") else self.options.host
        return connected(host, port, deadline)

    def _fall_back(self, reason: Exception) -> None:
        """Replace the sandbox by one with a published port: the engine's streams do not work."""
        assert self.sandbox is not None
        self._note(
            f"WARNING: {reason}; using a port published on {self.options.host} with a token "
            "instead. The container is on the engine's bridge network, so its code can reach it; "
            "pass transport='exec' to refuse this."
        )
        self.sandbox.remove(wait=True)
        self._published = True
        self.sandbox = self._provisioner.start(self.options.spec(self.image, published=True))

    def _ready(self) -> Channel:
        """The open channel, made anew when the last one ended, with the kernel prepared."""
        if self._failure is not None:
            raise SandboxDiedError(self._failure)
        if self._closed:
            raise ExecutorClosedError("the executor has been closed")
        deadline = Deadline(self.options.startup_timeout_seconds)
        try:
            if self.sandbox is None:
                self._kernel_id = None
                self.open()
            if self._link is None:
                self._connect(deadline)
            assert self._link is not None
            if not self._link.prepared:
                self._install(deadline)
                self._link.prepared = True
                self.prepare(self)
        except (ConnectionLost, KernelGone, ProtocolError) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            raise self._died("while it was prepared", lost) from error
        except DeadlinePassed as error:
            self._drop_sandbox()
            raise ExecutorStartError(
                f"the kernel did not answer in {self.options.startup_timeout_seconds} s"
            ) from error
        return self._link.channel

    def _install(self, deadline: Deadline) -> None:
        assert self._link is not None
        if self._link.installed:
            return
        code, buffers = install_request(
            comm_id=self._comm_id,
            max_output_bytes=self.options.max_output_bytes,
            max_value_bytes=self.options.max_value_bytes,
            max_error_chars=_MAX_ERROR_CHARS,
            allow_pickle=self.options.allow_pickle,
        )
        request = self._link.channel.execute(code, sink=Sink(), silent=True, buffers=buffers)
        self._link.channel.wait(request, deadline)
        if request.error is not None:
            raise ExecutorStartError(
                f"the kernel of image {self.image} could not be prepared: "
                f"{request.error.name}: {request.error.value}\n{request.error.traceback}"
            )
        self._link.installed = True

    # -- running --

    def run(self, code: str, collector: Collector, answered: Callable[[], bool]) -> Request:
        """Run ``code``; the collector gets what it gives.

        Args:
            code: Python, with IPython's additions.
            collector: takes output, displays and the value.
            answered: whether the final answer has been given.

        Raises:
            SandboxTimeoutError: past ``timeout_seconds``; says whether state survived.
            SandboxDiedError: the kernel, the container or the engine went away.
        """
        timeout = self.options.timeout_seconds
        channel = self._ready()
        try:
            if self._unread_end is not None:  # is_alive() has taken the news out of the stream
                raise self._unread_end
            channel.drain(_nothing())
            request = channel.execute(code, sink=collector.sink)
            self._running, self._interrupted = request, False
            deadline = Deadline(timeout)
            try:
                channel.wait(request, deadline, until=lambda: answered() or self._interrupted)
                if not request.done and answered():
                    self._end_after_answer(channel, request)
                elif not request.done:
                    self._end_after_interrupt(channel, request)
            except DeadlinePassed:
                self._overrun(channel, request)
            except ProtocolError as error:
                # It goes on with what it was told not to: no kernel to keep.
                self._drop_sandbox()
                raise ProtocolError(
                    f"{error}; its container was removed and its state is lost{self._what_next()}"
                ) from error
            except BaseException as error:
                if not isinstance(error, (ConnectionLost, KernelGone)):
                    # Ctrl-C on the host: the program must not go on behind the next call.
                    self._stop_quietly(channel, request)
                raise
            finally:
                self._running = None
                self.last_seconds = deadline.elapsed()
        except KernelGone as error:
            if answered():
                self._forget_link()
                return request
            raise self._died("while code ran") from error
        except ConnectionLost as error:
            if self._closed:
                raise ExecutorClosedError(
                    "the executor was closed while its code ran; output so far:\n"
                    + collector.logs()[-2000:]
                ) from error
            raise self._died("while code ran", error) from error
        return request

    def request(self, code: str, buffers: Sequence[bytes], what: str) -> None:
        """Run a request of the fork's own and wait for it; ``what`` is for messages.

        Raises:
            ExecutorError: the kernel's side raised.
        """
        channel = self._ready()
        deadline = Deadline(self.options.startup_timeout_seconds)
        try:
            if self._unread_end is not None:
                raise self._unread_end
            request = channel.execute(code, sink=Sink(), silent=True, buffers=buffers)
            channel.wait(request, deadline)
        except (KernelGone, ConnectionLost) as error:
            lost = error if isinstance(error, ConnectionLost) else None
            raise self._died(f"during {what}", lost) from error
        except DeadlinePassed as error:
            self._drop_sandbox()
            raise ExecutorError(
                f"{what} took more than {self.options.startup_timeout_seconds} s; "
                "the container was removed and its state is lost"
            ) from error
        if request.error is not None:
            raise ExecutorError(f"{what}: {request.error.name}: {request.error.value}")

    def interrupt(self) -> None:
        """Interrupt what runs; from any thread."""
        link = self._link
        if link is not None and self._running is not None:
            self._interrupted = True
            link.channel.interrupt()

    @property
    def was_interrupted(self) -> bool:
        """Whether :meth:`interrupt` was called during the last run."""
        return self._interrupted

    def _overrun(self, channel: Channel, request: Request) -> None:
        timeout = self.options.timeout_seconds
        grace = self.options.interrupt_grace_seconds
        channel.interrupt()
        try:
            channel.wait(request, Deadline(grace))
        except DeadlinePassed:
            self._drop_sandbox()
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
        for attempt in range(2):
            try:
                channel.wait(request, Deadline(_AFTER_ANSWER_SECONDS))
                return
            except DeadlinePassed:
                if attempt == 0:
                    channel.interrupt()
        self._drop_sandbox()

    def _end_after_interrupt(self, channel: Channel, request: Request) -> None:
        """See that an interrupted program ends, also one that catches what it is stopped by."""
        grace = Deadline(self.options.interrupt_grace_seconds)
        while not request.done:
            try:
                channel.wait(request, Deadline(grace.at_most(_AFTER_INTERRUPT_SECONDS)))
            except DeadlinePassed:
                if grace.expired():
                    self._drop_sandbox()
                    raise SandboxTimeoutError(
                        "code was interrupted by interrupt() and did not stop within "
                        f"interrupt_grace_seconds={self.options.interrupt_grace_seconds}; its "
                        "container was removed and its state is lost" + self._what_next()
                    ) from None
                channel.interrupt()

    def _stop_quietly(self, channel: Channel, request: Request) -> None:
        try:
            channel.interrupt()
            channel.wait(request, Deadline(self.options.interrupt_grace_seconds))
        except (DeadlinePassed, ConnectionLost, KernelGone):
            self._drop_sandbox()

    # -- ends --

    def _died(self, when: str, lost: ConnectionLost | None = None) -> SandboxDiedError:
        """Find out what ended, let go of it, and say so.

        Args:
            when: for the message, as in "while code ran".
            lost: how the stream ended, when that is what was noticed.
        """
        sandbox = self.sandbox
        if sandbox is None:
            return SandboxDiedError(f"the sandbox ended {when}")
        evidence, ending = cause_of_death(sandbox, lost is None, self._kernels_ended)
        if evidence.state != "running":
            what = f"container {sandbox.id} ended {when}: {evidence}"
            self._drop_sandbox()
        elif lost is None and ending:
            number, code, oom = ending
            self._kernels_ended = int(number)
            cause = f"exit code {code}{signal_name(code)}"
            if oom:
                cause += f", out of memory (memory={self.options.memory!r})"
            cause += last_words(evidence)
            what = f"the kernel in container {sandbox.id} ended {when}: {cause}"
            self._forget_link()
        elif lost is None:
            what = f"the kernel in container {sandbox.id} ended {when}: {evidence}"
            self._forget_link()
        else:
            # The gateway or the relay is gone, and the container is of no use without them.
            what = f"container {sandbox.id} lost its kernel gateway {when}: {lost}; {evidence}"
            self._drop_sandbox()
        message = f"{what}; its state is lost" + self._what_next()
        if self.options.on_death == "fail":
            self._failure = message
        return SandboxDiedError(message)

    def _what_next(self) -> str:
        if self.options.on_death == "restart":
            return ", the next call works on a new kernel with the tools and variables sent again"
        return "; on_death='fail': call restart(), or make a new executor"

    def _forget_link(self) -> None:
        link, self._link, self._unread_end = self._link, None, None
        if link is not None:
            link.channel.close()

    def _drop_sandbox(self) -> None:
        self._forget_link()
        sandbox, self.sandbox = self.sandbox, None
        self._kernel_id = None
        self._kernels_ended = 0
        if sandbox is not None:
            sandbox.remove()

    def restart(self) -> None:
        """Throw the sandbox away; the next call starts a new one."""
        self._failure = None
        self._drop_sandbox()

    def close(self) -> None:
        """End everything; from any thread, any number of times."""
        self._closed = True
        self._drop_sandbox()
        with contextlib.suppress(Exception):
            self._provisioner.close()

    @property
    def client(self) -> Any:
        """docker-py's client."""
        return self._provisioner.client

    def wait_until_removed(self, timeout: float) -> None:
        """Wait for containers that are being removed.

        Args:
            timeout: seconds to wait at most.
        """
        removal.wait_until_removed(timeout)

    def is_alive(self) -> bool:
        """Whether the next call can be expected to work without a new sandbox.

        Reads the news that has come in the meantime; must not be called while code runs.
        """
        link = self._link
        if self._closed or self._failure or self.sandbox is None or link is None:
            return False
        if self._unread_end is not None:
            return False
        try:
            link.channel.drain(_nothing())
        except (ConnectionLost, KernelGone) as error:
            # The next call tells it: the state is lost, and silence would hide that.
            self._unread_end = error
            return False
        return True


def _nothing() -> Request:
    """A request that was never sent, to read past messages of earlier ones."""
    return Request(Requests("", "").execute("", silent=True), Sink(), "")
