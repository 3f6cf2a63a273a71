"""A WebSocket on a socket that is already there, with a bound on what one message may occupy.

``websocket-client`` does the protocol. Added here: a payload over its limit is read past and never
held, its first bytes kept so that the message can still be told; every call takes the seconds it
may wait; what goes wrong below is mapped to two of our own errors.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import websocket
from websocket import ABNF, WebSocket
from websocket._abnf import frame_buffer

from ..errors import ProtocolError, SandboxDiedError
from .wire import SUBPROTOCOL_V1

__all__ = ["Connection", "ConnectionLost", "SocketLike", "TimedSocket", "WaitTimeout"]

# How much of an over-long payload is kept: enough for the table of offsets and both headers.
_KEPT = 16_384
# How long what has come already is read, where there was no time to wait for it.
_READ_ON_SECONDS = 0.5
# How long the answer to a ping may take to be sent, until it is left out.
_PONG_SECONDS = 1.0


class ConnectionLost(SandboxDiedError):
    """The other end of the stream is gone; the executor finds out why."""


class WaitTimeout(Exception):
    """Nothing came in the seconds given."""


class SocketLike(Protocol):
    """The part of ``socket.socket`` that is used: what a tunnel has to offer. Non-blocking."""

    def recv(self, size: int, /) -> bytes: ...
    def send(self, data: bytes, /) -> int: ...
    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...
    def close(self) -> None: ...


class TimedSocket:
    """A socket whose two directions have a limit each, so that two threads may use it at once.

    ``socket.settimeout`` is one number for both: a thread that sends an interrupt would change how
    long the thread that waits for output waits. And it begins anew with every byte that comes; a
    sandbox that sends or reads one now and then would never let a wait end.
    """

    def __init__(self, sock: SocketLike) -> None:
        sock.setblocking(False)
        self._sock = sock
        # Never two at once: OpenSSL's connections take one thread at a time, and the number of a
        # socket that another thread has closed may be another file's. Held for no wait.
        self._use = threading.RLock()
        self._receive_seconds = 0.0
        self._receive_end = self._send_end = 0.0
        #: Bytes so far.
        self.received = 0

    def receive_for(self, seconds: float, at_most: float) -> None:
        """Set the deadlines of what is received next.

        Args:
            seconds: without any.
            at_most: altogether, however many come.
        """
        self._receive_seconds = seconds
        self._receive_end = time.monotonic() + at_most

    def send_for(self, seconds: float) -> None:
        """Set the deadline of what is sent next, in seconds altogether."""
        self._send_end = time.monotonic() + seconds

    def recv(self, size: int) -> bytes:
        while True:
            left = self._receive_end - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            try:
                with self._use:
                    data = self._sock.recv(size)
                self.received += len(data)
                return data
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(read=True, seconds=min(self._receive_seconds, left))
            except ValueError:  # closed by another thread
                raise ConnectionResetError("the stream has been closed") from None

    def send(self, data: bytes) -> int:
        while True:
            left = self._send_end - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            try:
                with self._use:
                    return self._sock.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(read=False, seconds=left)

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.send(bytes(view[:1_048_576])) :]

    def gettimeout(self) -> float:
        # Tells websocket-client to leave the waiting to recv() and send() above.
        return 0

    def settimeout(self, seconds: float | None) -> None:
        """Sets both directions; only what comes before the first message uses it."""
        seconds = 1e6 if seconds is None else seconds
        self.receive_for(seconds, at_most=seconds)
        self.send_for(seconds)

    def fileno(self) -> int:
        return self._sock.fileno()

    def setsockopt(self, *_: Any) -> None:
        """Options were set by whoever made the socket."""

    def shutdown(self, how: int) -> None:
        close = getattr(self._sock, "shutdown", None)
        if close is not None:
            close(how)

    def close(self) -> None:
        with self._use:
            with contextlib.suppress(OSError):
                self.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(OSError):
                self._sock.close()

    def _wait(self, *, read: bool, seconds: float) -> None:
        descriptor = self._sock.fileno()
        if descriptor < 0:
            raise ConnectionResetError("the stream has been closed")
        if not _wait_for(descriptor, read=read, seconds=seconds):
            raise TimeoutError("timed out")


if hasattr(select, "poll"):

    def _wait_for(descriptor: int, *, read: bool, seconds: float) -> bool:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN if read else select.POLLOUT)
        # Rounded up: a poll of 0 ms would spin through the last millisecond.
        return bool(poll.poll(min(int(seconds * 1000) + 1, 2**31 - 1)))

else:  # pragma: no cover - Windows

    def _wait_for(descriptor: int, *, read: bool, seconds: float) -> bool:
        reading, writing = ([descriptor], []) if read else ([], [descriptor])
        ready = select.select(reading, writing, [], seconds)
        return bool(ready[0] or ready[1])


class _BoundedFrameBuffer(frame_buffer):
    """Reads frames; of a payload that is over its limit, only the beginning is kept.

    What a message may occupy depends on what it is, and its headers say so at its beginning.
    """

    limit_for: Callable[[bytes], int] = staticmethod(lambda _start: 1 << 62)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._start: bytes | None = None
        self._left_to_skip = 0
        self.skipped_bytes = 0

    def recv_strict(self, bufsize: int) -> bytes:
        # The payload is the only read that can be long. A timeout may come at any point of it;
        # what has been read stays in this object for the next call.
        if bufsize <= _KEPT or self.length is None:
            return bytes(super().recv_strict(bufsize))
        if self._start is None:
            self._start = bytes(super().recv_strict(_KEPT))
            if bufsize <= self.limit_for(self._start):
                self.recv_buffer = [self._start]
            else:
                self._left_to_skip = bufsize - _KEPT
                self.skipped_bytes = bufsize - _KEPT
        if not self.skipped_bytes:
            whole = bytes(super().recv_strict(bufsize))
            self._start = None
            return whole
        while self._left_to_skip > 0:
            self._left_to_skip -= len(self.recv(min(65_536, self._left_to_skip)))
        start, self._start = self._start, None
        return start


class Connection:
    """One open WebSocket to a kernel's channels.

    Args:
        sock: connected stream to the gateway; owned from now on.
        path: of the WebSocket, beginning with ``/``.
        token: the gateway's, ``None`` when it asks for none.
        timeout: seconds the opening may take.
        limit_for: given the beginning of a payload, how many bytes it may have; of one that has
            more, only the beginning is kept.

    Raises:
        ConnectionLost: the stream ended.
        ProtocolError: the gateway refused the WebSocket.
    """

    def __init__(
        self,
        sock: TimedSocket,
        path: str,
        *,
        token: str | None,
        timeout: float,
        limit_for: Callable[[bytes], int],
    ) -> None:
        self._sock = sock
        self._send_lock = threading.Lock()
        header = [f"Authorization: token {token}"] if token else []
        # Messages come from a sandbox: what is no UTF-8 is replaced when it is decoded.
        self._ws = WebSocket(enable_multithread=False, skip_utf8_validation=True)
        self._frames = _BoundedFrameBuffer(self._ws._recv, True)
        self._frames.limit_for = limit_for
        self._ws.frame_buffer = self._frames
        vars(self._ws)["pong"] = self._pong
        sock.settimeout(timeout)
        try:
            self._ws.connect(  # type: ignore[no-untyped-call]  # the package is half typed
                f"ws://kernel{path}",
                header=header,
                subprotocols=[SUBPROTOCOL_V1],
                suppress_origin=True,
                socket=sock,
                timeout=timeout,
                redirect_limit=0,
            )
        except websocket.WebSocketBadStatusException as error:
            self.close()
            raise ProtocolError(f"the gateway refused the WebSocket: {error}") from None
        except websocket.WebSocketTimeoutException:
            self.close()
            raise ConnectionLost(f"the kernel's channels did not open in {timeout:.1f} s") from None
        except (websocket.WebSocketException, OSError) as error:
            self.close()
            raise ConnectionLost(f"the stream ended while the WebSocket opened: {error}") from None
        self.v1 = self._ws.getsubprotocol() == SUBPROTOCOL_V1

    def send(self, payload: bytes, *, binary: bool, timeout: float) -> None:
        """Send one message; may be called from another thread than :meth:`receive`.

        Args:
            payload: the message.
            binary: whether it goes into a binary frame.
            timeout: seconds it may take altogether, until giving up on a reader that does not read.
        """
        opcode = ABNF.OPCODE_BINARY if binary else ABNF.OPCODE_TEXT
        with self._send_lock:
            self._sock.send_for(timeout)
            try:
                self._ws.send(payload, opcode)
            except (websocket.WebSocketException, OSError) as error:
                raise ConnectionLost(f"the stream ended while sending: {error}") from None

    def ping(self, timeout: float = 1.0) -> None:
        """Send a ping; the gateway's event loop answers even while the kernel is busy.

        Nothing is sent where nothing is taken for ``timeout`` seconds.
        """
        with self._send_lock:
            self._sock.send_for(timeout)
            try:
                self._ws.ping()
            except websocket.WebSocketTimeoutException:
                return  # what was sent before is not taken yet: it says the same by its silence
            except (websocket.WebSocketException, OSError) as error:
                raise ConnectionLost(f"the stream ended while sending: {error}") from None

    def _pong(self, payload: bytes | str = b"") -> None:
        # In the thread that receives. Another may be sending, or the time it had may be over.
        if not self._send_lock.acquire(timeout=_PONG_SECONDS):
            return
        try:
            self._sock.send_for(_PONG_SECONDS)
            with contextlib.suppress(websocket.WebSocketTimeoutException):
                self._ws.send(payload, ABNF.OPCODE_PONG)
        finally:
            self._send_lock.release()

    def receive(self, timeout: float) -> tuple[bytes, bool, int] | None:
        """Wait for one message.

        Args:
            timeout: seconds to wait for it. A message that has begun to come is read on for half a
                second more at most.

        Returns:
            payload, whether its frame was binary, and how many bytes were skipped because it was
            over the limit; ``None`` for a control frame (a pong).

        Raises:
            WaitTimeout: no whole message came; what has come of one is kept for the next call.
            ConnectionLost: the stream ended.
        """
        self._sock.receive_for(timeout, at_most=max(timeout, _READ_ON_SECONDS))
        try:
            opcode, frame = self._ws.recv_data_frame(control_frame=True)
        except websocket.WebSocketTimeoutException:
            raise WaitTimeout from None
        except websocket.WebSocketConnectionClosedException:
            raise ConnectionLost("the stream to the kernel gateway ended") from None
        except (websocket.WebSocketException, OSError, ssl.SSLError) as error:
            raise ConnectionLost(f"the stream to the kernel gateway broke: {error}") from None
        if opcode == ABNF.OPCODE_CLOSE:
            raise ConnectionLost("the kernel gateway closed the connection")
        if opcode in (ABNF.OPCODE_PING, ABNF.OPCODE_PONG):
            return None
        skipped, self._frames.skipped_bytes = self._frames.skipped_bytes, 0
        data = frame.data
        payload = data.encode() if isinstance(data, str) else bytes(data)
        return payload, opcode == ABNF.OPCODE_BINARY, skipped

    @property
    def received(self) -> int:
        """Bytes that have come so far, those of a message that is not whole included."""
        return self._sock.received

    def close(self) -> None:
        """Close the stream at once; the gateway notices. Safe at any time."""
        self._sock.close()
