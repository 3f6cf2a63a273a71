"""Supervisor of a node's sandboxes: what runs in Ray's actor there.

Ray places the actor and is asked no more. The host and the placer connect to the supervisor's port;
each connection has one request and, after its answer, the bytes of a stream.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..codec import encode
from ..errors import ExecutorError, ExecutorStartError, ProtocolError, SandboxDiedError
from .node_link import KEY_BYTES, AnswerStream, RequestServer, answer_requests, uses_tls
from .plain_data import Reservation, SupervisorPlace

__all__ = ["KINDS", "NodeKind", "NodeSandbox", "Supervisor", "SupervisorActor"]

#: Kinds of sandboxes, each with the class that starts them on a node.
KINDS: dict[str, str] = {
    "docker": "smolagents_fork.ray_cluster.docker_node:DockerKind",
    "process": "smolagents_fork.ray_cluster.process_node:ProcessKind",
}
_CHECK_SECONDS = 1.0
# Time for the sandboxes to end once the lease has, and for each of them, in seconds.
_END_SECONDS, _REMOVE_SECONDS = 30.0, 20.0
_FILE_SECONDS = 600.0
# Time for which a supervisor without sandboxes stays, for the next executor, in seconds.
_IDLE_SECONDS = 60.0
_PIECE = 1 << 18
# Ids that are remembered of sandboxes that were removed.
_MOST_REMOVED = 1000
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NodeSandbox:
    """One sandbox on this node.

    Attributes:
        info: plain data for the host.
        requests: methods that the host may call, by name. They return plain data, the bytes of a
            file, or a stream.
        close: ends it and leaves nothing. Idempotent, from any thread.
    """

    info: dict[str, Any]
    requests: Mapping[str, Callable[..., Any]]
    close: Callable[[], None]


class NodeKind(Protocol):
    """Starts sandboxes of one kind on this node; made without arguments."""

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
    """A sandbox with its description for the log; none while it starts."""

    described: str
    sandbox: NodeSandbox | None = None


class Supervisor(RequestServer):
    """Owner of the sandboxes of one reservation. Knows nothing of Ray.

    Args:
        reservation: its resources.
        node: id of the node.
        address: of the node.

    Raises:
        ExecutorStartError: it has no port.
        ConfigurationError: the certificates cannot be read.
    """

    def __init__(self, reservation: Reservation, node: str, address: str) -> None:
        self._lock = threading.Lock()
        self._reservation = reservation
        self._entries: dict[str, _Entry] = {}
        self._removed: deque[str] = deque(maxlen=_MOST_REMOVED)
        self._closed = False
        self._heard = self._idle_since = time.monotonic()
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        try:
            self._server = socket.create_server((address, 0), family=family, backlog=128)
        except OSError as error:
            raise ExecutorStartError(
                f"the supervisor on node {address} ({node[:8]}) has no port: {error}"
            ) from error
        key, port = secrets.token_bytes(KEY_BYTES), self._server.getsockname()[1]
        #: Its address.
        self.place = SupervisorPlace(secrets.token_hex(6), node, address, port, key, uses_tls())
        module, _, name = KINDS[reservation.kind].partition(":")
        self._kind: NodeKind = getattr(importlib.import_module(module), name)()
        self.listen(self._server, key, tls=self.place.tls)
        threading.Thread(target=self._watch, name="smolagents-fork-lease", daemon=True).start()

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
                    self.place.supervisor, self.place, silent,
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
        return AnswerStream(None, functools.partial(answer_requests, self._renew))

    def _renew(self, _request: str) -> bool:
        self._heard = time.monotonic()
        return True

    def do_end(self, _connection: socket.socket) -> AnswerStream:
        """End all sandboxes, and then this process."""
        self.close()
        return AnswerStream(None, lambda _connection: self._exit())

    def close(self) -> None:
        """End all sandboxes. Idempotent."""
        with self._lock:
            self._closed = True
            names = list(self._entries)
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
        """Start a sandbox and return its plain data.

        Args:
            sandbox: its id, which was never used before.
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
            if sandbox in self._entries or sandbox in self._removed:
                raise ExecutorStartError(f"sandbox {sandbox} was removed before it started")
            if len(self._entries) >= slots:
                raise ExecutorStartError(f"all {slots} slots of the supervisor are in use")
            of_tenant = f" of tenant {tenant}" if tenant else ""
            self._entries[sandbox] = entry = _Entry(
                f"sandbox {sandbox} on node {self.place}{of_tenant}"
            )
        try:
            started = self._kind.start(sandbox, options)
        except BaseException:
            with self._lock:
                self._entries.pop(sandbox, None)
            raise
        with self._lock:
            entry.sandbox = started
            is_removed = self._closed or sandbox not in self._entries
        if is_removed:
            started.close()
            raise ExecutorStartError(f"sandbox {sandbox} was removed while it started")
        _log.info("%s started", entry.described)
        return started.info

    def do_remove(self, _connection: socket.socket, sandbox: str) -> None:
        """End a sandbox."""
        self.remove(sandbox)

    def remove(self, name: str) -> None:
        """End a sandbox, and with it its streams. Idempotent."""
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
        _log.info("%s removed", entry.described)

    def do_call(
        self, _connection: socket.socket, sandbox: str, method: str, arguments: dict[str, Any]
    ) -> Any:
        """Carry out a request of a sandbox; the bytes of a file follow their number."""
        value = self._request(sandbox, method)(**arguments)
        if isinstance(value, bytes):
            return AnswerStream(len(value), lambda stream: stream.sendall(value))
        return value

    def do_write(self, connection: socket.socket, sandbox: str, path: str, size: int) -> None:
        """Write the file that comes."""
        self._request(sandbox, "write_file")(path, _pieces(connection, size), size)

    def _request(self, name: str, method: str) -> Callable[..., Any]:
        with self._lock:
            entry = self._entries.get(name)
        if entry is None or entry.sandbox is None:
            raise SandboxDiedError(f"there is no sandbox {name} any more", cause="removed")
        requests = entry.sandbox.requests
        if method not in requests:
            raise ExecutorError(f"the sandbox has no request {method!r}")
        return requests[method]


def _pieces(connection: socket.socket, size: int) -> Iterator[bytes]:
    """Yield the ``size`` bytes that the host sends.

    Raises:
        ProtocolError: they do not come, or the host has given up waiting: it may have sent the file
            again since, or a newer one.
    """
    missing = size
    connection.settimeout(_FILE_SECONDS)
    while missing > 0:
        piece = connection.recv(min(missing, _PIECE))
        if not piece:
            raise ProtocolError(f"{missing} of the file's {size} bytes did not arrive")
        missing -= len(piece)
        yield piece
    connection.settimeout(0.0)
    with contextlib.suppress(BlockingIOError):
        if not connection.recv(1, socket.MSG_PEEK):
            raise ProtocolError("the host has given up")
    connection.settimeout(None)


class SupervisorActor(Supervisor):
    """A supervisor on the node where Ray has placed it."""

    def __init__(self, reservation: Reservation) -> None:
        import ray
        import ray.util

        # Starts, ends and leases are in the log of Ray's worker, which by itself shows warnings.
        logger = logging.getLogger("smolagents_fork.ray_cluster")
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
        node = ray.get_runtime_context().get_node_id()
        address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]  # Ray's own
        super().__init__(reservation, node, address)

    def describe(self) -> bytes:
        """Return its encoded place, as plain data for Ray."""
        return encode(self.place)
