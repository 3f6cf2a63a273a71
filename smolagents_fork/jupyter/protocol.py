"""Requests, and the state of a request while its messages arrive. Pure: no socket, no clock.

Source: "Messaging in Jupyter", protocol 5.3 and 5.4. A request is done when the kernel has sent
both the ``execute_reply`` on the shell channel and the idle status on iopub. The two are sent
separately and may arrive in either order.
"""

from __future__ import annotations

import datetime
import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .wire import Message

__all__ = [
    "ControlRequest",
    "InputRequest",
    "KernelError",
    "KernelGone",
    "KernelRequest",
    "Requests",
    "Sink",
]

_PROTOCOL_VERSION = "5.3"


@dataclass(frozen=True)
class KernelError:
    """An exception in the kernel, as text."""

    name: str
    value: str
    traceback: str


@dataclass(frozen=True)
class InputRequest:
    """The kernel waits for an answer on the stdin channel.

    Attributes:
        message: the request.
        prompt: its text.
    """

    message: Message
    prompt: str


class KernelGone(Exception):
    """The gateway reports that the kernel's process has ended."""


class Sink:
    """Receiver of the messages of one request, for the waiting thread; this one drops them."""

    def stream(self, text: str, lost: int) -> None:
        """Take printed text, and the number of bytes that were not received."""

    def display(self, content: dict[str, Any]) -> None:
        """Take the content of a ``display_data`` or ``execute_result``."""

    def data(self, data: dict[str, Any], buffers: Sequence[bytes | memoryview]) -> None:
        """Take data and buffers of a ``comm_msg`` on our comm."""


class Requests:
    """Factory of the messages of one session, for any thread.

    Args:
        session_id: id of this client, the same in all its messages.
        comm_id: id of the comm on which the code in the kernel sends data.
    """

    def __init__(self, session_id: str, comm_id: str) -> None:
        self.session_id = session_id
        self.comm_id = comm_id
        self._numbers = itertools.count(1)
        self._id = f"{session_id}_{uuid.uuid4().hex[:8]}"

    def message(
        self,
        channel: str,
        message_type: str,
        content: dict[str, Any],
        *,
        buffers: Sequence[bytes] = (),
        parent: dict[str, Any] | None = None,
    ) -> Message:
        """Create a message, ready to be encoded."""
        header = {
            "msg_id": f"{self._id}_{next(self._numbers)}",
            "session": self.session_id,
            "username": "smolagents",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            "msg_type": message_type,
            "version": _PROTOCOL_VERSION,
        }
        return Message(channel, header, parent or {}, {}, content, tuple(buffers))

    def execute(self, code: str, *, silent: bool, buffers: Sequence[bytes] = ()) -> Message:
        """Create a request to run ``code``."""
        content = {
            "code": code,
            "silent": silent,
            # History would keep every result of an agent's run alive in the kernel.
            "store_history": False,
            "user_expressions": {},
            # input() cannot be answered; the bridge does not depend on this setting.
            "allow_stdin": False,
            # A failed step must not discard the request that follows it.
            "stop_on_error": False,
        }
        return self.message("shell", "execute_request", content, buffers=buffers)

    def control(self, message_type: str, buffers: Sequence[bytes] = ()) -> Message:
        """Create a request that the control thread handles."""
        return self.message("control", message_type, {}, buffers=buffers)

    def input_reply(self, request: InputRequest, value: str, buffers: Sequence[bytes]) -> Message:
        """Create the answer to an input request."""
        return self.message(
            "stdin",
            "input_reply",
            {"value": value, "status": "ok"},
            buffers=buffers,
            parent=request.message.header,
        )


@dataclass
class ControlRequest:
    """A request on the control channel, which the kernel answers while code runs.

    Attributes:
        message: that is sent.
        reply: the answer; ``None`` before it has come.
        gone: the gateway's word for the end of the kernel's process; empty while it runs.
    """

    message: Message
    reply: Message | None = None
    gone: str = ""

    def feed(self, message: Message) -> bool:
        """Process one message; return whether it belongs to this request alone."""
        self.gone = self.gone or _end_of_kernel(message)
        if message.parent_id != self.message.id:
            return False
        if message.channel == "control":
            self.reply = message
        return True


@dataclass
class KernelRequest:
    """State of one pending request; feed it every message that arrives."""

    message: Message
    sink: Sink
    comm_id: str
    status: str | None = None
    error: KernelError | None = None
    idle: bool = False

    @property
    def done(self) -> bool:
        """True when the kernel has answered and is idle again."""
        return self.idle and self.status is not None

    def feed(self, message: Message, skipped: int) -> InputRequest | None:
        """Process one message; return an input request that waits for an answer.

        Args:
            message: a message from the kernel; its content is ``None`` above the size limit.
            skipped: number of its bytes that were not received.

        Raises:
            KernelGone: the gateway reports that the kernel restarts or is dead.
        """
        message_type, content = message.type, message.content
        if message_type == "status" and content is not None:
            if gone := _end_of_kernel(message):
                raise KernelGone(gone)
            if content.get("execution_state") == "idle" and message.parent_id == self.message.id:
                self.idle = True
            return None
        if message.parent_id != self.message.id:
            return None  # from an earlier request, or from a thread it left behind
        if content is None:
            self._feed_oversize(message_type, skipped)
        elif message_type == "stream":
            self.sink.stream(_text(content.get("text")), 0)
        elif message_type in ("display_data", "execute_result", "update_display_data"):
            self.sink.display(content)
        elif message_type == "comm_msg":
            data = content.get("data")
            if content.get("comm_id") == self.comm_id and isinstance(data, dict):
                self.sink.data(data, message.buffers)
        elif message_type == "error":
            self.error = _kernel_error(content)
        elif message_type == "execute_reply":
            self.status = _text(content.get("status")) or "ok"
            if self.status == "error" and self.error is None:
                self.error = _kernel_error(content)
        elif message_type == "input_request":
            return InputRequest(message, _text(content.get("prompt")))
        return None

    def give_up(self) -> None:
        """Stop waiting for the reply, which an early interrupt, for one, suppresses."""
        error = KernelError(
            "KernelError",
            "the kernel could not say how the code ended; a possible cause is an exception that "
            "cannot be converted to text",
            "",
        )
        self.status, self.error = "error", self.error or error

    def _feed_oversize(self, message_type: str, skipped: int) -> None:
        if message_type == "execute_reply":
            self.status = "error" if self.error else "ok"
        elif message_type == "error":
            self.error = self.error or KernelError(
                "Error", f"(a message of more than {skipped} bytes)", "(too large to be received)"
            )
        else:
            self.sink.stream("", skipped)


def _end_of_kernel(message: Message) -> str:
    """Return the gateway's word for the end of the kernel's process; empty for other messages."""
    if message.type != "status" or message.content is None:
        return ""
    state = message.content.get("execution_state")
    return str(state) if state in ("restarting", "dead", "autorestarting") else ""


def _kernel_error(content: dict[str, Any]) -> KernelError:
    lines = content.get("traceback")
    traceback = "\n".join(_text(line) for line in lines) if isinstance(lines, list) else ""
    return KernelError(_text(content.get("ename")), _text(content.get("evalue")), traceback)


def _text(value: Any) -> str:
    # The protocol allows text only, and str() of an untrusted value may raise.
    return value if isinstance(value, str) else ""
