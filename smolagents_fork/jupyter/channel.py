"""The conversation with one kernel: requests out, their messages in, under a deadline.

One thread waits at a time (the executor sees to that); ``interrupt`` may be called from any other.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..deadline import Deadline
from ..errors import ProtocolError
from .protocol import InputRequest, Request, Requests, Sink
from .websocket import Connection, ConnectionLost, WaitTimeout
from .wire import Message, decode, encode, peek_v1

__all__ = ["Channel", "DeadlinePassed", "message_limits"]

# How long one wait on the socket lasts; only the deadline and the pings depend on it.
_POLL_SECONDS = 1.0
# Silence after which the gateway is pinged, after which the way to it is looked at, and after which
# it counts as gone. Its event loop answers while the kernel computes, so this measures the
# connection and not the code. The gateway shares the sandbox' processor with the code and may be
# slow; the way does not, and is known to be closed long before.
_PING_AFTER_SECONDS = 1.0
_LOOK_AFTER_SECONDS = 2.0
_LOST_AFTER_SECONDS = 20.0
# How long the answer to a request may lag behind the news that the kernel is idle again, before the
# kernel is asked something else to see whether it has passed that by.
_REPLY_SECONDS = 1.0
_DRAIN_SECONDS = 0.5
# How long an interrupt may be on its way before the next request goes out, which it would hit.
_INTERRUPT_SECONDS = 10.0
# How soon after an unanswered one the next is sent.
_INTERRUPT_AGAIN = 0.3

_CARRY_VALUES = frozenset({"comm_msg", "display_data", "execute_result", "input_request"})


class DeadlinePassed(Exception):
    """The deadline of a wait is spent and the request is not done."""


class Channel:
    """An open connection to a kernel's channels.

    Args:
        connection: open; owned from now on.
        requests: makes the messages.
        send_timeout: seconds one message may take to be sent.
        engine_responds: asked when the gateway is silent: whether what lies between still answers.
            Takes two seconds at most.
    """

    def __init__(
        self,
        connection: Connection,
        requests: Requests,
        *,
        send_timeout: float = 30.0,
        engine_responds: Callable[[], bool] = lambda: True,
    ) -> None:
        self._connection = connection
        self._engine_responds = engine_responds
        self._requests = requests
        self._send_timeout = send_timeout
        self._requests_lock = threading.Lock()
        self._last_heard = self._last_ping = self._last_look = time.monotonic()
        # Interrupts the kernel has not answered.
        self._interrupts: set[str] = set()
        self._last_interrupt = 0.0

    def execute(
        self, code: str, *, sink: Sink, silent: bool = False, buffers: Sequence[bytes] = ()
    ) -> Request:
        """Send ``code`` to the kernel and return at once; :meth:`wait` waits.

        Raises:
            ConnectionLost: the stream ended.
        """
        with self._requests_lock:
            message = self._requests.execute(code, silent=silent, buffers=buffers)
        self._last_heard = self._last_ping = time.monotonic()
        self._send(message)
        return Request(message, sink, self._requests.comm_id)

    def wait(
        self,
        request: Request,
        deadline: Deadline,
        *,
        until: Callable[[], bool] = lambda: False,
        behind: Request | None = None,
    ) -> Request:
        """Feed ``request`` until it is done, or ``until`` is true.

        That is asked after every message, and every second. ``behind`` is a request that was sent
        after it: the kernel answers in order, so when that one is done this one is over too, even
        if an interrupt hit the kernel just where it would have said so.

        The clock of ``deadline`` stands still while an input request is answered.

        Raises:
            DeadlinePassed: the time is spent; the request can be waited for again.
            KernelGone: the kernel's process ended.
            ConnectionLost: the stream ended.
        """
        idle_since: float | None = None
        probe: Request | None = None
        while not request.done and not (behind is not None and behind.done):
            received = self._receive(deadline, 0.1 if request.idle else _POLL_SECONDS)
            if request.idle:
                idle_since = idle_since or time.monotonic()
                late = time.monotonic() - idle_since > _REPLY_SECONDS
                if received is None and late and probe is None:
                    # The kernel answers in order: with the answer to this one it is known.
                    probe = self.execute("pass", sink=Sink(), silent=True)
            question = request.feed(*received) if received is not None else None
            for later in (behind, probe):
                if later is not None and received is not None:
                    later.feed(*received)
            if probe is not None and probe.status is not None and request.status is None:
                request.give_up_on_reply()
            if question is not None:
                with deadline.paused():
                    self._answer(request, question)
                self._last_heard = self._last_ping = time.monotonic()
            if until():
                break
            # Not before what has come was taken in: it would be lost, and might be the end itself.
            done = request.done or (behind is not None and behind.done)
            if deadline.expired() and not done:
                raise DeadlinePassed
        return request

    def drain(self, request: Request) -> None:
        """Read what has come while nobody waited, such as the news that the kernel ended.

        An interrupt that is still on its way is waited for: it would hit the next request.

        Raises:
            KernelGone: the kernel's process ended since the last request.
            ConnectionLost: the stream ended.
        """
        self._settle_interrupts(request)
        # A thread the program left behind may print without end; its output is nobody's.
        deadline = Deadline(_DRAIN_SECONDS)
        while not deadline.expired():
            try:
                received = self._receive_now()
            except WaitTimeout:
                return
            if received is not None:
                request.feed(*received)

    def _settle_interrupts(self, request: Request) -> None:
        deadline = Deadline(_INTERRUPT_SECONDS)
        while self._interrupts and not deadline.expired():
            with contextlib.suppress(WaitTimeout):
                received = self._receive_now(deadline.at_most(_POLL_SECONDS))
                if received is not None:
                    request.feed(*received)
        self._interrupts.clear()

    def interrupt(self) -> None:
        """Ask the kernel to interrupt what runs. From any thread.

        Raises:
            ConnectionLost: the stream ended.
        """
        with self._requests_lock:
            # One at a time: a kernel that is interrupted while it reports an interrupt never ends.
            if self._interrupts and time.monotonic() - self._last_interrupt < _INTERRUPT_AGAIN:
                return
            self._last_interrupt = time.monotonic()
            message = self._requests.interrupt()
            self._interrupts.add(str(message.header["msg_id"]))
        self._send(message)

    def close(self) -> None:
        """Close the stream; a waiting thread gets ``ConnectionLost``. From any thread."""
        self._connection.close()

    def _answer(self, request: Request, question: InputRequest) -> None:
        answer = request.sink.answer
        value: str
        buffers: Sequence[bytes]
        value, buffers = ("", ()) if answer is None else answer(question)
        with self._requests_lock:
            reply = self._requests.input_reply(question, value, buffers)
        self._send(reply)

    def _send(self, message: Message) -> None:
        payload, binary = encode(message, v1=self._connection.v1)
        # A megabyte a second is slower than any engine's stream that works at all.
        timeout = self._send_timeout + len(payload) / 1_000_000
        self._connection.send(payload, binary=binary, timeout=timeout)

    def _receive(self, deadline: Deadline, poll: float) -> tuple[Message, int] | None:
        try:
            return self._receive_now(deadline.at_most(poll))
        except WaitTimeout:
            self._check_alive()
            return None

    def _receive_now(self, timeout: float = 0.0) -> tuple[Message, int] | None:
        before = self._connection.received
        try:
            received = self._connection.receive(timeout)
        finally:
            if self._connection.received != before:
                self._last_heard = time.monotonic()
        if received is None:
            return None
        payload, binary, skipped = received
        v1 = self._connection.v1
        if skipped:
            return _oversize(payload, v1), skipped
        try:
            message = decode(payload, v1=v1, binary=binary)
        except ProtocolError:
            # The sandbox can make the gateway send nonsense; what it says nothing about is nothing.
            return None
        if message.type == "interrupt_reply":
            self._interrupts.discard(str(message.parent_id))
        return message, 0

    def _check_alive(self) -> None:
        now = time.monotonic()
        silent = now - self._last_heard
        if silent > _LOST_AFTER_SECONDS:
            raise ConnectionLost(
                f"the kernel gateway has not answered a ping for {silent:.0f} s; "
                "the engine or the network in between is gone"
            )
        if silent > _LOOK_AFTER_SECONDS and now - self._last_look > _LOOK_AFTER_SECONDS:
            self._last_look = now
            if not self._engine_responds():
                raise ConnectionLost(
                    f"nothing has come for {silent:.0f} s and the engine, through which the stream "
                    "runs, does not answer"
                )
        if silent > _PING_AFTER_SECONDS and now - self._last_ping > _PING_AFTER_SECONDS:
            self._last_ping = now
            self._connection.ping()


def message_limits(max_text_bytes: int, max_value_bytes: int) -> Callable[[bytes], int]:
    """Make the function that gives a message's largest size in bytes, from its beginning.

    Args:
        max_text_bytes: for what carries text: output, errors, answers.
        max_value_bytes: for what carries values or pictures.
    """
    # Text is escaped in JSON, up to six bytes a character; base64 takes a third more.
    text, value = max_text_bytes * 6 + 65_536, max_value_bytes * 3 // 2 + 65_536

    def limit_for(start: bytes) -> int:
        message = peek_v1(start)
        if message is None:
            return value  # the default layout does not begin with its headers
        return value if message.type in _CARRY_VALUES else text

    return limit_for


def _oversize(start: bytes, v1: bool) -> Message:
    message = peek_v1(start) if v1 else None
    if message is not None:
        return message
    unknown: dict[str, Any] = {}
    return Message("iopub", unknown, unknown, unknown, None)
