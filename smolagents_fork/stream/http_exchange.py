"""One HTTP request over an open connection, whose answer is read no further than asked for.

What follows the head of an answer may be another protocol: a program's streams, or a WebSocket.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Mapping
from typing import Any, Protocol

from ..deadline import Deadline

__all__ = ["Exchangeable", "request", "time_left"]

_PIECE_BYTES = 65_536


class Exchangeable(Protocol):
    """The part of a socket that carries a request and its answer."""

    def recv(self, size: int, /) -> bytes: ...
    def sendall(self, data: bytes, /) -> object: ...
    def settimeout(self, seconds: float, /) -> object: ...


def time_left(deadline: Deadline) -> float:
    """Return the limit of a socket's next operation; zero would mean one that does not block."""
    return max(0.001, deadline.at_most(1e6))


def request(
    sock: Exchangeable,
    method: str,
    target: str,
    *,
    host: str,
    headers: Mapping[str, str],
    deadline: Deadline,
    body: bytes | None = None,
) -> http.client.HTTPResponse:
    """Send a request; return the answer, whose body can be read. The connection stays open.

    Args:
        sock: Connection to the server.
        method: Method of the request.
        target: Path and query.
        host: Host that the request names.
        headers: sent besides.
        deadline: Deadline of the request, its answer and the answer's body.
        body: Body of the request; ``None`` for none.

    Raises:
        TimeoutError: the answer did not begin in time.
        OSError: the connection ended.
        http.client.HTTPException, ValueError: the answer is invalid.
    """
    connection: Any = http.client.HTTPConnection(host)
    connection.sock = _Connection(sock, deadline)
    connection.request(method, target, body, dict(headers))
    answer: http.client.HTTPResponse = connection.getresponse()
    return answer


class _Connection(io.RawIOBase):
    """A connection as ``http.client`` uses it."""

    def __init__(self, sock: Exchangeable, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, _mode: str) -> _Connection:
        return self

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(time_left(self._deadline))
        self._sock.sendall(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._receive(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        data = b""
        while size < 0 or len(data) < size:
            piece = self._receive(_PIECE_BYTES if size < 0 else size - len(data))
            if not piece:
                break
            data += piece
        return data

    def _receive(self, size: int) -> bytes:
        # Bytes that are there need no wait, and a hostile server may send them without end.
        if self._deadline.expired():
            raise TimeoutError("timed out")
        self._sock.settimeout(time_left(self._deadline))
        return self._sock.recv(min(size, _PIECE_BYTES))

    def close(self) -> None:
        """Leave the connection open, which ``http.client`` would close after some heads."""
