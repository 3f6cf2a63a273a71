"""A byte stream into a container, over the engine's own API connection.

``docker exec`` with standard input attached turns its HTTP connection into a raw stream. A relay in
the container joins it to the kernel gateway on the container's loopback, so neither a published
port nor a network is needed, and it works wherever the engine's API does (a remote engine too).

Towards the container the stream is raw; what comes back is cut into frames of an 8-byte header
(stream number, length) and a payload, as the engine's API documents for ``attach``.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .log_tail import Tail

__all__ = [
    "RELAY",
    "STDERR",
    "AttachedConnection",
    "ExecStream",
    "StreamUnsupported",
    "exec_stream",
    "frames",
    "plain_socket",
]

# Runs in the container as: python3 -I -S -c RELAY port seconds. It tries to connect for the seconds
# given (the gateway may still be starting), then copies both ways until one side ends. Neither way
# waits for the other: the host sends a large value without reading what the code prints meanwhile.
# What the gateway said before it ended is passed on to the end.
RELAY = """
import os,select,socket,sys,time
end=time.monotonic()+float(sys.argv[2])
while 1:
    try: s=socket.create_connection(("127.0.0.1",int(sys.argv[1])));break
    except OSError:
        if time.monotonic()>end: sys.exit("relay: the kernel gateway does not listen on port "+sys.argv[1])
        time.sleep(.005)
s.setsockopt(socket.IPPROTO_TCP,socket.TCP_NODELAY,1)
g=s.fileno()
for f in 0,1,g: os.set_blocking(f,False)
ways=[(0,g,bytearray()),(g,1,bytearray())]
told=ways[1][2]
ended=False
while told or not ended:
    r=[f for f,_,held in ways if len(held)<65536 and not (ended and f==g)]
    r,w,_=select.select(r,[t for _,t,held in ways if held],[])
    for f,t,held in ways:
        if f in r:
            try: b=os.read(f,65536)
            except BlockingIOError: continue
            except OSError: b=b""
            if not b and f==0: sys.exit()
            ended=ended or not b
            held+=b
        if held and (f in r or t in w):
            try: del held[:os.write(t,held)]
            except BlockingIOError: pass
            except OSError:
                if t==1: sys.exit()
                held.clear()
