"""Supervisor of a node's sandboxes: what runs in Ray's actor there.

Ray places the actor and is asked no more. The host and the placer connect to the supervisor's port;
each connection has one request and, after its answer, the bytes of a stream.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...codec import encode
from ...errors import ExecutorError, ExecutorStartError, ForkError, ProtocolError, SandboxDiedError
from ...sandboxes.cluster_owner import ClusterOwner
from ..node_link import (
    KEY_BYTES,
    AnswerStream,
    RequestServer,
    answer_to,
    use_normal_priority,
    uses_tls,
)
from ..plain_data import Reservation, SupervisorPlace

__all__ = [
    "KINDS",
    "NodeKind",
    "NodeSandbox",
    "Supervisor",
    "SupervisorActor",
]

#: Kinds of sandboxes, each with the class that starts them on a node.
KINDS: dict[str, str] = {
    "docker": "smolagents_fork.ray_cluster.nodes.docker_node:DockerKind",
    "process": "smolagents_fork.ray_cluster.nodes.process_node:ProcessKind",
}
_CHECK_SECONDS = 1.0
# Heartbeats that are answered at once, each of a byte.
_MOST_BEATS = 64
# Time for the sandboxes to end once the lease has, and for each of them, in seconds.
_END_SECONDS, _REMOVE_SECONDS = 30.0, 20.0
_FILE_SECONDS = 600.0
# Time for which a supervisor without sandboxes stays, for the next executor, in seconds.
_IDLE_SECONDS = 60.0
_PIECE = 1 << 18
# Ids that are remembered of sandboxes that were removed.
_MOST_REMOVED = 1000
_log = logging.getLogger(__name__)


class NodeSandbox(Protocol):
    """One sandbox on this node."""

    @property
    def info(self) -> dict[str, Any]:
        """Plain data for the host."""

    @property
    def requests(self) -> Mapping[str, Callable[..., Any]]:
        """Methods that the host may call, by name."""

    def open_stream(self, timeout: float) -> AnswerStream:
        """Open a stream of the host.

        Args:
            timeout: seconds that may take.
        """

    def close(self) -> None:
        """End it and leave nothing. Idempotent, from any thread."""


class NodeKind(Protocol):
    """Starts sandboxes of one kind on this node; made with the supervisor's owner."""

    def start(self, sandbox: str, options: dict[str, Any]) -> NodeSandbox:
        """Start a sandbox; nothing of it is left if that fails. From any thread.

        Args:
            sandbox: its id.
            options: plain data of the host.
        """

    def close(self) -> None:
        """Release what is shared by the sandboxes, which are closed. Idempotent."""


@dataclass
class _Entry:
    tenant: str
    sandbox: NodeSandbox | None = None


