"""Guest that is a Jupyter kernel in a sandbox."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ... import codec
from ...call_output import CallOutput
from ...deadline import Deadline
from ...errors import CodecError, ExecutorStartError, ProtocolError, SandboxDiedError
from ...guest.frames import Body
from ...jupyter.channel import Channel, DeadlinePassed
from ...jupyter.protocol import InputRequest, KernelError, KernelGone, KernelRequest, Sink
from ...jupyter.websocket import ConnectionLost, SendTimeout
from ..session.guest import Ask, Call, End, Failure, Request, Task
from .connection import KernelConnection, status_after_end

__all__ = ["Collector", "KernelGuest", "KernelGuestSource"]

# Colours and other escape sequences (ECMA-48), which are useless to a model.
_ANSI = re.compile(r"\x1b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
# Time after the first interruption until the next: the program may have caught it, or not have
# begun when it came. It doubles: the next one also interrupts what the program does at its end,
# such as a finally block.
_INTERRUPT_PAUSE_SECONDS = 0.5
# Most digits of the number a kernel gives a call: it is sent back, so its size needs a limit.
_LONGEST_NUMBER = 20
# Code of each request in the kernel's side of the protocol.
_CODE = {
    Task.TOOLS: "__smolagents_fork__.define()",
    Task.VARIABLES: "__smolagents_fork__.receive()",
    Task.READ_STATE: "__smolagents_fork__.variables()",
    Task.PACKAGES: "__smolagents_fork__.add_packages()",
}


class KernelGuestSource:
    """Starts the kernels of one executor; a :class:`.session.guest.GuestSource`.

    Args:
        connection: starts sandboxes; closed with this object.
    """

    def __init__(self, connection: KernelConnection, startup_seconds: float) -> None:
        self._connection = connection
        self._seconds = startup_seconds

    def start(self, stop: Callable[[], bool]) -> KernelGuest:
        """Start a kernel, or take the one to which the connection is open.

        Raises:
            ExecutorStartError: it did not start in time, or has ended.
            SandboxDiedError: its node was lost while it started.
        """
        try:
            channel = self._connection.ready(self._seconds)
            return KernelGuest(self._connection, channel, stop)
        except (ConnectionLost, KernelGone, ProtocolError, DeadlinePassed) as error:
            self._connection.drop_sandbox()
            reason = str(error) or f"it did not answer in {self._seconds} s"
            raise ExecutorStartError(f"the kernel did not start: {reason}") from None

    def set_up(self, _ask: Ask) -> None:
        """Do nothing: the connection has prepared the kernel."""

    def close(self) -> None:
        """Remove the sandbox and close the provisioner. Idempotent, from any thread."""
        self._connection.close()


class Collector(Sink):
    """Messages of one run of a kernel, collected to the output and the value of a call."""

    def __init__(self, output: CallOutput) -> None:
        self._call = output
        self._value: Any = None

    def output(self) -> Any:
        """Value of the last expression; what stands for one that the codec refuses."""
        return self._value

    def stream(self, text: str, lost: int) -> None:
        """Take printed text; see :class:`.protocol.Sink`."""
        self._call.leave_out(lost)
        self._call.write(text)

    def display(self, content: dict[str, Any]) -> None:
        """Take a display; see :class:`.protocol.Sink`."""
        self._call.shown.add(content.get("data"))

    def data(self, data: dict[str, Any], buffers: Sequence[bytes | memoryview]) -> None:
        """Take what the kernel's side sends; see :class:`.protocol.Sink`."""
        message_kind = data.get("kind")
        if message_kind == "display" and not self._call.shown.has_room():
            return
        if message_kind in ("value", "display", "forms") and buffers:
            try:
                value = codec.decode(buffers[0], max_bytes=self._call.max_value_bytes)
            except CodecError as error:
                name = "display" if message_kind == "display" else "result"
                self._call.note(f"the {name} could not be decoded: {error}")
                return
            if message_kind == "value":
                self._value = value
            elif message_kind == "display":
                self._call.shown.add(value)
            elif isinstance(value, dict):
                self._value = self._call.shown.add_rich(value)
        elif message_kind == "text" and buffers:
            self._call.value_text = bytes(buffers[0]).decode("utf-8", "replace")
        elif message_kind == "tail" and isinstance(data.get("left_out"), int) and buffers:
            self._call.leave_out(data["left_out"])
            self._call.write(bytes(buffers[0]).decode("utf-8", "replace"))


class _Answer(Sink):
    """Receiver of the answer to a request."""

    body = b""

    def data(self, data: dict[str, Any], buffers: Sequence[bytes | memoryview]) -> None:
        if data.get("kind") == "answer" and buffers:
            self.body = bytes(buffers[0])


