"""Host side of a cluster: starts sandboxes on its nodes, and opens streams to them."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..deadline import Deadline
from ..errors import (
    EngineUnavailableError,
    ExecutorError,
    ForkError,
    ProtocolError,
    SandboxDiedError,
)
from ..forks import Owner, disconnect_in_child
from ..results import ExecutorStats, FileInfo
from ..sandboxes.container_files import repeat_after_loss
from ..sandboxes.stream_errors import StreamLost
from .node_link import answer_of, connect
from .placer_process import Placement, PlacerProcess, running_placer, shared_placer
from .plain_data import (
    NodeStats,
    Reservation,
    SlotRequest,
    SupervisorPlace,
    as_data,
    file_infos_of,
    from_data,
    stats_of,
)

__all__ = ["Cluster", "RemoteSandbox", "StartedSandbox", "waiting_starts"]

_REQUEST_SECONDS = 30.0
_WAITING_SECONDS = 3.0
_FILE_SECONDS = 600.0
# Time without a byte after which the connection of a transfer counts as lost, in seconds.
_STALLED_SECONDS = 30.0
_PIECE = 1 << 18
# Time in which the placer finds out that a supervisor whose stream has ended is lost, in seconds.
_LOST_SECONDS = 3.0
# Nodes whose engines may not answer, one after the other, in one start.
_MOST_NODES = 4
# Pause before a start is made elsewhere, in seconds.
_AGAIN_SECONDS = 0.02


@dataclass(frozen=True)
class StartedSandbox:
    """A sandbox that a node has started.

    Attributes:
        placer: of the cluster.
        placement: of the sandbox.
        place: of its supervisor.
        kind: such as ``process``.
        tenant: empty for none.
        info: what the node says about it; plain data that is not trusted.
    """

    placer: PlacerProcess
    placement: Placement
    place: SupervisorPlace
    kind: str
    tenant: str
    info: dict[str, Any]


class RemoteSandbox:
    """One sandbox on a node of the cluster, with its files.

    Args:
        started: by :meth:`Cluster.start`.
    """

    def __init__(self, started: StartedSandbox) -> None:
        self._started = started
        self._owner = Owner()
        #: Id in the cluster.
        self.id = started.placement.sandbox
        self.info = started.info

    def __str__(self) -> str:
        tenant = f" of tenant {self._started.tenant}" if self._started.tenant else ""
        return f"sandbox {self.id} on node {self._started.place}{tenant}"

    @property
    def node(self) -> str:
        """Id of the node."""
        return self._started.place.node

    @property
    def lost(self) -> str:
        """Reason for which its supervisor was given up, and when it was last heard of; or empty."""
        return self._started.placement.lost

    def why_lost(self) -> str:
        """Return :attr:`lost`, which comes a moment after the end of a stream."""
        self._started.placer.post("suspect", sandbox=self.id)
        return self._started.placement.why_lost(_LOST_SECONDS)

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
            place = self._started.place
            with connect(place, seconds, op, sandbox=self.id, **arguments) as connection:
                self._started.placement.add(connection)
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
            connection = connect(self._started.place, timeout, op, sandbox=self.id, timeout=timeout)
            try:
                self._started.placement.add(connection)
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
        return file_infos_of(repeat_after_loss(lambda: self.call("list_files", path=path)))

    def stats(self) -> ExecutorStats:
        """Return its resource use now; see :class:`Sandbox`."""
        return stats_of(repeat_after_loss(lambda: self.call("stats")))

    def record_call(self, seconds: float) -> None:
        """Record the time of a run of code for the figures of its node; never waits or raises.

        Args:
            seconds: the time, that of tools included.
        """
        self._record("call", seconds)

    def _record(self, name: str, seconds: float) -> None:
        started = self._started
        tenant = started.tenant if name == "call" else ""
        started.placer.record(name, seconds, self.node, started.kind, tenant)

    def end(self) -> None:
        """End it in the background. Idempotent; safe in a finaliser."""
        placement = self._started.placement
        if not placement.ending and not self._owner.inherited:
            placement.ending = True
            self._started.placer.post("remove", sandbox=self.id)


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
    """A user of a cluster's placer process.

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
        self._placer = shared_placer(address, connect_seconds, self._user)

    def start(
        self,
        reservation: Reservation,
        options: dict[str, Any],
        *,
        tenant: str = "",
        timeout: float = 60.0,
        slot_timeout: float | None = None,
    ) -> StartedSandbox:
        """Start a sandbox on any node with a free slot.

        It is started on another node if the first is lost meanwhile, or its engine does not answer.

        Args:
            reservation: of its supervisor; supervisors with an equal one are shared.
            options: of the kind of sandbox; plain data.
            tenant: named in messages; empty for none.
            timeout: seconds to wait at most.
            slot_timeout: seconds of them to wait for a free slot; ``None``: all.

        Raises:
            EngineUnavailableError: the cluster is lost, or the nodes' engines do not answer.
            ExecutorStartError: it did not start, or no slot was free.
        """
        deadline = Deadline(timeout)
        failed: dict[str, str] = {}
        while True:
            limit = deadline.at_most(timeout if slot_timeout is None else slot_timeout)
            request = SlotRequest(secrets.token_hex(6), reservation, limit, tuple(failed))
            try:
                return self._start_once(request, options, tenant, deadline)
            except _EngineFailedError as error:
                failed[error.node] = str(error)
                if len(failed) == _MOST_NODES or not self._has_other_nodes(reservation, failed):
                    raise EngineUnavailableError("; and ".join(failed.values())) from error
            except SandboxDiedError as error:  # elsewhere, for no code of a program has run
                if error.cause != "node" or deadline.expired():
                    raise
                time.sleep(_AGAIN_SECONDS)
            except ForkError as error:
                if not failed:
                    raise
                before = "; and ".join(failed.values())
                raise error.reworded(f"{error}; before that, {before}") from error

    def _start_once(
        self, request: SlotRequest, options: dict[str, Any], tenant: str, deadline: Deadline
    ) -> StartedSandbox:
        """Start a sandbox on one node.

        Raises:
            _EngineFailedError: the node's engine does not answer.
            SandboxDiedError: the node was lost meanwhile.
            ForkError: it did not start; says why.
        """
        placer, placement = self._running_placer(), Placement(request.sandbox)
        placer.watch(placement)
        request = replace(request, avoided=placer.nodes_without_engine())
        kind, begun = request.reservation.kind, time.monotonic()
        try:
            try:
                found = placer.ask("acquire", request.seconds, request=as_data(request))
            finally:
                placer.record("wait", time.monotonic() - begun, "", kind, tenant)
            place, begun = from_data(SupervisorPlace, found), time.monotonic()
            info = _ask_to_start(placement, place, options, tenant, max(1.0, deadline.at_most(1e6)))
        except BaseException as error:
            if isinstance(error, _EngineFailedError):
                placer.engine_errors[error.node] = str(error), time.monotonic()
            placer.post("suspect", sandbox=request.sandbox)
            # It may be started yet.
            placer.post("remove", sandbox=request.sandbox)
            raise
        placer.engine_errors.pop(place.node, None)
        placer.record("start", time.monotonic() - begun, place.node, kind, tenant)
        return StartedSandbox(placer, placement, place, kind, tenant, info)

    def _has_other_nodes(self, reservation: Reservation, nodes: Collection[str]) -> bool:
        if reservation.node:
            return False
        try:
            return not set(self.nodes(reservation)) <= set(nodes)
        except EngineUnavailableError:
            return False

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor of this process."""
        placer = self._running_placer()
        figures = [from_data(NodeStats, one) for one in placer.ask("stats", _REQUEST_SECONDS)]
        errors = placer.engine_errors
        return [replace(one, engine_error=errors.get(one.node, ("", 0.0))[0]) for one in figures]

    def nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation once they are free.

        Args:
            reservation: of a supervisor.

        Raises:
            EngineUnavailableError: the cluster is lost, or does not answer.
        """
        placer = self._running_placer()
        nodes: list[str] = placer.ask("nodes", _REQUEST_SECONDS, reservation=as_data(reservation))
        return nodes

    def _running_placer(self) -> PlacerProcess:
        with self._lock:
            if self._placer.ended or self._placer.owner.inherited:
                self._placer = shared_placer(self._address, self._connect_seconds, self._user)
            return self._placer

    def close(self) -> None:
        """Give the placer back; sandboxes are removed one by one. Idempotent."""
        self._placer.release(self._user)


