"""A byte stream into a container, over the engine's own API connection.

``docker exec`` with standard input attached turns its HTTP connection into a raw stream. A relay in
the container joins it to the kernel gateway on the container's loopback, so neither a published
port nor a network is needed, and it works wherever the engine's API does (a remote engine too).

To the container the stream is raw. From it come frames: see :mod:`.engine_frames`.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING

from ....system.forks import forget, keep_open
from .engine_frames import STDERR, Frames
from .hijacking import hijack

if TYPE_CHECKING:
    from docker.api.client import APIClient

__all__ = ["ExecStream", "exec_stream"]

_READ_BYTES = 262_144
# Bytes of standard error that are kept.
_MAX_STDERR = 8192


class ExecStream:
    """Stream of an attached ``docker exec``, with the interface of a non-blocking socket.

    Args:
        sock: the raw connection.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        keep_open((sock,))
        self._frames = Frames()
        self._ready: deque[bytes] = deque()
        #: The end of the program's standard error.
        self.stderr = b""

    def read_frames(self) -> list[tuple[int, bytes]] | None:
        """Return the parts of frames that have arrived: numbers and payloads.

        Returns:
            ``None`` at the end of the stream.

        Raises:
            BlockingIOError: no bytes have arrived.
            ConnectionResetError: the stream ended within a frame.
        """
        try:
            data = self._sock.recv(_READ_BYTES)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None
        if not data and self._frames.is_within:
            raise ConnectionResetError("it ended within a frame")
        return list(self._frames.split(data)) if data else None

    def recv(self, size: int) -> bytes:
        """Return bytes of the program's standard output; ``b""`` at the end of the stream.

        Raises:
            BlockingIOError: no bytes have arrived.
        """
        while not self._ready:
            parts = self.read_frames()
            if parts is None:
                return b""
            for number, payload in parts:
                if number == STDERR:
                    self.stderr = (self.stderr + payload)[-_MAX_STDERR:]
                else:
                    self._ready.append(payload)
        piece = self._ready.popleft()
        if len(piece) > size:
            self._ready.appendleft(piece[size:])
        return piece[:size]

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

    def shutdown(self, how: int) -> None:
        self._sock.shutdown(how)

    def close(self) -> None:
        """Close the connection; the program sees the end of its input."""
        self._sock.close()
        forget((self._sock,))

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def exec_stream(api: APIClient, exec_id: str, seconds: float) -> ExecStream:
    """Start a program that an exec was created for, and return its stream.

    Args:
        api: docker-py's low-level client.
        exec_id: Id of the exec.
        seconds: until the engine has to answer.

    Raises:
        docker.errors.APIError: the engine refuses.
        requests.RequestException: it does not answer.
    """
    body = {"Detach": False, "Tty": False}
    return ExecStream(hijack(api, f"/exec/{exec_id}/start", body=body, seconds=seconds))
