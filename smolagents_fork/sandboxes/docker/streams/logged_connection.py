"""Connection to a container's main process: its lease, its first process, the end of its output.

The engine removes a container that ends by itself, and its log with it, mostly before the log can
be read. So the connection to its standard input carries its output, too. The engine buffers about a
megabyte of output that is not read; then the container's writes block.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable

from ....errors import ExecutorStartError
from ....system.forks import forget, keep_open
from ...lease_keeper import Lease
from .engine_frames import STDOUT, Frames
from .log_tail import Tail

__all__ = ["LoggedConnection"]

_READ_BYTES = 262_144
_NOT_READY = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class _AttachedStream:
    """One attachment to a container.

    Args:
        sock: its socket, which does not block.
        tail: takes what the container's other processes print.
    """

    #: Messages are short, and what a connection cannot take is that of a hanging engine.
    unsent = False

    def __init__(self, sock: socket.socket, tail: Tail) -> None:
        self._sock, self._tail = sock, tail
        self._frames = Frames()
        keep_open((sock,))

    def fileno(self) -> int:
        return self._sock.fileno()

    def receive(self) -> bytes | None:
        """Return the first process's output that has arrived; see :class:`.LeaseStream`."""
        output = bytearray()
        while True:
            try:
                data = self._sock.recv(_READ_BYTES)
            except _NOT_READY:
                return bytes(output)
            if not data:
                return None
            for number, payload in self._frames.split(data):
                if number == STDOUT:
                    output += payload
                else:
                    self._tail.add(payload)
            # A socket is not readable because of bytes that TLS has decrypted already.
            if not (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()):
                return bytes(output)

    def send(self, data: bytes) -> None:
        """Send a message; see :class:`.LeaseStream`."""
        self._sock.send(data)

    def close(self) -> None:
        """Close the connection, and with it the container's standard input."""
        self._sock.close()
        forget((self._sock,))


class LoggedConnection:
    """A connection that is kept open and whose output is read all the time.

    If it is lost, another takes its place while the lease lasts.

    Args:
        attached: its socket, which does not block.
        attach: returns another one, or ``None`` when the container has ended; raises when the
            engine does not answer.
        lease_seconds: lease of the container.

    Raises:
        ExecutorStartError: the process can have no more threads or descriptors.
    """

    def __init__(
        self,
        attached: socket.socket,
        attach: Callable[[], socket.socket | None],
        lease_seconds: float,
    ) -> None:
        #: The end of the container's output.
        self.tail = tail = Tail()
        stream = _AttachedStream(attached, tail)

        # Not a method: a destructor closes this object, which must be in no cycle.
        def attach_stream() -> _AttachedStream | None:
            sock = attach()
            return None if sock is None else _AttachedStream(sock, tail)

        try:
            self._lease = Lease(stream, attach_stream, lease_seconds, tail.end)
        except (OSError, RuntimeError) as error:
            stream.close()
            raise ExecutorStartError(
                f"the container's output cannot be read: {error}; close executors, or raise the "
                "limits of this process (ulimit -n and -u)"
            ) from None
        #: The container's first process.
        self.first_process = self._lease.first_process

    def close(self) -> None:
        """Have the reading thread close it. Idempotent, at any time."""
        with contextlib.suppress(AttributeError):  # never opened
            self._lease.close()

    def __del__(self) -> None:
        self.close()
