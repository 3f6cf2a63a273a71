"""Streams of the engine to programs in a container, and runs of programs over them.

``docker exec`` with standard input attached turns its HTTP connection into a raw stream. A relay in
the container joins it to the kernel gateway on the container's loopback, so neither a published
port nor a network is needed, and it works wherever the engine's API does (a remote engine too).

To the container the stream is raw. From it come frames: a header of 8 bytes (stream number,
length) and a payload, as the engine's API documents for ``attach``.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ....deadline import Deadline
from ....errors import ExecutorError
from ....system.forks import forget, keep_open
from ...containers.attached_program import read_pieces
from ..engine import mapped_errors
from .hijacking import hijack

if TYPE_CHECKING:
    from docker.api.client import APIClient

__all__ = [
    "UNFRAMED",
    "ExecStream",
    "Frames",
    "exec_stream",
    "exit_code",
    "run_lines",
]

# Number of the stream that carries standard error.
_STDERR = 2
#: Number of what is not framed as the API documents; it is passed on unchanged.
UNFRAMED = -1
# Standard input, output and error, and the engine's own messages.
_STREAMS = range(4)
_HEADER = struct.Struct(">B3sL")
_READ_BYTES = 262_144
# Bytes that are kept of a line that has not ended: a package's code may write on without an end.
_MOST_OF_LINE = 65_536
# Time the engine may take to notice the end of a program after the end of its output.
_EXIT_SECONDS = 15.0


class Frames:
    """Splits a stream into the payloads of its frames, wherever its pieces are cut."""

    def __init__(self) -> None:
        self._framed = True
        self._stream = UNFRAMED
        self._head = b""
        self._left = 0

    @property
    def is_within(self) -> bool:
        """Tell whether the stream is within a frame."""
        return bool(self._head) or self._left > 0

    def split(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield stream number and payload of each part of a frame in the next bytes."""
        at = 0
        while at < len(data):
            if not self._framed:
                yield UNFRAMED, data[at:]
                return
            if self._left:
                payload = data[at : at + self._left]
                at += len(payload)
                self._left -= len(payload)
                yield self._stream, payload
                continue
            part = data[at : at + _HEADER.size - len(self._head)]
            at += len(part)
            self._head += part
            if len(self._head) < _HEADER.size:
                return
            head, self._head = self._head, b""
            self._stream, zeros, self._left = _HEADER.unpack(head)
            if self._stream not in _STREAMS or any(zeros):
                self._framed = False
                yield UNFRAMED, head


class ExecStream:
    """Stream to a program in a container, with the interface of a non-blocking socket.

    Args:
        sock: the raw connection, which does not block.
        take_errors: takes the program's standard error.
    """

    def __init__(
        self, sock: socket.socket, take_errors: Callable[[bytes], object] = lambda _data: None
    ) -> None:
        self._sock = sock
        self._take_errors = take_errors
        self._frames = Frames()
        self._ready: deque[bytes] = deque()
        keep_open((sock,))

    def recv(self, size: int) -> bytes:
        """Return bytes of the program's standard output; ``b""`` at the end of the stream.

        Raises:
            BlockingIOError: none have arrived.
            ConnectionResetError: the stream ended within a frame.
        """
        while not self._ready:
            parts = self.read_frames()
            if parts is None:
                return b""
            for number, payload in parts:
                if number == _STDERR:
                    self._take_errors(payload)
                else:
                    self._ready.append(payload)
            # One read, since standard error may have no end. But the descriptor does not show the
            # bytes that TLS has decrypted already.
            if not self._ready and not self._has_decrypted():
                raise BlockingIOError
        piece = self._ready.popleft()
        if len(piece) > size:
            self._ready.appendleft(piece[size:])
        return piece[:size]

    def _has_decrypted(self) -> bool:
        return isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0

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
        seconds: until the engine has to answer.

    Raises:
        docker.errors.APIError: the engine refuses.
        requests.RequestException: it does not answer.
    """
    body = {"Detach": False, "Tty": False}
    return ExecStream(hijack(api, f"/exec/{exec_id}/start", body=body, seconds=seconds))


def run_lines(
    api: APIClient,
    container_id: str,
    argv: list[str],
    *,
    environment: Mapping[str, str],
    deadline: Deadline,
    line: Callable[[str], None],
) -> int:
    """Run a program without input, and pass its output on while it runs; return its exit code.

    Args:
        deadline: of the program, which runs on when it has passed.
        line: takes each line of its standard output that is not blank.

    Raises:
        ExecutorError: it took too long, or the stream broke.
    """
    with mapped_errors("running a program in the container", container=container_id[:12]):
        exec_id = str(api.exec_create(container_id, argv, environment=dict(environment))["Id"])
        stream = exec_stream(api, exec_id, api.timeout)
    rest = b""
    for data in read_pieces(stream, deadline=deadline):
        *lines, rest = (rest + data).split(b"\n")
        rest = rest[-_MOST_OF_LINE:]
        for text in lines:
            _pass_on(text, line)
    _pass_on(rest, line)
    return exit_code(api, container_id, exec_id)


def _pass_on(text: bytes, line: Callable[[str], None]) -> None:
    written = text.decode("utf-8", "replace").rstrip()
    if written:
        line(written)


def exit_code(api: APIClient, container_id: str, exec_id: str) -> int:
    """Return the exit code of a program whose output has ended.

    The engine notices that end separately from the output's, and mostly later. At first it may
    report that the program runs and has no exit code.

    Raises:
        ExecutorError: the engine did not report its end in time, so the output may be incomplete.
    """
    end = time.monotonic() + _EXIT_SECONDS
    pause = 0.002
    while True:
        with mapped_errors("asking for an exit code", container=container_id[:12]):
            report = api.exec_inspect(exec_id)
        if report["ExitCode"] is not None and not report.get("Running"):
            return int(report["ExitCode"])
        if time.monotonic() > end:
            raise ExecutorError(
                "the stream to a program in the container has ended, and the engine did not report "
                f"the program's end in {_EXIT_SECONDS:g} s"
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
