"""WebSocket on an existing socket, with a limit on the memory of one message.

``websocket-client`` opens the connection. The reader of frames is our own, for three reasons. A
payload over its limit is skipped instead of stored; its first bytes are kept to identify the
message. A long payload is read to its place, without a copy: at 20 MB, that is half the processor
time of a parser that takes bytes. Every call that sends or receives takes its time limit in
seconds. Errors are mapped to three of our own: the stream ended, nothing came in time, the gateway
violates the protocol.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

import websocket
from websocket import ABNF, WebSocket

from ..errors import ProtocolError, SandboxDiedError
from ..system.forks import forget, keep_open
from .wire import SUBPROTOCOL_V1, size_of_v1

__all__ = [
    "Connection",
    "ConnectionClosed",
    "ConnectionLost",
    "SendTimeout",
    "SocketLike",
    "TimedSocket",
    "WaitTimeout",
]

# Bytes kept of an over-long payload: enough for the table of offsets and both headers.
_KEPT = 16_384
# Bytes of one read of a long payload, and the length from which a payload is sent as it is.
_LONG = 65_536
# Bytes of the longest head of a frame without a mask.
_HEAD = 10
# Factor by which the memory of a long payload grows.
_GROWTH = 16
# Time limit for reading data that has already arrived, when there is no time to wait.
_READ_ON_SECONDS = 0.5
# How often a wait for a reader looks whether it is to end, and how long it may go on then.
_STOP_POLL_SECONDS = 0.1
_STOP_SECONDS = 1.0
# Header with the number of messages that its sender has received, and the payload of a pong that
# acknowledges them.
_RECEIVED_HEADER = "Received-Messages"
_COUNT = struct.Struct("!Q")
_RECEIVED = re.compile("[0-9]{1,15}")
# Time limit for sending the answer to a ping; after that it is omitted.
_PONG_SECONDS = 0.1


_Read = TypeVar("_Read", bytes, int)


class ConnectionLost(SandboxDiedError):
    """The stream was closed by the other end; the executor determines the cause."""


class ConnectionClosed(ConnectionLost):
    """The other end has ended the conversation, with a frame that says so."""


class SendTimeout(ConnectionLost):
    """The other end did not read a message in time; no other is sent after a part of it."""


class WaitTimeout(Exception):
    """Nothing was received within the time limit."""


class SocketLike(Protocol):
    """The subset of ``socket.socket`` that a stream must provide. Non-blocking."""

    def recv(self, size: int, /) -> bytes: ...
    def send(self, data: bytes | memoryview, /) -> int: ...
    def fileno(self) -> int: ...
    def setblocking(self, flag: bool, /) -> None: ...
    def close(self) -> None: ...


class TimedSocket:
    """Socket with a time limit per direction, so that two threads can use it at once.

    ``socket.settimeout`` sets one limit for both directions. A thread that sends an interrupt would
    change the limit of the thread that waits for output. That limit also restarts with every byte,
    so a sandbox that sends or reads a byte now and then could prolong a wait forever.
    """

    def __init__(self, sock: SocketLike) -> None:
        sock.setblocking(False)
        self._sock = sock
        keep_open((sock,))
        # Serialises calls: an OpenSSL connection allows one thread at a time, and the descriptor
        # of a socket that another thread closed may be reused. Released during waits.
        self._use = threading.RLock()
        self._receive_seconds = 0.0
        self._receive_end = self._send_end = 0.0
        self._stop: Callable[[], bool] | None = None
        #: Bytes received so far.
        self.received = 0

    def receive_for(self, seconds: float, at_most: float) -> None:
        """Set the deadlines of the next receive operations.

        Args:
            seconds: longest wait for the next byte.
            at_most: longest time in total, however many bytes arrive.
        """
        self._receive_seconds = seconds
        self._receive_end = time.monotonic() + at_most

    def send_for(self, seconds: float, stop: Callable[[], bool] | None = None) -> None:
        """Set the deadline of the next send operations.

        Args:
            seconds: in total.
            stop: returns whether they are to end in a second.
        """
        self._send_end = time.monotonic() + seconds
        self._stop = stop

    def recv(self, size: int) -> bytes:
        data = self._read(lambda: self._sock.recv(size))
        self.received += len(data)
        return data

    def recv_into(self, target: memoryview) -> int:
        """Read bytes to a place, which some streams do without a copy; return their number."""
        read = getattr(self._sock, "recv_into", None)
        if read is None:
            data = self.recv(len(target))
            target[: len(data)] = data
            return len(data)
        count: int = self._read(lambda: read(target))
        self.received += count
        return count

    def _read(self, read: Callable[[], _Read]) -> _Read:
        while True:
            left = self._receive_end - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            try:
                with self._use:
                    return read()
            except (BlockingIOError, ssl.SSLWantReadError):
                self._wait(read=True, seconds=min(self._receive_seconds, left))
            except ValueError:  # closed by another thread
                raise ConnectionResetError("the stream has been closed") from None

    def send(self, data: bytes | memoryview) -> int:
        while True:
            left = self._send_end - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            try:
                with self._use:
                    return self._sock.send(data)
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait_for_reader(left)

    def _wait_for_reader(self, left: float) -> None:
        if self._stop is None:
            self._wait(read=False, seconds=left)
            return
        if self._stop():
            self._stop = None
            self._send_end = min(self._send_end, time.monotonic() + _STOP_SECONDS)
            return
        with contextlib.suppress(TimeoutError):
            self._wait(read=False, seconds=min(left, _STOP_POLL_SECONDS))

    def sendall(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            view = view[self.send(view[:1_048_576]) :]

    def gettimeout(self) -> float:
        # Makes websocket-client leave the waiting to recv() and send() above.
        return 0

    def settimeout(self, seconds: float | None) -> None:
        """Set the limit of both directions; used only before the first message."""
        seconds = 1e6 if seconds is None else seconds
        self.receive_for(seconds, at_most=seconds)
        self.send_for(seconds)

    def fileno(self) -> int:
        return self._sock.fileno()

    def setsockopt(self, *_: Any) -> None:
        """Do nothing: the creator of the socket has set its options."""

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
        forget((self._sock,))

    def _wait(self, *, read: bool, seconds: float) -> None:
        descriptor = self._sock.fileno()
        if descriptor < 0:
            raise ConnectionResetError("the stream has been closed")
        # Without time left there is no wait: the shortest one takes a millisecond.
        if seconds <= 0 or not _wait_for(descriptor, read=read, seconds=seconds):
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


class _LongMessage:
    """Message that is long or arrives in fragments; only the beginning of one over its limit.

    Its place grows with what arrives: the other end may only claim to send so much.

    Args:
        first: first byte of its first frame.
        limit_for: returns the size limit from the beginning.
    """

    def __init__(self, first: int, limit_for: Callable[[bytes], int]) -> None:
        self.first = first
        self.place = bytearray(_KEPT)
        #: Bytes at the place, and bytes that were skipped.
        self.size = self.skipped = 0
        self.over_limit = False
        self._limit_for = limit_for
        self._limit: int | None = None

    def make_room(self, left: int) -> None:
        """Make room at the place, or find that the message is over its limit.

        Args:
            left: bytes that are left of the frame.
        """
        if self.size < len(self.place) or self.over_limit:
            return
        if self._limit is None:
            self._limit = self._limit_for(bytes(self.place))
        if self.size + left > self._limit:
            self.over_limit = True
            self.skipped, self.size = self.size - _KEPT, _KEPT
            self.place = self.place[:_KEPT]
            return
        expected = min(max(self.size + left, size_of_v1(self.place)), self._limit)
        larger = bytearray(min(expected, _GROWTH * len(self.place)))
        larger[: self.size] = self.place
        self.place = larger

    def whole(self) -> bytearray:
        """Return the payload."""
        del self.place[self.size :]
        return self.place


class _WebSocketFrame(NamedTuple):
    """A message or a control frame.

    Attributes:
        opcode: its type (RFC 6455, section 5.2).
        payload: its content.
        skipped: number of bytes that the message had over its limit.
    """

    opcode: int
    payload: bytes | bytearray
    skipped: int = 0


class _InvalidFrame(Exception):
    """The gateway sent a frame that violates the protocol."""


class _WebSocketReader:
    """Reader of messages that keeps only the beginning of a payload over its limit.

    The limit depends on the type of the message, which the headers at its beginning give. A read
    takes whatever has arrived, so that a short message is one read. A timeout may occur at any
    point: what was read stays in this object for the next call.

    Args:
        sock: that it reads from.
        limit_for: returns the size limit of a message from its beginning.
    """

    def __init__(self, sock: TimedSocket, limit_for: Callable[[bytes], int]) -> None:
        self._sock, self._limit_for = sock, limit_for
        self._unread = bytearray()
        # First byte of the frame that is being read, and the number of bytes of it that are left.
        self._first: int | None = None
        self._left = 0
        self._long: _LongMessage | None = None

    def read(self) -> _WebSocketFrame:
        """Return the next message or control frame (RFC 6455, section 5.2).

        The gateway sends a long message in fragments, between which control frames may come.

        Raises:
            ConnectionClosed: it is the frame that closes the connection.
            TimeoutError: it has not arrived in time.
            EOFError: the stream ended.
            OSError: it broke.
            _InvalidFrame: it violates the protocol.
        """
        while True:
            if self._first is None:
                self._first, self._left = self._read_head()
            first, long = self._first, self._long
            if first & 8 or (long is None and first & 0x80 and self._left <= _KEPT):
                self._fill(self._left)
                self._first = None
                payload = bytes(self._take(self._left))
                if first & 0xF == ABNF.OPCODE_CLOSE:
                    raise ConnectionClosed(_close_reason(payload))
                return _WebSocketFrame(first & 0xF, payload)
            if long is None:
                long = self._long = _LongMessage(first, self._limit_for)
            while self._left:
                self._left -= self._read_some(long, self._left)
            self._first = None
            if first & 0x80:
                self._long = None
                return _WebSocketFrame(long.first & 0xF, long.whole(), long.skipped)

    def _read_some(self, long: _LongMessage, left: int) -> int:
        """Read bytes of a long message to their place, or skip them; return their number."""
        long.make_room(left)
        if long.over_limit:
            count = len(self._piece(left))
            long.skipped += count
        else:
            with memoryview(long.place) as place:
                count = self._piece_into(place[long.size : long.size + left])
            long.size += count
        return count

    def _read_head(self) -> tuple[int, int]:
        self._fill(2)
        first, length = self._unread[:2]
        if length & 0x80:
            raise _InvalidFrame("a frame from the gateway has a mask")
        if first & 0x70 or first & 0xF not in ABNF.OPCODES:
            raise _InvalidFrame(f"a frame from the gateway begins with 0x{first:02x}")
        size = 2
        if length >= 126:
            size, layout = (4, "!H") if length == 126 else (10, "!Q")
            self._fill(size)
            (length,) = struct.unpack_from(layout, self._unread, 2)
        if first & 8:
            if length > 125:
                raise _InvalidFrame("a control frame from the gateway is long")
            if not first & 0x80:
                raise _InvalidFrame("a control frame from the gateway is a fragment")
        elif (first & 0xF == ABNF.OPCODE_CONT) != (self._long is not None):
            raise _InvalidFrame("a fragment from the gateway without its beginning or end")
        del self._unread[:size]
        return first, length

    def _piece_into(self, target: memoryview) -> int:
        if self._unread:
            unread = self._take(len(target))
            target[: len(unread)] = unread
            return len(unread)
        count = self._sock.recv_into(target)
        if not count:
            raise EOFError
        return count

    def _fill(self, size: int) -> None:
        while len(self._unread) < size:
            # Within a message, what follows a head is read to its place.
            self._unread += self._receive(_LONG if self._long is None else _HEAD)

    def _receive(self, size: int) -> bytes:
        data = self._sock.recv(size)
        if not data:
            raise EOFError
        return data

    def _take(self, size: int) -> bytearray:
        taken = self._unread[:size]
        del self._unread[:size]
        return taken

    def _piece(self, size: int) -> bytes | bytearray:
        if self._unread:
            return self._take(size)
        return self._receive(min(_LONG, size))


class Connection:
    """Open WebSocket to a kernel's channels.

    Args:
        sock: connected stream to the gateway, which this object owns and closes.
        path: path of the WebSocket, beginning with ``/``.
        token: the gateway's token; ``None`` if it needs none.
        timeout: seconds for opening the WebSocket.
        limit_for: returns the size limit of a payload from its beginning. Only the beginning of a
            longer payload is kept.
        received: number of messages that the client has received over earlier connections, 0 for
            the first; ``None`` for a client that acknowledges no messages.
        host: that the request names.
        headers: sent with the request besides; may be secret.

    Attributes:
        peer_received: number of messages that the other end has received of this client, as it
            last said; ``None`` if it acknowledges none.

    Raises:
        ConnectionLost: the stream ended.
        ProtocolError: the gateway refused the WebSocket, its answer is invalid, or it has another
            layout of messages.
    """

    #: Whether another connection takes the place of this one; see :mod:`.resumption`.
    lost = False

    def __init__(
        self,
        sock: TimedSocket,
        path: str,
        *,
        token: str | None,
        timeout: float,
        limit_for: Callable[[bytes], int],
        received: int | None = None,
        host: str = "localhost",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._sock = sock
        self._send_lock = threading.Lock()
        # Size of a message of which only a part was sent.
        self._stalled = 0
        # Not by the package's own argument: its error about another answer does not name the cause.
        header = [f"Sec-WebSocket-Protocol: {SUBPROTOCOL_V1}"]
        if token:
            header.append(f"Authorization: token {token}")
        if received is not None:
            header.append(f"{_RECEIVED_HEADER}: {received}")
        header += [f"{name}: {value}" for name, value in headers.items()]
        self._frames = _WebSocketReader(sock, limit_for)
        opening = WebSocket(enable_multithread=False)
        sock.settimeout(timeout)
        try:
            opening.connect(  # type: ignore[no-untyped-call]  # the package is half typed
                f"ws://{host}{path}",
                header=header,
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
        except (websocket.WebSocketConnectionClosedException, OSError) as error:
            self.close()
            raise ConnectionLost(f"the stream ended while the WebSocket opened: {error}") from None
        except Exception as error:
            # Not every version of the package has an error of its own for an invalid answer.
            self.close()
            raise ProtocolError(
                f"the gateway's answer to the request for a WebSocket is invalid: {error}"
            ) from None
        headers = opening.getheaders() or {}
        chosen = str(headers.get("sec-websocket-protocol", ""))
        if chosen != SUBPROTOCOL_V1:
            self.close()
            raise ProtocolError(
                f"the gateway does not speak {SUBPROTOCOL_V1}, but "
                f"{chosen or 'the layout without a name'}: use jupyter-server 2 or later, whose "
                "kernel_ws_protocol names it by default"
            )
        count = str(headers.get(_RECEIVED_HEADER.lower(), ""))
        self.peer_received = int(count) if _RECEIVED.fullmatch(count) else None

    def send(
        self,
        pieces: Sequence[bytes | memoryview],
        *,
        timeout: float,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        """Send one message; may be called from another thread than :meth:`receive`.

        Args:
            pieces: of the message; long ones are not copied.
            timeout: seconds in total, in case the other end does not read.
            stop: returns whether the other end has only a second more to read it.

        Raises:
            SendTimeout: it did not read this message in time, or an earlier one.
            ConnectionLost: the stream ended.
        """
        size = sum(map(len, pieces))
        header = _frame_header(size)
        with self._send_lock:
            if self._stalled:
                raise SendTimeout(f"the other end did not read {self._stalled} bytes in time")
            self._sock.send_for(timeout, stop)
            try:
                for data in _writes([header, *pieces]):
                    self._sock.sendall(data)
            except TimeoutError:
                self._stalled = size
                raise SendTimeout(f"the other end did not read {size} bytes in time") from None
            except OSError as error:
                raise ConnectionLost(
                    f"the stream ended while a message of {size} bytes was sent: {error}"
                ) from None

    def ping(self, timeout: float = 1.0) -> None:
        """Send a ping; the gateway's event loop answers even while the kernel is busy.

        The ping is omitted if another thread sends, or if the stream accepts no data, for
        ``timeout`` seconds. Silence is noticed anyway.
        """
        self._send_control(ABNF.OPCODE_PING, b"", timeout)

    def acknowledge(self, count: int) -> bool:
        """Tell the other end how many messages have been received; return whether it is told.

        It is not while another thread sends, or where the stream accepts no data.

        Args:
            count: over this connection and earlier ones.

        Raises:
            ConnectionLost: the stream ended.
        """
        return self._send_control(ABNF.OPCODE_PONG, _COUNT.pack(count), _PONG_SECONDS)

    def _send_control(self, opcode: int, payload: bytes, timeout: float) -> bool:
        """Send a control frame unless another thread sends, or the stream accepts no data."""
        if not self._send_lock.acquire(timeout=timeout):
            return False
        try:
            if self._stalled:
                return False
            self._sock.send_for(timeout)
            self._sock.sendall(ABNF.create_frame(payload, opcode).format())
        except TimeoutError:
            return False
        except OSError as error:
            raise ConnectionLost(f"the stream ended while sending: {error}") from None
        finally:
            self._send_lock.release()
        return True

    def lose(self, reason: str) -> None:
        """Give the connection up.

        Args:
            reason: for which the other end counts as out of reach.

        Raises:
            ConnectionLost: always, because no other connection takes the place of this one.
        """
        raise ConnectionLost(reason)

    def receive(self, timeout: float) -> tuple[bytes | bytearray, int] | None:
        """Wait for one message.

        Args:
            timeout: seconds to wait. Reading a message that has begun to arrive takes at most half
                a second more.

        Returns:
            payload, and the number of bytes skipped because it was over the limit; ``None`` for a
            control frame (a ping, which is answered, or a pong).

        Raises:
            WaitTimeout: no complete message arrived; a partial one is kept for the next call.
            ConnectionLost: the stream ended.
            ConnectionClosed: the gateway closed the connection.
        """
        self._sock.receive_for(timeout, at_most=max(timeout, _READ_ON_SECONDS))
        try:
            opcode, payload, skipped = self._frames.read()
        except TimeoutError:
            raise WaitTimeout from None
        except EOFError:
            raise ConnectionLost("the stream to the kernel gateway ended") from None
        except (OSError, _InvalidFrame) as error:
            raise ConnectionLost(f"the stream to the kernel gateway broke: {error}") from None
        if opcode == ABNF.OPCODE_PING:
            self._send_control(ABNF.OPCODE_PONG, bytes(payload), _PONG_SECONDS)
            return None
        if opcode == ABNF.OPCODE_PONG:
            if len(payload) == _COUNT.size:
                (self.peer_received,) = _COUNT.unpack(payload)
            return None
        return payload, skipped

    @property
    def received(self) -> int:
        """Bytes received so far, including those of an incomplete message."""
        return self._sock.received

    def close(self) -> None:
        """Close the stream at once; the gateway detects that. Safe at any time."""
        self._sock.close()


def _close_reason(payload: bytes) -> str:
    """Explain a frame that closes the connection (RFC 6455, section 5.5.1), valid or not."""
    if not payload:
        return "the kernel gateway closed the connection without a status"
    if len(payload) == 1:
        return "the kernel gateway closed the connection with half a status"
    (status,) = struct.unpack_from("!H", payload)
    reason = payload[2:].decode("utf-8", "replace")
    return f"the kernel gateway closed the connection with status {status}" + (
        f": {reason!r}" if reason else ""
    )


def _frame_header(size: int) -> bytes:
    """Return the header of a binary message in one frame (RFC 6455, section 5.2), masked by zeros.

    Masks keep a page's script from choosing the bytes that a proxy reads. Here no proxy reads them,
    and a mask of zeros, with which the payload stays as it is, is as valid as any other.
    """
    first = 0x80 | ABNF.OPCODE_BINARY
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    return head + bytes(4)


def _writes(pieces: Sequence[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """Join short pieces, so that a short message is one write; yield long ones as they are."""
    short: list[bytes | memoryview] = []
    for piece in pieces:
        if len(piece) < _LONG:
            short.append(piece)
            continue
        if short:
            yield b"".join(short)
            short = []
        yield piece
    if short:
        yield b"".join(short)
