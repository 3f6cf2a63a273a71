"""Communication with one kernel: requests out, their messages in, under a deadline.

The executor ensures that only one thread at a time waits for code. Any other thread may call
``interrupt``, and ``ask``, whose answers the kernel gives while code runs. Whichever thread waits
receives the messages of all of them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from ..deadline import Deadline
from ..errors import ExecutorError, ProtocolError
from ..system.first_process_link import FirstProcess
from .protocol import ControlRequest, InputRequest, KernelGone, KernelRequest, Requests, Sink
from .resumption import ResumableConnection
from .websocket import Connection, SendTimeout, WaitTimeout
from .wire import Message, decode, encode_pieces, peek_v1

__all__ = ["Channel", "DeadlinePassed", "message_limit"]

# Longest wait on the socket; only the deadline and the pings depend on it.
_POLL_SECONDS = 1.0
# Silence after which server and first process are asked, after which neither counts as reachable,
# and after which a gateway counts as gone whose sandbox's first process answers. A gateway's event
# loop answers while the kernel computes, so its silence measures the connection and not the code. A
# kernel that serves itself is silent while C code holds the GIL: then only the first process
# answers. All share the sandbox's processor with the code and may be slow.
_PING_AFTER_SECONDS = 1.0
_UNREACHABLE_AFTER_SECONDS = 6.0
_LOST_AFTER_SECONDS = 20.0
# Longest delay of a reply after the idle message, on a connection that answers pings: the kernel
# sends the reply before that message.
_REPLY_SECONDS = 1.0
# Longest time spent reading messages of earlier requests, and longest wait before them for a
# connection that takes the place of a lost one: the kernel may close each at once.
_PENDING_SECONDS, _REOPENED_SECONDS = 0.5, 30.0
# Time limit for sending a message, besides that of its bytes.
_SEND_SECONDS = 30.0
# Time limit for sending an interrupt, whose thread is the user's.
_SEND_INTERRUPT_SECONDS = 2.0
# Longest wait for the reply to an interrupt before the next request, which it could interrupt.
_INTERRUPT_SECONDS = 10.0

# Bytes of messages that wait for the thread that waits for code, which may be in a tool, while
# others receive. Further ones are left in the stream.
_MOST_WAITING_BYTES = 64 << 20


class DeadlinePassed(Exception):
    """The deadline of a wait expired before the request was done."""


class Channel:
    """An open connection to a kernel's channels.

    Args:
        connection: an open connection, which this object owns and closes.
        serves_itself: whether the kernel's own process serves the connection.
        first_process: of the sandbox; ``None`` if it cannot be spoken to.
    """

    def __init__(
        self,
        connection: Connection | ResumableConnection,
        requests: Requests,
        *,
        serves_itself: bool = False,
        first_process: FirstProcess | None = None,
    ) -> None:
        self._connection = connection
        self._serves_itself = serves_itself
        self._first_process = first_process
        self._requests = requests
        self._last_heard = self._last_ping = time.monotonic()
        # Connections that the first process had when the stream was last heard of.
        self._links = self._count_links()
        # Interrupts that the kernel has not answered.
        self._interrupts: set[str] = set()
        # When the last request became idle, and when the last control frame came.
        self._idle_since: float | None = None
        self._last_pong = 0.0
        # Requests of other threads, and what these have received for the one that waits for code.
        self._turns = threading.Condition()
        self._is_receiving = False
        self._asked: list[ControlRequest] = []
        self._waiting: deque[tuple[Message, int]] = deque()
        self._waiting_bytes = 0

    def execute(
        self,
        code: str,
        *,
        sink: Sink,
        silent: bool = False,
        buffers: Sequence[bytes] = (),
        deadline: Deadline | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> KernelRequest:
        """Send ``code`` to the kernel without waiting; :meth:`wait` waits for the result.

        Args:
            silent: whether it publishes no result.
            deadline: of the request; sending takes half a minute at most in any case.
            stop: returns whether the kernel has only a second more to read it.

        Raises:
            DeadlinePassed: the kernel did not read it before the deadline.
            ConnectionLost: the stream ended, or the kernel did not read it in time.
        """
        self._idle_since = None
        message = self._requests.execute(code, silent=silent, buffers=buffers)
        self._last_heard = self._last_ping = time.monotonic()
        self._send(message, deadline, stop)
        return KernelRequest(message, sink, self._requests.comm_id)

    def turn(self, request: KernelRequest, seconds: float) -> InputRequest | None:
        """Take at most one message and feed it to ``request``; return a question to answer.

        Args:
            request: that was sent last.
            seconds: to wait at most.

        Raises:
            KernelGone: the kernel's process ended.
            ConnectionLost: the stream ended.
        """
        received = self._receive(0.1 if request.idle and seconds > 0.1 else seconds)
        if received is not None:
            return request.feed(*received)
        if request.idle:
            self._idle_since = self._idle_since or time.monotonic()
            if self._last_pong - self._idle_since > _REPLY_SECONDS:
                request.give_up()
        return None

    def wait(self, request: KernelRequest, deadline: Deadline) -> None:
        """Wait until a request of the fork's own, which asks no questions, is done.

        Raises:
            DeadlinePassed: the deadline expired; the caller may wait for the request again.
            KernelGone: the kernel's process ended.
            ConnectionLost: the stream ended.
        """
        while not request.done:
            question = self.turn(request, deadline.at_most(_POLL_SECONDS))
            if question is not None:
                self.answer(question, "", (), deadline)
            # Only after the received message was fed: it might be the one that ends the request.
            if deadline.expired() and not request.done:
                raise DeadlinePassed

    def read_pending(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Read messages received between calls, such as the one that the kernel ended.

        Waits for the reply to a pending interrupt, which could interrupt the next request.

        Args:
            stop: returns whether the wait is to end.

        Raises:
            KernelGone: the kernel's process ended since the last request.
            ConnectionLost: the stream ended.
        """
        # Never sent: what comes is of earlier requests.
        request = KernelRequest(Requests("", "").execute("", silent=True), Sink(), "")
        self._await_interrupts(request, stop)
        # A thread left behind by the program may print endlessly; its output is discarded.
        deadline, limit = Deadline(_PENDING_SECONDS), Deadline(_REOPENED_SECONDS)
        while not deadline.expired() and not limit.expired():
            lost = self._connection.lost
            try:
                received = self._receive_now(_POLL_SECONDS if lost else 0.0)
            except WaitTimeout:
                if stop() or not (lost or self._connection.lost):
                    return
                # Whether a sandbox has ended is known when no other connection can be opened.
                self._check_alive()
                deadline = Deadline(_PENDING_SECONDS)
                continue
            if received is not None:
                request.feed(*received)

    def _await_interrupts(self, request: KernelRequest, stop: Callable[[], bool]) -> None:
        deadline = Deadline(_INTERRUPT_SECONDS)
        if self._first_process is not None:
            while not self._first_process.wait(deadline.at_most(_POLL_SECONDS)):
                if deadline.expired() or stop():
                    break
        while self._interrupts and not deadline.expired() and not stop():
            with contextlib.suppress(WaitTimeout):
                received = self._receive_now(deadline.at_most(_POLL_SECONDS))
                if received is not None:
                    request.feed(*received)
        self._interrupts.clear()

    def ask(self, message_type: str, buffers: Sequence[bytes], deadline: Deadline) -> Message:
        """Have the kernel's control thread do something, while code runs too. From any thread.

        Args:
            deadline: until the answer; a kernel whose C code holds the GIL does not answer.

        Returns:
            the answer.

        Raises:
            DeadlinePassed: there was no answer.
            KernelGone: the kernel's process ended.
            ConnectionLost: the stream ended.
            ExecutorError: the code sends more than is read while it waits for a tool.
        """
        request = ControlRequest(self._requests.control(message_type, buffers))
        with self._turns:
            if not self._is_receiving:
                self._last_heard = self._last_ping = time.monotonic()
            self._asked.append(request)
        try:
            self._send(request.message, deadline)
            while request.reply is None:
                if request.gone:
                    raise KernelGone(request.gone)
                if deadline.expired():
                    raise DeadlinePassed
                try:
                    self._receive_for(request, deadline.at_most(_POLL_SECONDS))
                except WaitTimeout:
                    self._check_alive()
            return request.reply
        finally:
            with self._turns:
                self._asked.remove(request)

    def interrupt(self) -> None:
        """Interrupt the running code. May be called from any thread.

        The sandbox's first process does it if it can be spoken to and the kernel is its main
        process. Otherwise the kernel is asked, which does nothing while C code holds the GIL.

        Raises:
            ConnectionLost: the stream ended, or the kernel's gateway reads nothing.
        """
        first = self._first_process
        if self._serves_itself and first is not None and first.interrupt():
            return
        message = self._requests.control("interrupt_request")
        self._interrupts.add(message.id)
        self._send(message, seconds=_SEND_INTERRUPT_SECONDS)

    def close(self) -> None:
        """Close the stream; a waiting thread gets ``ConnectionLost``. Any thread may call this."""
        self._connection.close()

    def answer(
        self,
        question: InputRequest,
        value: str,
        buffers: Sequence[bytes],
        deadline: Deadline,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Answer a question of the kernel. Arguments and errors as for :meth:`execute`."""
        reply = self._requests.input_reply(question, value, buffers)
        self._send(reply, deadline, stop)
        self._last_heard = self._last_ping = time.monotonic()

    def _send(
        self,
        message: Message,
        deadline: Deadline | None = None,
        stop: Callable[[], bool] | None = None,
        *,
        seconds: float | None = None,
    ) -> None:
        pieces = encode_pieces(message)
        # Every working engine's stream is faster than a megabyte per second.
        seconds = seconds or _SEND_SECONDS + sum(map(len, pieces)) / 1_000_000
        if deadline is not None and deadline.expired():
            raise DeadlinePassed
        limit = seconds if deadline is None else deadline.at_most(seconds)

        def stop_soon() -> bool:
            # Called while the other end reads nothing.
            self._check_alive(ping=False)
            return stop is not None and stop()

        try:
            self._connection.send(pieces, timeout=limit, stop=stop_soon)
        except SendTimeout:
            if deadline is not None and deadline.expired():
                raise DeadlinePassed from None
            raise

    def _receive(self, seconds: float) -> tuple[Message, int] | None:
        try:
            return self._receive_now(seconds)
        except WaitTimeout:
            self._check_alive()
            return None

    def _receive_now(self, timeout: float = 0.0) -> tuple[Message, int] | None:
        """Take a message for the thread that waits for code; ``None`` for one of another's."""
        self._receive_for(None, timeout)
        with self._turns:
            if not self._waiting:
                return None
            message, size = self._waiting.popleft()
            self._waiting_bytes -= size
        if message.type == "interrupt_reply":
            self._interrupts.discard(str(message.parent_id))
        return message, size if message.content is None else 0

    def _receive_for(self, request: ControlRequest | None, timeout: float) -> None:
        """Wait for one message, which this thread or another one receives.

        Args:
            request: that waits; ``None`` for the thread that waits for code.
            timeout: seconds to wait.

        Raises:
            WaitTimeout: none came.
            ConnectionLost: the stream ended.
        """

        def has_come() -> bool:
            if request is None:
                return bool(self._waiting)
            return request.reply is not None or bool(request.gone)

        deadline = time.monotonic() + timeout
        with self._turns:
            self._turns.wait_for(lambda: has_come() or not self._is_receiving, timeout)
            if has_come():
                return
            if self._is_receiving:
                raise WaitTimeout
            if self._waiting_bytes > _MOST_WAITING_BYTES:
                raise ExecutorError(
                    f"the code has sent {self._waiting_bytes} bytes while it waits for a tool"
                )
            self._is_receiving = True
        received = None
        try:
            received = self._receive_message(max(0.0, deadline - time.monotonic()))
        finally:
            with self._turns:
                self._is_receiving = False
                if received is not None:
                    message, size = received
                    are_fed = [open_request.feed(message) for open_request in self._asked]
                    if not any(are_fed):
                        self._waiting.append(received)
                        self._waiting_bytes += size
                self._turns.notify_all()

    def _receive_message(self, timeout: float) -> tuple[Message, int] | None:
        """Receive one message; return it with its size, or that of what was skipped of it."""
        before = self._connection.received
        try:
            received = self._connection.receive(timeout)
        finally:
            if self._connection.received != before:
                self._last_heard = time.monotonic()
                self._links = self._count_links()
        if received is None:
            self._last_pong = time.monotonic()
            return None
        payload, skipped = received
        if skipped:
            return peek_v1(bytes(payload)), skipped
        try:
            return decode(payload), len(payload)
        except ProtocolError:
            # The sandbox can make the gateway send invalid messages, which are ignored.
            return None

    def _check_alive(self, *, ping: bool = True) -> None:
        """Look whether the other end is there; a connection that is lost is opened again.

        Args:
            ping: whether the connection can be written to.

        Raises:
            ConnectionLost: it is not there, and no other connection takes the place of this one.
        """
        first = self._first_process
        now = time.monotonic()
        silent = now - self._last_heard
        if silent > _PING_AFTER_SECONDS and now - self._last_ping > _PING_AFTER_SECONDS:
            self._last_ping = now
            if ping:
                self._connection.ping()
            if first is not None:
                first.ask()
        if self._connection.lost:
            return
        if self._links != self._count_links():
            self._links = self._count_links()
            self._connection.lose("the engine's other connection to the sandbox was lost")
        elif first is not None and min(silent, now - first.heard_at) > _UNREACHABLE_AFTER_SECONDS:
            self._connection.lose(
                f"nothing was received for {silent:.0f} s, not from the sandbox's first process "
                "either: the engine or the network in between does not answer"
            )
        elif silent > _LOST_AFTER_SECONDS and not self._serves_itself:
            self._connection.lose(
                f"the kernel gateway has not answered a ping for {silent:.0f} s; "
                "the engine or the network in between is gone"
            )

    def _count_links(self) -> int:
        return 0 if self._first_process is None else self._first_process.links


def message_limit(max_text_bytes: int, max_value_bytes: int) -> int:
    """Return the size limit of a message in bytes.

    Args:
        max_text_bytes: limit of text: output, errors, answers.
        max_value_bytes: limit of values and images.
    """
    # Text is escaped in JSON, up to six bytes per character; base64 adds a third.
    return max(max_text_bytes * 6, max_value_bytes * 3 // 2) + 65_536