class Supervisor(RequestServer):
    """Owner of the sandboxes of one reservation. Knows nothing of Ray.

    Args:
        reservation: its resources.
        cluster: name of the cluster.
        node: id of the node.
        address: of the node.
    """

    def __init__(self, reservation: Reservation, cluster: str, node: str, address: str) -> None:
        self._lock = threading.Lock()
        self._reservation = reservation
        owner = ClusterOwner(cluster, node, secrets.token_hex(6))
        key = secrets.token_bytes(KEY_BYTES)
        self._entries: dict[str, _Entry] = {}
        self._removed: deque[str] = deque(maxlen=_MOST_REMOVED)
        self._closed = False
        self._heard = self._idle_since = time.monotonic()
        self._place = SupervisorPlace(owner.supervisor, node, address, 0, key, uses_tls())
        module, _, name = KINDS[self._reservation.kind].partition(":")
        self._kind: NodeKind = getattr(importlib.import_module(module), name)(owner)
        self._server: socket.socket | None = None
        threading.Thread(target=self._watch, name="smolagents-fork-lease", daemon=True).start()

    def describe(self) -> bytes:
        """Listen; return the encoded place, or the error, as plain data for Ray."""
        return encode(answer_to(self._listen))

    def _listen(self) -> SupervisorPlace:
        place = self._place
        if self._server is None:
            try:
                family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
                server = socket.create_server((place.address, 0), family=family, backlog=128)
                self.listen(server, place.key, tls=place.tls)
            except (OSError, ForkError) as error:
                raise ExecutorStartError(
                    f"the supervisor on node {place} has no port: {error}"
                ) from error
            self._server, self._place = server, replace(place, port=server.getsockname()[1])
        return self._place

    # -- lease --

    def _watch(self) -> None:
        before, silent, heard = time.monotonic(), 0.0, self._heard
        while True:
            time.sleep(_CHECK_SECONDS)
            now = time.monotonic()
            # A node that was paused has heard nothing meanwhile, and that is not silence.
            silent += min(now - before, 2 * _CHECK_SECONDS)
            before = now
            if self._heard != heard:
                heard, silent = self._heard, 0.0
            if silent > self._reservation.lease_seconds:
                _log.warning(
                    "supervisor %s on node %s: no heartbeat for %.0f s, so it ends",
                    self._place.supervisor, self._place, silent,
                )  # fmt: skip
                self._exit()
            with self._lock:
                idle = not self._entries and now - self._idle_since > _IDLE_SECONDS
                self._closed |= idle
            if idle:
                self._exit()

    def _exit(self) -> None:
        """End this process; a sandbox that does not end, or an error, does not keep it."""
        try:
            end = threading.Thread(target=self.close, daemon=True)
            end.start()
            end.join(_END_SECONDS)
        finally:
            os._exit(0)

    def do_lease(self, _connection: socket.socket) -> AnswerStream:
        """Answer the heartbeats of a connection; its end alone ends nothing."""
        return AnswerStream(None, self._keep_lease)

    def _keep_lease(self, connection: socket.socket) -> None:
        use_normal_priority()  # a node that computes is not silent
        while beat := connection.recv(_MOST_BEATS):
            self._heard = time.monotonic()
            connection.sendall(beat)

    def do_end(self, _connection: socket.socket) -> AnswerStream:
        """End all sandboxes, and then this process."""
        self.close()
        return AnswerStream(None, lambda _connection: self._exit())

    def close(self) -> None:
        """End all sandboxes. Idempotent."""
        with self._lock:
            self._closed = True
            names = list(self._entries)
        if self._server is not None:
            with contextlib.suppress(OSError):
                self._server.shutdown(socket.SHUT_RDWR)
        ends = [threading.Thread(target=self.remove, args=(name,), daemon=True) for name in names]
        for end in ends:
            end.start()
        for end in ends:
            end.join(_REMOVE_SECONDS)
        self._kind.close()

    # -- requests --

    def do_start(
        self, _connection: socket.socket, sandbox: str, options: dict[str, Any], tenant: str
    ) -> dict[str, Any]:
        """Start a sandbox and return its plain data."""
        return dict(self.start(sandbox, options, tenant).info)

    def start(self, name: str, options: dict[str, Any], tenant: str) -> NodeSandbox:
        """Start a sandbox.

        Args:
            name: its id, which was never used before.
            options: of the kind.
            tenant: named in the log; empty for none.

        Raises:
            SandboxDiedError: the supervisor ends.
            ExecutorStartError: all slots are in use, or the sandbox was removed meanwhile.
        """
        slots = self._reservation.slots
        with self._lock:
            if self._closed:
                # The host starts it elsewhere.
                raise SandboxDiedError("the supervisor has ended", cause="node")
            if name in self._entries or name in self._removed:
                raise ExecutorStartError(f"sandbox {name} was removed before it started")
            if len(self._entries) >= slots:
                raise ExecutorStartError(f"all {slots} slots of the supervisor are in use")
            self._entries[name] = entry = _Entry(tenant)
        try:
            sandbox = self._kind.start(name, options)
        except BaseException:
            with self._lock:
                self._entries.pop(name, None)
            raise
        with self._lock:
            entry.sandbox = sandbox
            gone = self._closed or name not in self._entries
        if gone:
            sandbox.close()
            raise ExecutorStartError(f"sandbox {name} was removed while it started")
        _log.info("%s started", self._described(name, tenant))
        return sandbox

    def _described(self, name: str, tenant: str) -> str:
        of_tenant = f" of tenant {tenant}" if tenant else ""
        return f"sandbox {name} on node {self._place}{of_tenant}"

    def do_remove(self, _connection: socket.socket, sandbox: str) -> None:
        """End a sandbox."""
        self.remove(sandbox)

    def remove(self, name: str) -> None:
        """End a sandbox, and with it its streams. Idempotent.

        Args:
            name: its id.
        """
        with self._lock:
            # Requests may overtake each other: the start of this one may be still to come.
            self._removed.append(name)
            entry = self._entries.get(name)
        if entry is None:
            return
        try:
            if entry.sandbox is not None:
                entry.sandbox.close()
        finally:
            with self._lock:
                self._entries.pop(name, None)
                self._idle_since = time.monotonic()
        _log.info("%s removed", self._described(name, entry.tenant))

    def do_stream(self, _connection: socket.socket, sandbox: str, timeout: float) -> AnswerStream:
        """Open a stream into a sandbox."""
        return self._existing(sandbox).open_stream(timeout)

    def do_connections(
        self, _connection: socket.socket, sandbox: str, timeout: float
    ) -> AnswerStream:
        """Open a stream that carries a sandbox's connections to the host's proxy."""
        stream: AnswerStream = self._request(sandbox, "open_connections")(timeout)
        return stream

    def do_call(
        self, _connection: socket.socket, sandbox: str, method: str, arguments: dict[str, Any]
    ) -> Any:
        """Carry out a small request and return its value."""
        return self._request(sandbox, method)(**arguments)

    def do_first_process(
        self, _connection: socket.socket, sandbox: str, timeout: float
    ) -> AnswerStream:
        """Pass lines of the host on to a sandbox's first process, and its answers back."""
        del timeout
        return AnswerStream(None, self._request(sandbox, "first_process"))

    def do_read(
        self, _connection: socket.socket, sandbox: str, path: str, max_bytes: int
    ) -> AnswerStream:
        """Answer with the size of a file, and then send it."""
        data = self._request(sandbox, "read_file")(path, max_bytes)
        return AnswerStream(len(data), lambda stream: stream.sendall(data))

    def do_write(
        self, connection: socket.socket, sandbox: str, path: str, size: int, parts: list[str]
    ) -> None:
        """Write the file that comes."""
        self._request(sandbox, "write_file")(path, _pieces(connection, size), size, parts)

    def _request(self, sandbox: str, method: str) -> Callable[..., Any]:
        found = self._existing(sandbox).requests.get(method)
        if found is None:
            raise ExecutorError(f"the sandbox has no request {method!r}")
        return found

    def _existing(self, sandbox: str) -> NodeSandbox:
        with self._lock:
            entry = self._entries.get(sandbox)
        if entry is None or entry.sandbox is None:
            raise SandboxDiedError(f"there is no sandbox {sandbox} any more", cause="removed")
        return entry.sandbox


def _pieces(connection: socket.socket, size: int) -> Iterator[bytes]:
    """Yield the ``size`` bytes that the host sends."""
    missing = size
    connection.settimeout(_FILE_SECONDS)
    while missing > 0:
        piece = connection.recv(min(missing, _PIECE))
        if not piece:
            raise ProtocolError(f"{missing} of the file's {size} bytes did not come")
        missing -= len(piece)
        yield piece


class SupervisorActor(Supervisor):
    """A supervisor on the node where Ray has placed it.

    Args:
        reservation: its resources.
        cluster: name of the cluster.
    """

    def __init__(self, reservation: Reservation, cluster: str) -> None:
        import ray
        import ray.util

        # Starts, ends and leases are in the log of Ray's worker, which by itself shows warnings.
        logger = logging.getLogger("smolagents_fork.ray_cluster")
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
        node = ray.get_runtime_context().get_node_id()
        address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]  # Ray's own
        super().__init__(reservation, cluster, node, address)
