"""A byte stream into a container, over the engine's own API connection.

``docker exec`` with standard input attached turns its HTTP connection into a raw stream. A relay in
the container joins it to the kernel gateway on the container's loopback, so neither a published
port nor a network is needed, and it works wherever the engine's API does (a remote engine too).

To the container the stream is raw. From it come frames of an 8-byte header (stream number, length)
and a payload, as the engine's API documents for ``attach``.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from typing import TYPE_CHECKING, Any

from ....forks import forget, keep_open
from .hijacking import hijack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker.api.client import APIClient

    from ....first_process_link import FirstProcess
    from .log_tail import Tail

__all__ = [
    "STDERR",
    "AttachedConnection",
    "ExecStream",
    "exec_stream",
    "frames",
    "start_exec",
]

_HEADER = struct.Struct(">BxxxL")
# Windows' ERROR_BROKEN_PIPE: the other end of a named pipe has been closed.
_PIPE_ENDED = 109
# Number of the stream that carries standard error.
STDERR = 2
_MAX_STDERR = 8192


class ExecStream:
    """Stream of an attached ``docker exec``, with the interface of a non-blocking socket.

    Args:
        sock: the raw connection.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        keep_open((sock,))
        # Bytes that were read, and the number of those that are taken from them.
        self._raw = b""
        self._at = 0
        self._left_in_frame = 0
        self._frame_stream = 0
        self.stderr = b""
        #: Whether the stream has ended within a frame.
        self.cut_short = False

    def recv(self, size: int) -> bytes:
        """Return bytes of the program's standard output; ``b""`` at the end of the stream.

        Raises:
            BlockingIOError: no bytes have arrived.
        """
        while self._left_in_frame or self._begin_frame():
            if self._at == len(self._raw):
                self._raw, self._at = self._read(262_144), 0
                if not self._raw:
                    self.cut_short = True
                    return b""
            wanted = self._left_in_frame
            if self._frame_stream != STDERR:
                wanted = min(wanted, size)
            piece = self._raw[self._at : self._at + wanted]
            self._at += len(piece)
            self._left_in_frame -= len(piece)
            if self._frame_stream != STDERR:
                return piece
            self.stderr = (self.stderr + piece)[-_MAX_STDERR:]
        return b""

    def _begin_frame(self) -> bool:
        """Read the header of the next frame that is not empty; return whether there is one."""
        while not self._left_in_frame:
            left = self._raw[self._at : self._at + _HEADER.size]
            if len(left) >= _HEADER.size:
                self._frame_stream, self._left_in_frame = _HEADER.unpack_from(left)
                self._at += _HEADER.size
                continue
            more = self._read(262_144)
            self._raw, self._at = left + more if more else b"", 0
            if not more:
                self.cut_short |= len(left) > 0
                return False
        return True

    def _read(self, size: int) -> bytes:
        try:
            return self._sock.recv(size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, data: bytes | memoryview) -> int:
        """Send bytes to the program's standard input; return the number of bytes sent.

        Raises:
            BlockingIOError: none can be sent now.
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
        """End the program's standard input, except over TLS.

        Python's TLS cannot end one direction: the other would be read without decryption. So a
        program must know the length of its input.
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
        forget((self._sock,))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class AttachedConnection:
    """A connection that is kept open and never used, of any type.

    Args:
        attached: its socket, or docker-py's object for one that is not a socket.
    """

    #: The end of its output, if that is read: see the log_reader module.
    tail: Tail | None = None
    #: The first process of its container, if that is spoken to.
    first_process: FirstProcess | None = None

    def __init__(self, attached: Any) -> None:
        self._connection: Any = attached
        keep_open((attached,))

    def close(self) -> None:
        """Close it. Idempotent, at any time."""
        connection, self._connection = self._connection, None
        with contextlib.suppress(Exception):
            connection.close()
        forget((connection,))

    def __del__(self) -> None:
        self.close()


def exec_stream(api: APIClient, exec_id: str) -> ExecStream:
    """Start a program that an exec was created for, and return its stream.

    Args:
        api: docker-py's low-level client.
        exec_id: Id of the exec.

    Raises:
        StreamUnsupported: the engine is not reached by sockets; the program has not been started.
        docker.errors.APIError: the engine refuses.
        requests.RequestException: it does not answer.
    """
    return ExecStream(start_exec(api, exec_id))


def start_exec(api: APIClient, exec_id: str) -> socket.socket:
    """Start a program as :func:`exec_stream` does; return the socket of its stream."""
    body = {"Detach": False, "Tty": False}
    return hijack(api, f"/exec/{exec_id}/start", body=body, seconds=api.timeout)


def frames(connection: Any) -> Iterator[tuple[int, bytes]]:
    """Yield stream number and payload of each frame, waiting without a limit.

    Args:
        connection: a socket, or docker-py's object for one that is not a socket.

    Raises:
        EOFError: the stream ended within a frame.
    """
    connection.settimeout(None)
    while head := _read(connection, _HEADER.size):
        number = size = 0
        payload = b""
        if len(head) == _HEADER.size:
            number, size = _HEADER.unpack(head)
            payload = _read(connection, size)
        if len(head) < _HEADER.size or len(payload) < size:
            raise EOFError(
                f"{len(head)} bytes of a frame's head came, {len(payload)} of its {size}"
            )
        yield number, payload


def _read(connection: Any, size: int) -> bytes:
    """Read ``size`` bytes, or fewer at the end; a named pipe may end in an error."""
    found = bytearray()
    while len(found) < size:
        try:
            piece = connection.recv(size - len(found))
        except Exception as error:
            # pywintypes.error, which exists on Windows only; docker-py treats it as the end, too.
            if error.args[:1] != (_PIPE_ENDED,):
                raise
            break
        if not piece:
            break
        found += piece
    return bytes(found)