class KernelGuest:
    """A kernel in a sandbox, which ends with it; a :class:`.session.guest.Guest`.

    Args:
        stop: returns whether what the kernel does not read need not be sent any longer.
    """

    noun: ClassVar[str] = "sandbox"

    def __init__(
        self, connection: KernelConnection, channel: Channel, stop: Callable[[], bool]
    ) -> None:
        self._connection = connection
        self._channel = channel
        self._stop = stop
        # Of what goes on now; no request as long as the kernel has not read it.
        self._request: KernelRequest | None = None
        self._read: Callable[[], Any] = lambda: None
        # The next interruption, and the pause after it.
        self._next_interrupt = self._pause = 0.0
        #: The error of the stream that ended outside of a call.
        self._end: ConnectionLost | KernelGone | None = None

    @property
    def recorder(self) -> object:
        """Object that may keep figures of calls."""
        return self._connection.sandbox

    # -- runs and requests --

    def run(self, code: str, output: CallOutput, deadline: Deadline) -> None:
        """Begin a run; see :class:`.session.guest.Guest`."""
        collector = Collector(output)
        self._read = collector.output
        self._begin(code, (), collector, deadline, silent=False)

    def ask(self, request: Request, deadline: Deadline) -> None:
        """Begin a request; see :class:`.session.guest.Guest`."""
        answer = _Answer()
        self._read = lambda: answer.body
        code = _CODE.get(request.task, request.code)
        bodies = [_join(body) for body in request.bodies]
        self._begin(code, bodies, answer, deadline, silent=True)

    def _begin(
        self,
        code: str,
        bodies: Sequence[bytes],
        sink: Sink,
        deadline: Deadline,
        *,
        silent: bool,
    ) -> None:
        self._request = None
        self._next_interrupt = self._pause = 0.0
        with self._sending():
            self._request = self._channel.execute(
                code, sink=sink, silent=silent, buffers=bodies, deadline=deadline, stop=self._stop
            )

    @contextlib.contextmanager
    def _sending(self) -> Any:
        """Leave it to the session to end what the kernel did not read in time."""
        try:
            yield
        except DeadlinePassed:
            pass
        except SendTimeout as error:
            if not self._stop():
                raise self._death(error) from None
        except ConnectionLost as error:
            raise self._death(error) from None

    def turn(self, seconds: float) -> Call | End | None:
        """Take at most one message; see :class:`.session.guest.Guest`."""
        request = self._request
        if request is None:
            time.sleep(seconds)
            return None
        try:
            question = self._channel.turn(request, seconds)
        except (KernelGone, ConnectionLost) as error:
            raise self._death(error) from None
        if request.done:
            return End(self._read, _failure(request.error))
        return None if question is None else self._call(question)

    def _call(self, question: InputRequest) -> Call:
        """Return a call of the bridge; any other question gets an empty line."""
        number = question.prompt.rpartition(" ")[2]
        buffers = question.message.buffers
        # Without a number no code waits for the answer; it counts as a malformed call.
        is_call = bool(buffers) and len(number) <= _LONGEST_NUMBER

        def reply(answer: bytes, deadline: Deadline) -> None:
            value, sent = (number, (answer,)) if is_call else ("", ())
            with self._sending():
                self._channel.answer(question, value, sent, deadline, self._stop)

        return Call(b"".join(buffers) if is_call else b"", reply)

    @property
    def unread(self) -> str:
        """Part of the request that the kernel has not read, for messages; empty if it has."""
        return "" if self._request is not None else "it did not read the request"

    def interrupt(self) -> None:
        """Interrupt the code; a repetition is sent after a pause."""
        now = time.monotonic()
        if now < self._next_interrupt:
            return
        self._pause = self._pause * 2 or _INTERRUPT_PAUSE_SECONDS
        self._next_interrupt = now + self._pause
        with contextlib.suppress(ConnectionLost, DeadlinePassed):  # turn() raises it
            self._channel.interrupt()

    # -- ends --

    def is_alive(self) -> bool:
        """Read what has arrived since the last call; tell whether the kernel has ended."""
        try:
            self._channel.read_pending(self._stop)
        except ConnectionLost as error:
            reconnected = self._connection.reconnect() and self._connection.channel
            if reconnected:
                self._channel = reconnected
            else:
                self._end = error
        except KernelGone as error:
            # The next call raises it, or the user would not learn that the state is lost.
            self._end = error
        return self._end is None and self._connection.sandbox is not None

    def death(self) -> SandboxDiedError:
        """Return the error that describes the end, with the engine's evidence."""
        return self._death(self._end or KernelGone("the sandbox was removed"))

    def _death(self, error: ConnectionLost | KernelGone) -> SandboxDiedError:
        sandbox = self._connection.sandbox
        if sandbox is None:
            return SandboxDiedError("the sandbox was removed", cause="removed")
        lost = isinstance(error, ConnectionLost)
        status = status_after_end(sandbox) if lost else sandbox.status()
        if status.running and lost:
            # The gateway or the relay has ended.
            message = f"sandbox {sandbox.id} lost its kernel gateway: {error}; {status}"
            return SandboxDiedError(message, cause="connection")
        cause = "exit"
        if not status.running and status.out_of_memory:
            cause = "out_of_memory"
        elif not status.running and status.signal_name:
            cause = "signal"
        owner = f"the kernel in sandbox {sandbox.id}" if status.running else f"sandbox {sandbox.id}"
        return SandboxDiedError(f"{owner} ended: {status}", cause=cause)

    def kill(self) -> None:
        """Remove the sandbox and the code that runs in it; idempotent, from any thread."""
        self._connection.drop_sandbox()

    close = kill


def _failure(error: KernelError | None) -> Failure | None:
    if error is None:
        return None
    failure = Failure(error.name, error.value, error.traceback)
    return dataclasses.replace(failure, traceback=_ANSI.sub("", failure.traceback))


def _join(body: Body) -> bytes:
    return bytes(body) if isinstance(body, (bytes, bytearray)) else b"".join(body)
