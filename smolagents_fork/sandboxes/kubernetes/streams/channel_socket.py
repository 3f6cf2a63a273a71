"""WebSocket of an exec or an attachment, with Kubernetes' channels, that never blocks.

Every message is a channel's number and bytes: 0 input, 1 output, 2 errors, 3 the final status as
JSON, 4 a terminal's size. In version 5 of the protocol, 255 and a channel's number close a channel;
version 4 cannot end the input. websocket-client opens the connection. The reader is our own,
because that of the official client waits without a limit within a frame.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import ssl
import struct
from typing import Any

import websocket
from websocket import ABNF

from ....errors import ExecutorError, ProtocolError
from ....forks import forget, keep_open
from ...untrusted_json import read_json

__all__ = ["ERRORS", "OUTPUT", "PROTOCOLS", "STATUS", "ChannelSocket", "ExecStatus"]

INPUT, OUTPUT, ERRORS, STATUS = 0, 1, 2, 3
_CLOSE = 255
_V5 = "v5.channel.k8s.io"
#: Versions that are offered, the better first.
PROTOCOLS = (_V5, "v4.channel.k8s.io")
_PIECE = 32_768
_READ = 262_144
# Servers send pieces of 32 KiB; more in a frame is not one of theirs.
_MOST_PAYLOAD = 16 << 20
# RFC 6455, section 5.5.
_LONGEST_CONTROL = 125
_LENGTHS = {126: struct.Struct(">H"), 127: struct.Struct(">Q")}
# Without the descriptor that epoll needs; Windows has select only.
_Selector: type[selectors.BaseSelector]
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)


class ExecStatus:
    """Final status of a program.

    Args:
        text: JSON of the status channel.
    """

    def __init__(self, text: bytes) -> None:
        found: Any = None
        with contextlib.suppress(ProtocolError):
            found = read_json(text, "a status")
        status: dict[str, Any] = found if isinstance(found, dict) else {}
        #: Exit code; ``None`` if the program could not be run.
        self.exit_code: int | None = 0 if status.get("status") == "Success" else None
        #: The cluster's words.
        self.message = text.decode("utf-8", "replace")[:500]
        if type(status.get("message")) is str:
            self.message = status["message"] or self.message
        details = status.get("details")
        causes = details.get("causes") if isinstance(details, dict) else None
        if status.get("reason") == "NonZeroExitCode" and isinstance(causes, list) and causes:
            code = causes[0].get("message") if isinstance(causes[0], dict) else None
            digits = re.fullmatch("[0-9]{1,3}", code) if type(code) is str else None
            self.exit_code = int(digits[0]) if digits else None


class ChannelSocket:
    """An open exec or attachment. Not for several threads at once.

    Args:
        opened: WebSocket after its handshake; owned and closed by this object.
    """

    def __init__(self, opened: websocket.WebSocket) -> None:
        sock = opened.sock
        assert sock is not None
        self._sock: socket.socket = sock
        keep_open((sock,))
        sock.setblocking(False)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        #: Whether the end of the input can be sent.
        self.can_end_input = opened.getsubprotocol() == _V5
        self._input = bytearray()
        self._output = bytearray()
        self._fragments: bytearray | None = None
        self._ended = False
        #: Why the connection ended; empty while it is open.
        self.end_reason = ""
        self.status: ExecStatus | None = None

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def unsent(self) -> int:
        """Bytes that :meth:`send` has taken and that are not sent yet."""
        return len(self._output)

    def send(self, data: bytes) -> None:
        """Send input to the program, as far as possible now; :meth:`flush` sends the rest."""
        view = memoryview(data)
        while view:
            self._frame(ABNF.OPCODE_BINARY, b"\0" + bytes(view[:_PIECE]))
            view = view[_PIECE:]
        self.flush()

    def end_input(self) -> None:
        """End the program's input, where the version of the protocol can."""
        if self.can_end_input:
            self._frame(ABNF.OPCODE_BINARY, bytes((_CLOSE, INPUT)))
            self.flush()

    def _frame(self, opcode: int, payload: bytes) -> None:
        self._output += ABNF.create_frame(payload, opcode).format()

    def flush(self) -> None:
        """Send what can be sent now."""
        while self._output and not self._ended:
            try:
                del self._output[: self._sock.send(self._output[: 1 << 20])]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                # The other end reads no more; what it has sent before is still to be read.
                self._output.clear()

    def receive(self) -> list[tuple[int, bytes]] | None:
        """Return what has arrived: channels and bytes; ``None`` when the connection has ended.

        Raises:
            ExecutorError: the other end broke the protocol.
        """
        self.flush()
        closed = self._read()
        found = []
        while (message := self._message()) is not None:
            # A server opens a channel, also that of the status, with a message without bytes.
            if len(message) > 1 and message[0] == STATUS:
                self.status = ExecStatus(message[1:])
            elif len(message) > 1 and message[0] in (OUTPUT, ERRORS):
                found.append((message[0], message[1:]))
        if closed:
            self._end(closed)
        return None if self._ended and not found else found

    def _read(self) -> str:
        """Take the bytes that have arrived; return why the connection has ended, or nothing."""
        while not self._ended and len(self._input) <= _MOST_PAYLOAD:
            try:
                data = self._sock.recv(_READ)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                break
            except OSError as error:
                return f"{type(error).__name__}: {error}"
            if not data:
                return "the connection was closed"
            self._input += data
        return ""

    def _message(self) -> bytes | None:
        """Return the next complete message; control frames are handled here."""
        while (frame := self._take_frame()) is not None:
            final, opcode, payload = frame
            if opcode == ABNF.OPCODE_PING:
                if not self._output:  # or pings that come faster than it reads would fill memory
                    self._frame(ABNF.OPCODE_PONG, payload)
                    self.flush()
            elif opcode == ABNF.OPCODE_CLOSE:
                reason = payload[2:].decode("utf-8", "replace")
                self._end(f"the cluster closed the stream{': ' if reason else ''}{reason}")
                return None
            elif opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT, ABNF.OPCODE_CONT):
                self._fragments = (self._fragments or bytearray()) + payload
                if final:
                    whole, self._fragments = bytes(self._fragments), None
                    return whole
                if len(self._fragments) > _MOST_PAYLOAD:
                    raise self._broken("a message of more than 16 MiB")
        return None

    def _take_frame(self) -> tuple[bool, int, bytes] | None:
        data = self._input
        if len(data) < 2:
            return None
        if data[0] & 0x70 or data[1] & 0x80:
            raise self._broken("a frame with reserved bits or a mask")
        if data[0] & 0x08 and not (data[0] & 0x80 and data[1] <= _LONGEST_CONTROL):
            raise self._broken("a control frame that is long or fragmented")
        length, start = data[1] & 0x7F, 2
        if length in _LENGTHS:
            size = _LENGTHS[length]
            if len(data) < 2 + size.size:
                return None
            (length,) = size.unpack_from(data, 2)
            start += size.size
        if length > _MOST_PAYLOAD:
            raise self._broken(f"a frame of {length} bytes")
        if len(data) < start + length:
            return None
        frame = bool(data[0] & 0x80), data[0] & 0x0F, bytes(data[start : start + length])
        del data[: start + length]
        return frame

    def _broken(self, what: str) -> ExecutorError:
        self._end(f"the cluster sent {what}")
        return ExecutorError(f"the stream into the pod broke: {self.end_reason}")

    def _end(self, reason: str) -> None:
        self._ended = True
        self.end_reason = self.end_reason or reason

    def wait(self, seconds: float) -> None:
        """Wait until something arrives, or more can be sent.

        Args:
            seconds: to wait at most.
        """
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._output else 0)
        with _Selector() as selector:
            selector.register(self._sock, events)
            selector.select(max(0.0, seconds))

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._end("it was closed here")
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        forget((self._sock,))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