class _EngineFailedError(Exception):
    """The engine of a node does not answer; the message names the node.

    Args:
        node: its id.
        message: of the error.
    """

    def __init__(self, node: str, message: str) -> None:
        super().__init__(message)
        self.node = node


def _ask_to_start(
    placement: Placement,
    place: SupervisorPlace,
    options: dict[str, Any],
    tenant: str,
    seconds: float,
) -> dict[str, Any]:
    """Have a supervisor start a sandbox and return what it says about it; see `_start_once`."""
    arguments = {"sandbox": placement.sandbox, "options": options, "tenant": tenant}
    try:
        with connect(place, seconds, "start", **arguments) as connection:
            placement.add(connection)
            info = answer_of(connection, seconds)
    except OSError as error:
        lost = placement.lost or isinstance(error, ConnectionError)
        raise SandboxDiedError(
            f"node {place}: {error}", cause="node" if lost else "unknown"
        ) from error
    except EngineUnavailableError as error:
        raise _EngineFailedError(place.node, f"node {place}: {error}") from error
    except ForkError as error:
        raise error.reworded(f"node {place}: {error}") from error
    if type(info) is not dict:
        raise ProtocolError(f"node {place}: a start answers with what the host has to know")
    return info


def waiting_starts(address: str) -> str:
    """Return what starts of this process wait for; empty if none does, or nobody answers.

    Takes ten seconds at most.

    Args:
        address: of the cluster.
    """
    placer = running_placer(address)
    if placer is not None:
        with contextlib.suppress(ForkError):
            return str(placer.ask("waiting", _WAITING_SECONDS))
    return ""