"""  # noqa: E501 - sent as it is

_HEADER = struct.Struct(">BxxxL")
# Windows' ERROR_BROKEN_PIPE: the other end of a named pipe has been closed.
_PIPE_ENDED = 109
# What is open, so that garbage collection finds it by its owner only: of an executor in a cycle, as
# every agent's is, it could take the socket first, which Python tells as one that nobody closed.
_open: set[Any] = set()
# Number of the stream that carries standard error.
STDERR = 2
_MAX_STDERR = 8192


class StreamUnsupported(Exception):
    """This connection to the engine cannot be used as a raw stream (a Windows named pipe, say)."""


class ExecStream:
    """The container's end of an attached ``docker exec``, as a non-blocking socket.

    Args:
        sock: the raw connection the engine handed over.
        leftover: bytes of the stream that were read along with the HTTP response.
        response: the HTTP response that owns the connection, closed with it.
    """

    def __init__(self, sock: socket.socket, leftover: bytes = b"", response: object = None) -> None:
        self._sock = sock
        _open.add(sock)
        self._response = response
        self._raw = leftover
        self._data: deque[bytes] = deque()
        self._left_in_frame = 0
        self._frame_stream = 0
        self.stderr = b""
        #: Whether the stream has ended within a frame.
        self.cut_short = False

    def recv(self, size: int) -> bytes:
        """Bytes of the container's standard output; ``b""`` at the end of the stream.

        Raises:
            BlockingIOError: nothing has come.
        """
        while not self._data:
            if not self._raw:
                self._raw = self._read(262_144)
                if not self._raw:
                    self.cut_short |= self._left_in_frame > 0
                    return b""
            self._take()
        piece = self._data[0]
        if len(piece) <= size:
            return self._data.popleft()
        self._data[0] = piece[size:]
        return piece[:size]

    def _take(self) -> None:
        """Move what ``_raw`` holds to where it belongs, as far as it goes."""
        raw = self._raw
        if self._left_in_frame == 0:
            if len(raw) < _HEADER.size:
                more = self._read(65_536)
                if not more:
                    self._raw = b""
                    self.cut_short = True
                    return
                self._raw = raw + more
                return
            self._frame_stream, self._left_in_frame = _HEADER.unpack_from(raw)
            raw = raw[_HEADER.size :]
        piece, self._raw = raw[: self._left_in_frame], raw[self._left_in_frame :]
        self._left_in_frame -= len(piece)
        if self._frame_stream == STDERR:
            self.stderr = (self.stderr + piece)[-_MAX_STDERR:]
        elif piece:
            self._data.append(piece)

    def _read(self, size: int) -> bytes:
        try:
            return self._sock.recv(size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, data: bytes) -> int:
        """Bytes for the container's standard input; how many of them were taken.

        Raises:
            BlockingIOError: none can be taken now.
        """
        try:
            return self._sock.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def fileno(self) -> int:
        return self._sock.fileno()

    def setblocking(self, flag: bool) -> None:
        self._sock.setblocking(flag)

    def settimeout(self, seconds: float | None) -> None:
        self._sock.settimeout(seconds)

    def end_input(self) -> None:
        """Tell the container's program that its standard input has ended, where that can be told.

        Python's TLS has no end of one way only: what came the other way would be read undecrypted.
        A program must know itself where its input ends.
        """
        if isinstance(self._sock, ssl.SSLSocket):
            return
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def shutdown(self, how: int) -> None:
        self._sock.shutdown(how)

    def close(self) -> None:
        """Close the connection; the relay sees the end of its input and exits."""
        self._sock.close()
        _open.discard(self._sock)
        close = getattr(self._response, "close", None)
        if close is not None:
            with contextlib.suppress(Exception):
                close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class AttachedConnection:
    """A connection that is kept open and never used; any kind the engine hands over will do.

    Args:
        handed_over: what docker-py returns for a connection it has given up.
    """

    #: The end of what comes out of it, where that is read: see the log_reader module.
    tail: Tail | None = None

    def __init__(self, handed_over: Any) -> None:
        self._held: Any = handed_over
        _open.add(handed_over)

    def close(self) -> None:
        """Close it. Safe at any time."""
        held, self._held = self._held, None
        parts: list[Any] = [getattr(held, name, None) for name in ("_response", "_sock")]
        for part in (*parts, held):
            with contextlib.suppress(Exception):
                part.close()
        _open.discard(held)

    def __del__(self) -> None:
        self.close()


def exec_stream(handed_over: Any) -> ExecStream:
    """The stream behind what docker-py returns for ``exec_start(..., socket=True)``.

    Raises:
        StreamUnsupported: there is no plain socket under it.
    """
    return ExecStream(*plain_socket(handed_over))


def frames(handed_over: Any) -> Iterator[tuple[int, bytes]]:
    """Stream number and payload of each frame, waited for without a limit.

    From the HTTP client's reader, whatever kind of connection is under it, and not from that
    connection: an answer of a few bytes may have been read along with the response's head, and
    would be lost. docker-py's own iterator loses it.

    Args:
        handed_over: what docker-py returned for ``exec_start(..., socket=True)``.

    Raises:
        EOFError: the stream ended within a frame.
    """
    parts: list[Any] = [handed_over, getattr(handed_over, "_sock", None)]
    for part in parts:
        if hasattr(part, "settimeout"):
            part.settimeout(None)
    reader = handed_over._response.raw._fp.fp
    while head := _read(reader, _HEADER.size):
        number = size = 0
        payload = b""
        if len(head) == _HEADER.size:
            number, size = _HEADER.unpack(head)
            payload = _read(reader, size)
        if len(head) < _HEADER.size or len(payload) < size:
            raise EOFError(
                f"{len(head)} bytes of a frame's head came, {len(payload)} of its {size}"
            )
        yield number, payload


def _read(reader: Any, size: int) -> bytes:
    """So many bytes, or what there is before the end; a named pipe may end in an error."""
    # Where there is a choice, no more than one read below the buffer at a time: what came before
    # the error would be lost with it.
    take = getattr(reader, "read1", reader.read)
    found = bytearray()
    while len(found) < size:
        try:
            piece = take(size - len(found))
        except Exception as error:
            # pywintypes.error, which there is on Windows only; docker-py takes it for the end, too.
            if error.args[:1] != (_PIPE_ENDED,):
                raise
            break
        if not piece:
            break
        found += piece
    return bytes(found)


def plain_socket(handed_over: Any) -> tuple[socket.socket, bytes, Any]:
    """The non-blocking socket behind a connection that docker-py has given up.

    The HTTP client may have read past the response's head into the stream; that is kept.

    Args:
        handed_over: what docker-py returned.

    Returns:
        the socket, what was read of its stream already, and the response that owns it.

    Raises:
        StreamUnsupported: there is no plain socket under it.
    """
    response = getattr(handed_over, "_response", None)
    try:
        reader = response.raw._fp.fp  # type: ignore[union-attr]  # checked by the except
        sock = reader.raw._sock
    except AttributeError:
        reader = sock = None
    if not isinstance(sock, socket.socket):
        raise StreamUnsupported("this connection to the engine is not a plain socket")
    sock.setblocking(False)
    leftover = b""
    with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
        waiting = len(reader.peek(1))
        leftover = reader.read1(waiting) if waiting else b""
    return sock, leftover, response
