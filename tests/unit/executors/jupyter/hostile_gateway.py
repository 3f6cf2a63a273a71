"""An engine whose sandboxes are a hostile kernel gateway, which speaks the real protocol."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from websocket_frames import frame, read_frame, switching_answer

from smolagents_fork.codec import encode
from smolagents_fork.jupyter import wire
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.engine_protocol import Note, no_note
from smolagents_fork.sandboxes.provisioner import ImageSpec, Report, SandboxSpec, SandboxStatus

__all__ = ["Gateway", "HostileEngine", "call"]


def call(number: int, name: str, *args: Any) -> bytes:
    """A call of a tool."""
    return encode({"call": number, "name": name, "args": list(args), "kwargs": {}})


@dataclass
class Conversation:
    """Conversation that goes on over another connection after a loss, and acknowledges nothing.

    Attributes:
        received: number of the client's messages.
        is_ending: whether each further connection ends at once.
    """

    received: int = 0
    is_ending: bool = False


class Gateway:
    """One connection, with a kernel that answers every request unless ``act`` does.

    Args:
        sock: to the client.
        act: takes the gateway, a request and its code; returns whether it has answered it.
        conversation: that it is of; ``None`` for one that ends with it.
    """

    def __init__(
        self,
        sock: socket.socket,
        act: Callable[[Gateway, wire.Message, str], bool],
        conversation: Conversation | None = None,
    ) -> None:
        self.sock = sock
        self._act = act
        self.conversation = conversation
        self._unread = b""

    def serve(self) -> None:
        with self.sock, contextlib.suppress(OSError, EOFError):
            head = self._head()
            if head.startswith(b"POST "):
                body = (
                    b'{"id":"abcd","serves_itself":true}' if self.conversation else b'{"id":"abcd"}'
                )
                self.sock.sendall(
                    b"HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
                )
                head = self._head()
            answer = switching_answer(head, wire.SUBPROTOCOL_V1)
            if self.conversation is not None:
                count = b"Received-Messages: %d\r\n\r\n" % self.conversation.received
                answer = answer.removesuffix(b"\r\n") + count
            self.sock.sendall(answer)
            while self.conversation is None or not self.conversation.is_ending:
                message = self.read()
                if message.type != "execute_request" or message.content is None:
                    continue
                if not self._act(self, message, str(message.content["code"])):
                    self.done(message)

    def _head(self) -> bytes:
        while b"\r\n\r\n" not in self._unread:
            self._take_some()
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"content-length:"):
                self._take(int(line.partition(b":")[2]))
        return head

    def _take_some(self) -> None:
        data = self.sock.recv(1 << 20)
        if not data:
            raise EOFError
        self._unread += data

    def _take(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._take_some()
        taken, self._unread = self._unread[:size], self._unread[size:]
        return taken

    def read(self) -> wire.Message:
        """Read the client's next message."""
        while True:
            first, data = read_frame(self._take)
            if first & 0xF == 9:
                self.sock.sendall(frame(data, 0x8A))
            elif first & 0xF == 2:
                if self.conversation is not None:
                    self.conversation.received += 1
                return wire.decode(data)

    def message(
        self,
        channel: str,
        kind: str,
        content: dict[str, Any],
        parent: wire.Message | None = None,
        *buffers: bytes,
    ) -> bytes:
        """A message in a frame."""
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "kernel"}
        answered = {} if parent is None else parent.header
        sent = wire.Message(channel, header, answered, {}, content, buffers)
        return frame(b"".join(wire.encode_pieces(sent)))

    def question(self, parent: wire.Message, data: bytes, number: str = "1") -> bytes:
        """A call of a tool as the kernel sends it."""
        content = {"prompt": f"smolagents {number}", "password": False}
        return self.message("stdin", "input_request", content, parent, data)

    def done(self, parent: wire.Message) -> None:
        """Answer a request."""
        self.sock.sendall(
            self.message("iopub", "status", {"execution_state": "idle"}, parent)
            + self.message("shell", "execute_reply", {"status": "ok"}, parent)
        )


class _Sandbox:
    """A gateway in a thread."""

    def __init__(
        self, spec: SandboxSpec, act: Callable[..., bool], conversation: Conversation | None
    ) -> None:
        self.id, self.spec, self.gateway_token = uuid.uuid4().hex[:12], spec, "token"
        self._act, self._conversation = act, conversation
        self._ends: list[socket.socket] = []

    def open_stream(self, *, timeout: float) -> socket.socket:
        near, far = socket.socketpair()
        self._ends.append(far)
        gateway = Gateway(far, self._act, self._conversation)
        threading.Thread(target=gateway.serve, daemon=True).start()
        return near

    def status(self) -> SandboxStatus:
        return SandboxStatus("running" if self._ends else "removed", None, False, ())

    def remove(self) -> None:
        ends, self._ends = self._ends, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class HostileEngine:
    """Sandboxes whose gateway does ``act``, perhaps in a conversation that can be resumed."""

    act: Callable[[Gateway, wire.Message, str], bool]
    is_resumable: bool = False
    refused_options: dict[str, str] = field(default_factory=dict)
    name = "hostile"

    def network_remedy(self, options: ContainerOptions, owner: str) -> str:
        return ""

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> HostileEngine:
        return self

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        return "image"

    def start(self, spec: SandboxSpec) -> Any:
        return _Sandbox(spec, self.act, Conversation() if self.is_resumable else None)

    def ours(self) -> list[str]:
        return []

    def wait_until_removed(self, timeout: float) -> bool:
        return True

    def close(self) -> None:
        pass


def endless(pieces: Iterator[bytes], gateway: Gateway) -> bool:
    """Send without end, and read nothing."""
    for piece in pieces:
        gateway.sock.sendall(piece)
    return True
