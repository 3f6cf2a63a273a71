"""Host side of a cluster: starts sandboxes on its nodes, and opens streams to them."""

from __future__ import annotations

import atexit
import contextlib
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import ExecutorError, ForkError, ProtocolError, SandboxDiedError
from ..forks import ForkSafeLock, Owner, disconnect_in_child, reset_in_child
from ..results import ExecutorStats, FileInfo
from ..sandboxes.container_files import repeat_after_loss
from ..sandboxes.stream_errors import StreamLost
from .node_link import answer_of, connect
from .plain_data import NodeStats, Reservation, checked_files, checked_stats
from .supervisors import Placement, Supervisors

__all__ = ["Cluster", "RemoteSandbox", "shared_supervisors", "waiting_starts"]

_REQUEST_SECONDS = 30.0
_EXIT_SECONDS = 5.0
_FILE_SECONDS = 600.0
# Time without a byte after which the connection of a transfer counts as lost, in seconds.
_STALLED_SECONDS = 30.0
_PIECE = 1 << 18
# Time in which the placer finds out that a supervisor whose stream has ended is lost, in seconds.
_LOST_SECONDS = 3.0


class RemoteSandbox:
    """One sandbox on a node of the cluster, with its files.

    Args:
        placement: Placement of the sandbox.
        info: what the node says about it; not trusted.
    """

    def __init__(self, placement: Placement, info: dict[str, Any]) -> None:
        self.placement = placement
        self._owner = Owner()
        #: Id in the cluster.
        self.id = placement.sandbox
        self.info = info

    def __str__(self) -> str:
        tenant = f" of tenant {self.placement.tenant}" if self.placement.tenant else ""
        return f"sandbox {self.id} on node {self.placement.place}{tenant}"

    @property
    def node(self) -> str:
        """Id of the node."""
        return self.placement.place.node

    @property
    def lost(self) -> str:
        """Reason for which its supervisor was given up, and when it was last heard of; or empty."""
        return self.placement.lost

    def why_lost(self) -> str:
        """Return :attr:`lost`, which comes a moment after the end of a stream."""
        return self.placement.why_lost(_LOST_SECONDS)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Name sandbox, node and tenant in the errors of the block; a lost node is one."""
        try:
            yield
        except OSError as error:
            if reason := self.why_lost():
                raise SandboxDiedError(f"{self}: {reason}", cause="node") from error
            raise StreamLost(f"{self}: {error}") from error
        except ForkError as error:
            text = str(error)
            raise (error if self.id in text else error.reworded(f"{self}: {text}")) from error

    @contextlib.contextmanager
    def _requested(self, op: str, seconds: float, **arguments: Any) -> Iterator[socket.socket]:
        """Have a connection with a request, whose time is recorded."""
        if self.lost:
            raise SandboxDiedError(f"{self}: {self.lost}", cause="node")
        begun = time.monotonic()
        with self.named():
            place = self.placement.place
            with connect(place, seconds, op, sandbox=self.id, **arguments) as connection:
                self.placement.add(connection)
                yield connection
        self._record("request", time.monotonic() - begun)

    def open_remote_stream(self, timeout: float, op: str = "stream") -> tuple[Any, socket.socket]:
        """Open a stream; return the node's answer and the stream, which ends if the node is lost.

        Args:
            timeout: seconds to wait at most.
            op: name of the request.

        Raises:
            SandboxDiedError: the sandbox or its node is gone.
            ExecutorError: it cannot be reached, or the node has raised it.
        """
        if self.lost:
            raise SandboxDiedError(f"{self}: {self.lost}", cause="node")
        with self.named():
            connection = connect(
                self.placement.place, timeout, op, sandbox=self.id, timeout=timeout
            )
            try:
                self.placement.add(connection)
                head = answer_of(connection, timeout)
            except BaseException:
                connection.close()
                raise
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
        with self._requested("call", timeout, method=method, arguments=arguments) as connection:
            return answer_of(connection, timeout)

    # -- files and figures --

    def describe(self, path: str) -> str:
        """Return ``path`` for messages."""
        return f"{path} in {self}"

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :class:`Sandbox`."""

        def write() -> None:
            self._write_file(path, pieces, size)

        try:
            # What can be read only once is not sent again.
            write() if isinstance(pieces, Iterator) else repeat_after_loss(write)
        except _SourceError as error:
            raise error.error from None

    def _write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        with self._requested("write", _FILE_SECONDS, path=path, size=size) as connection:
            connection.settimeout(_STALLED_SECONDS)
            sent = 0
            with contextlib.suppress(ConnectionError):  # the node may have an error to tell
                for piece in _read(pieces):
                    connection.sendall(piece)
                    sent += len(piece)
                if sent < size:
                    raise ExecutorError(f"{size - sent} bytes are missing from its content")
            answer_of(connection, _FILE_SECONDS)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`Sandbox`."""
        repeat_after_loss(lambda: self.call("make_folder", path=path))

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`Sandbox`."""
        return repeat_after_loss(lambda: self._read_file(path, max_bytes))

    def _read_file(self, path: str, max_bytes: int) -> bytes:
        arguments = {"path": path, "max_bytes": max_bytes}
        with self._requested("read", _FILE_SECONDS, **arguments) as connection:
            size = answer_of(connection, _FILE_SECONDS)
            if type(size) is not int or not 0 <= size <= max_bytes:
                raise ProtocolError(f"a file of {size!r} bytes, of at most {max_bytes}")
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
        return checked_files(repeat_after_loss(lambda: self.call("list_files", path=path)))

    def stats(self) -> ExecutorStats:
        """Return its resource use now; see :class:`Sandbox`."""
        return checked_stats(repeat_after_loss(lambda: self.call("stats")))

    def record_call(self, seconds: float) -> None:
        """Record the time of a run of code for the figures of its node; never waits or raises.

        Args:
            seconds: the time, that of tools included.
        """
        self._record("call", seconds)

    def _record(self, name: str, seconds: float) -> None:
        self.placement.record(name, seconds, self.placement.tenant if name == "call" else "")

    def end(self) -> None:
        """End it in the background. Idempotent; safe in a finaliser."""
        if not self._owner.inherited:
            self.placement.remove()


