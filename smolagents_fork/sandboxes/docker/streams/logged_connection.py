"""Connection to a container's main process: its lease, its first process, the end of its output.

The engine removes a container that ends by itself, and its log with it, mostly before the log can
be read. So the connection to its standard input carries its output, too. The engine buffers about a
megabyte of output that is not read; then the container's writes block.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from ....errors import ExecutorStartError
from ...lease_keeper import Lease
from ..engine import connect, disconnect
from ..engine_address import EngineAddress
from .exec_stream import ExecStream
from .hijacking import attach

__all__ = ["KEPT_BYTES", "LoggedConnection", "Tail", "attach_again"]

# Bytes of a container's output that are kept.
KEPT_BYTES = 4096
# Limit of each call while a lease runs.
_AGAIN_SECONDS = 10


class Tail:
    """The end of a container's output."""

    def __init__(self) -> None:
        self._kept = b""
        self._cut = False
        self._ended = threading.Event()
        #: The error that ended the output early; empty without one.
        self.broken = ""

    def add(self, payload: bytes) -> None:
        """Add output."""
        self._cut = self._cut or len(self._kept) + len(payload) > KEPT_BYTES
        # In one assignment, because other threads read it.
        self._kept = (self._kept + payload[-KEPT_BYTES:])[-KEPT_BYTES:]

    def end(self, broken: str = "") -> None:
        """Note the end of the output.

        Args:
            broken: the error, if it ended early.
        """
        self.broken = broken
        self._ended.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the output; return false if it is late or came early."""
        return self._ended.wait(seconds) and not self.broken

    def text(self) -> str:
        """Return the kept text, from the beginning of a line if possible."""
        kept = self._kept
        if self._cut and b"\n" in kept[:-1]:
            kept = kept.partition(b"\n")[2]
        return kept.decode("utf-8", "replace")


class LoggedConnection:
    """A connection that is kept open and whose output is read all the time.

    If it is lost, another takes its place while the lease lasts.

    Args:
        attached: its socket, which does not block.
        attach: returns another one, or ``None`` when the container has ended; raises when the
            engine does not answer.

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
        stream = ExecStream(attached, tail.add)

        # Not a method: a destructor closes this object, which must be in no cycle.
        def attach_stream() -> ExecStream | None:
            sock = attach()
            return None if sock is None else ExecStream(sock, tail.add)

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


def attach_again(address: EngineAddress, container: str) -> socket.socket | None:
    """Attach to a container that runs, or is about to, after a connection to it was lost.

    Returns:
        the connection, as from :func:`.attach`; ``None`` if the container has ended.

    Raises:
        Exception: the engine does not answer, or does not allow it.
    """
    import docker

    client = connect(address, timeout=_AGAIN_SECONDS)
    try:
        state = client.api.inspect_container(container)["State"]
        if not state.get("Running") and state.get("Status") != "created":
            return None
        return attach(client, container, output=True, timeout=_AGAIN_SECONDS)
    except docker.errors.NotFound:
        return None
    finally:
        disconnect(client)
