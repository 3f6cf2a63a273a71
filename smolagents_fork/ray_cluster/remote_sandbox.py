"""One sandbox on a node of a cluster, as the host uses it."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from ..errors import (
    ExecutorError,
    ForkError,
    ProtocolError,
    SandboxDiedError,
)
from ..results import ExecutorStats, FileInfo
from ..system.closing import close_on_error
from ..system.forks import Owner, disconnect_in_child
from ..text.short_texts import brief_text
from .node_link import answer_of, connect
from .placer_process import PlacerProcess
from .plain_data import Reservation, SupervisorPlace, check_files, check_stats

__all__ = ["RemoteSandbox", "RemoteSupervisor"]

_REQUEST_SECONDS = 30.0
_FILE_SECONDS = 600.0
# Time for a node to answer once it has all of a file, in seconds.
_WRITTEN_SECONDS = 60.0
# Time without a byte after which the connection of a transfer counts as lost, in seconds.
_STALLED_SECONDS = 30.0
_PIECE = 1 << 18
# Time in which the placer finds out that a supervisor whose stream has ended is lost, in seconds.
_LOST_SECONDS = 3.0


class RemoteSupervisor:
    """A supervisor on a node, and the sandboxes that have its slots.

    Args:
        place: Place of the supervisor.
        reservation: Reservation of the supervisor.
        changed: notified when a slot becomes free.
    """

    def __init__(
        self, place: SupervisorPlace, reservation: Reservation, changed: threading.Condition
    ) -> None:
        self.place = place
        self.reservation = reservation
        self.sandboxes: set[RemoteSandbox] = set()
        #: Whether it was told to end.
        self.ending = False
        #: Reason for which its node's engine took no sandbox when it was last asked; or empty.
        self.engine_error = ""
        self._changed = changed

    @property
    def free(self) -> int:
        """Slots that a sandbox may have."""
        return 0 if self.ending else self.reservation.slots - len(self.sandboxes)

    def release(self, sandbox: RemoteSandbox) -> None:
        """Take back the slot of a sandbox that has been removed."""
        with self._changed:
            self.sandboxes.discard(sandbox)
            self._changed.notify_all()


class RemoteSandbox:
    """One sandbox on a node of the cluster, with its slot, its streams and its files.

    Args:
        supervisor: Supervisor that has its slot.
        placer: Placer process of the cluster.
        tenant: named in messages; empty for none.
    """

    def __init__(self, supervisor: RemoteSupervisor, placer: PlacerProcess, tenant: str) -> None:
        #: Id in the cluster, which was never used before.
        self.id = secrets.token_hex(6)
        #: What its node says about it once it is started; not trusted.
        self.info: dict[str, Any] = {}
        #: Reason for which its supervisor was given up, and when it was last heard of; or empty.
        self.lost = ""
        #: Whether its removal was asked for.
        self.ending = False
        #: Set once it has been removed, or is lost.
        self.removed = threading.Event()
        self.supervisor = supervisor
        self.tenant = tenant
        self._placer = placer
        self._owner = Owner()
        self._is_lost = threading.Event()
        self._lock = threading.RLock()
        self._streams: set[socket.socket] = set()

    def __str__(self) -> str:
        tenant = f" of tenant {self.tenant}" if self.tenant else ""
        return f"sandbox {self.id} on node {self.supervisor.place}{tenant}"

    # -- its life --

    def start(self, options: dict[str, Any], seconds: float) -> None:
        """Have its node start it.

        Args:
            options: of the kind of sandbox; plain data and instances of ``CLASSES``.
            seconds: to wait at most.

        Raises:
            OSError: the node cannot be reached, or was lost.
            ForkError: it did not start; says why.
        """
        arguments = {"options": options, "tenant": self.tenant}
        with self._connect("start", seconds, **arguments) as connection:
            info = answer_of(connection, seconds)
        if type(info) is not dict:
            raise ProtocolError("the answer to a start lacks fields")
        self.info = info

    def lose(self, reason: str) -> None:
        """Note that the supervisor is lost, and end the streams."""
        with self._lock:
            self.lost = reason
            streams = list(self._streams)
        self._is_lost.set()
        self.removed.set()
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def why_lost(self) -> str:
        """Return :attr:`lost`, which comes a moment after the end of a stream."""
        self._is_lost.wait(_LOST_SECONDS)
        return self.lost

    def end(self) -> None:
        """End it in the background. Idempotent; safe in a finaliser."""
        if not self.ending and not self._owner.inherited:
            self.ending = True
            names = {"supervisor": self.supervisor.place.supervisor, "sandbox": self.id}
            self._placer.request("remove", **names).add_done_callback(self._note_removed)

    def _note_removed(self, _removal: Future[Any]) -> None:
        self.supervisor.release(self)
        self.removed.set()

    # -- requests --

    @contextlib.contextmanager
    def name_errors(self) -> Iterator[None]:
        """Name sandbox, node and tenant in the errors of the block; a lost node is one."""
        try:
            yield
        except OSError as error:
            if reason := self.why_lost():
                raise SandboxDiedError(f"{self}: {reason}", cause="node") from error
            raise ExecutorError(f"{self}: {error}") from error
        except ForkError as error:
            text = str(error)
            raise (error if self.id in text else error.rephrase(f"{self}: {text}")) from error

    def _connect(self, op: str, seconds: float, **arguments: Any) -> socket.socket:
        """Send a request, and return the connection, which ends if the node is lost."""
        if self.lost:
            raise SandboxDiedError(f"{self}: {self.lost}", cause="node")
        place = self.supervisor.place
        connection = connect(place, seconds, op, sandbox=self.id, **arguments)
        with self._lock:
            open_streams = {stream for stream in self._streams if stream.fileno() >= 0}
            self._streams = open_streams | {connection}
        if self.lost:  # meanwhile
            self.lose(self.lost)
        return connection

    @contextlib.contextmanager
    def _request(self, op: str, seconds: float, **arguments: Any) -> Iterator[socket.socket]:
        """Have a connection with a request, whose time is recorded."""
        begun = time.monotonic()
        with self.name_errors(), self._connect(op, seconds, **arguments) as connection:
            yield connection
        self.record("request", time.monotonic() - begun)

    def open_remote_stream(
        self, timeout: float, method: str = "open_stream"
    ) -> tuple[Any, socket.socket]:
        """Open a stream; return the node's answer and the stream, which ends if the node is lost.

        Args:
            timeout: seconds to wait at most.
            method: as the kind of the sandbox knows it.

        Raises:
            SandboxDiedError: the sandbox or its node is gone.
            ExecutorError: it cannot be reached, or the node has raised it.
        """
        with self.name_errors():
            arguments = {"timeout": timeout}
            connection = self._connect("call", timeout, method=method, arguments=arguments)
            with close_on_error(connection):
                head = answer_of(connection, timeout)
        disconnect_in_child(connection)
        return head, connection

    def call(self, method: str, *, timeout: float = _REQUEST_SECONDS, **arguments: Any) -> Any:
        """Carry out a small request on the node and return plain data, which is not trusted.

        Args:
            method: as the kind of the sandbox knows it.
            timeout: seconds to wait at most.
            **arguments: of the method; plain data.

        Raises:
            ForkError: what the node raised, or the sandbox or its node is gone.
        """
        with self._request("call", timeout, method=method, arguments=arguments) as connection:
            return answer_of(connection, timeout)

    # -- files and figures --

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{path} in {self}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :class:`Sandbox`."""
        with self._request("write", _FILE_SECONDS, path=path, size=size) as connection:
            connection.settimeout(_STALLED_SECONDS)
            sent = 0
            with contextlib.suppress(ConnectionError):  # the node may have an error to tell
                for piece in pieces:
                    connection.sendall(piece)
                    sent += len(piece)
                if sent < size:
                    raise ExecutorError(f"{size - sent} bytes are missing from its content")
            answer_of(connection, _WRITTEN_SECONDS)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`Sandbox`."""
        self.call("make_folder", path=path)

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`Sandbox`."""
        arguments = {"path": path, "max_bytes": max_bytes}
        with self._request(
            "call", _FILE_SECONDS, method="read_file", arguments=arguments
        ) as connection:
            size = answer_of(connection, _FILE_SECONDS)
            if type(size) is not int or not 0 <= size <= max_bytes:
                raise ProtocolError(f"a file of {brief_text(size)} bytes, of at most {max_bytes}")
            connection.settimeout(_STALLED_SECONDS)
            data = bytearray()
            while len(data) < size:
                piece = connection.recv(min(_PIECE, size - len(data)))
                if not piece:
                    missing = size - len(data)
                    raise ConnectionError(f"{missing} of the {size} bytes of {path} are missing")
                data += piece
            return bytes(data)

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; see :class:`Sandbox`."""
        return check_files(self.call("list_files", path=path))

    def stats(self) -> ExecutorStats:
        """Return its resource use now; see :class:`Sandbox`."""
        return check_stats(self.call("stats"))

    def record_call(self, seconds: float) -> None:
        """Record the time of a run of code for the figures of its node; never waits or raises.

        Args:
            seconds: the time, that of tools included.
        """
        self.record("call", seconds, self.tenant)

    def record(self, name: str, seconds: float, tenant: str = "") -> None:
        """Record a time for the figures of its node; never waits or raises.

        Args:
            name: Name of the histogram.
            seconds: the time.
            tenant: empty for none.
        """
        node, kind = self.supervisor.place.node, self.supervisor.reservation.kind
        self._placer.request(
            "record", name=name, seconds=seconds, node=node, kind=kind, tenant=tenant
        )