class _SourceError(Exception):
    """Error of what a file is written from, which says nothing about the sandbox.

    Attributes:
        error: the error.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _read(pieces: Iterable[bytes]) -> Iterator[bytes]:
    try:
        yield from pieces
    except OSError as error:
        raise _SourceError(error) from error


class Cluster:
    """A user of the supervisors of this process on one cluster.

    Args:
        address: of the head, as ``ray.init`` takes it.
        connect_seconds: that the head may take to accept a connection and to say something.

    Raises:
        EngineUnavailableError: the cluster cannot be reached; says why.
    """

    def __init__(self, address: str, connect_seconds: float) -> None:
        self._address = address
        self._connect_seconds = connect_seconds
        self._lock = threading.Lock()
        # Not this object, which belongs to an executor that may be dropped without cleanup().
        self._user = object()
        self._supervisors = shared_supervisors(address, connect_seconds, self._user)

    def start(
        self,
        reservation: Reservation,
        options: dict[str, Any],
        *,
        tenant: str = "",
        timeout: float = 60.0,
        slot_timeout: float | None = None,
    ) -> RemoteSandbox:
        """Start a sandbox on any node with a free slot.

        It is started on another node if the first is lost meanwhile, or its engine does not answer.

        Args:
            reservation: of its supervisor; supervisors with an equal one are shared.
            options: of the kind of sandbox; plain data and instances of ``CLASSES``.
            tenant: named in messages; empty for none.
            timeout: seconds to wait at most.
            slot_timeout: seconds of them to wait for a free slot; ``None``: all.

        Raises:
            EngineUnavailableError: the cluster is lost, or the nodes' engines do not answer.
            ExecutorStartError: it did not start, or no slot was free.
        """
        slot_seconds = timeout if slot_timeout is None else slot_timeout
        return RemoteSandbox(
            *self._running().start(reservation, options, tenant, timeout, slot_seconds)
        )

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor of this process."""
        return self._running().stats()

    def nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation; see :class:`Supervisors`."""
        return self._running().nodes(reservation)

    def _running(self) -> Supervisors:
        with self._lock:
            placer = self._supervisors.placer
            if placer.ended or placer.owner.inherited:
                self._supervisors = shared_supervisors(
                    self._address, self._connect_seconds, self._user
                )
            return self._supervisors

    def close(self) -> None:
        """Give the placer back; sandboxes are removed one by one. Idempotent."""
        self._supervisors.placer.release(self._user)


_shared: dict[str, Supervisors] = {}
_shared_lock = ForkSafeLock()
# For the time of a connection, which keeps no other cluster waiting.
_address_locks: dict[str, threading.RLock] = {}


def shared_supervisors(address: str, seconds: float, user: object) -> Supervisors:
    """Return the supervisors on a cluster, with a placer that is started if necessary.

    Args:
        address: Address of the cluster's head.
        seconds: see :class:`Supervisors`.
        user: keeps the placer running until :meth:`PlacerProcess.release`.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """
    with _shared_lock:
        lock = _address_locks.setdefault(address, threading.RLock())
    with lock:
        with _shared_lock:
            found = _running_on(address)
            if found is not None:
                found.placer.users.add(user)
                return found
        found = Supervisors(address, seconds)
        found.placer.users.add(user)
        with _shared_lock:
            _shared[address] = found
        threading.Thread(
            target=_linger, args=(found,), name="smolagents-fork-ray", daemon=True
        ).start()
        return found


def _running_on(address: str) -> Supervisors | None:
    """Return the supervisors on a cluster if its placer runs."""
    with _shared_lock:
        found = _shared.get(address)
    return found if found is not None and not found.placer.ended else None


def _linger(supervisors: Supervisors) -> None:
    placer = supervisors.placer
    while not placer.ended:
        time.sleep(0.5)
        placer.send_times()
        with _shared_lock:
            if placer.is_unused():
                placer.close()
    with _shared_lock:
        if _shared.get(placer.address) is supervisors:
            del _shared[placer.address]
    placer.close()
    placer.wait(_EXIT_SECONDS)


@atexit.register
def _stop_placers() -> None:
    with _shared_lock:
        placers = [one.placer for one in _shared.values()]
        _shared.clear()
    for placer in placers:
        placer.close()
    for placer in placers:
        placer.wait(_EXIT_SECONDS)


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's placers."""
    _address_locks.clear()
    _shared.clear()


def waiting_starts(address: str) -> str:
    """Return what starts of this process wait for; empty if none does, or nobody answers.

    Takes ten seconds at most.

    Args:
        address: of the cluster.
    """
    supervisors = _running_on(address)
    if supervisors is not None:
        with contextlib.suppress(ForkError):
            return supervisors.waiting()
    return ""
