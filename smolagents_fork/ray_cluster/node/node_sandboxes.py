"""Sandboxes of one supervisor: their places, tickets and ends. Knows nothing of Ray.

Who calls what: the supervisor calls :meth:`NodeSandboxes.start`, :meth:`~NodeSandboxes.call` and
:meth:`~NodeSandboxes.remove` for the host. Its transports redeem a ticket for each stream and call
:meth:`NodeSandboxes.serve`, in a thread of its own.
"""

from __future__ import annotations

import contextlib
import hmac
import importlib
import logging
import secrets
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...errors import ExecutorError, ExecutorStartError, SandboxDiedError
from ...sandboxes.cluster_owner import ClusterOwner
from ..links.direct_transport import TICKET_BYTES

__all__ = ["KINDS", "NodeKind", "NodeSandbox", "NodeSandboxes", "kind_of"]

#: Kinds of sandboxes, each with the class that starts them on a node.
KINDS: dict[str, str] = {
    "docker": "smolagents_fork.ray_cluster.node.docker_node:DockerKind",
    "process": "smolagents_fork.ray_cluster.node.process_node:ProcessKind",
}
_TICKET_SECONDS = 60.0
_MOST_TICKETS = 10_000
# Ids that are remembered of sandboxes that were removed.
_MOST_REMOVED = 1000
_log = logging.getLogger(__name__)


class NodeSandbox(Protocol):
    """One sandbox on this node."""

    @property
    def info(self) -> dict[str, Any]:
        """Plain data for the host."""

    def serve(self, stream: socket.socket, purpose: str) -> None:
        """Serve a stream of the host until it ends, and close it; in a thread of its own.

        Args:
            stream: blocking.
            purpose: of the stream, as the host asked for it.
        """

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        """Carry out a small request and return plain data.

        Args:
            method: the kind's own name.
            arguments: plain data.
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


def kind_of(name: str) -> Callable[[ClusterOwner], NodeKind]:
    """Return the class of a kind.

    Raises:
        ExecutorStartError: there is no such kind.
    """
    reference = KINDS.get(name)
    if reference is None:
        raise ExecutorStartError(f"no kind {name!r} of sandboxes; known are: {', '.join(KINDS)}")
    module, _, found = reference.partition(":")
    made: Callable[[ClusterOwner], NodeKind] = getattr(importlib.import_module(module), found)
    return made


@dataclass
class _Entry:
    sandbox: NodeSandbox | None = None
    tenant: str = ""
    streams: set[socket.socket] = field(default_factory=set)


@dataclass(frozen=True)
class _Ticket:
    token: bytes
    sandbox: str
    purpose: str
    expires: float


class NodeSandboxes:
    """The sandboxes of a supervisor.

    Args:
        kind: starts them.
        slots: most at once.
        node: for the log.
    """

    def __init__(self, kind: NodeKind, slots: int, node: str = "") -> None:
        self._kind = kind
        self._slots = slots
        self._node = node
        self._removed: deque[str] = deque(maxlen=_MOST_REMOVED)
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._tickets: list[_Ticket] = []
        self._closed = False

    def start(self, name: str, options: dict[str, Any], tenant: str) -> NodeSandbox:
        """Start a sandbox.

        Args:
            name: its id, which was never used before.
            options: of the kind.
            tenant: named in the log; empty for none.

        Raises:
            ExecutorStartError: all slots are in use, the sandbox was removed meanwhile, or the
                supervisor ends.
        """
        with self._lock:
            if self._closed:
                raise ExecutorStartError("the supervisor has ended")
            if name in self._entries or name in self._removed:
                raise ExecutorStartError(f"sandbox {name} was removed before it started")
            if len(self._entries) >= self._slots:
                raise ExecutorStartError(f"all {self._slots} slots of the supervisor are in use")
            self._entries[name] = entry = _Entry(tenant=tenant)
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
        return f"sandbox {name} on node {self._node}{of_tenant}"

    def ticket(self, sandbox: str, purpose: str) -> bytes:
        """Return a token that opens one stream of a sandbox, once, within a minute.

        Args:
            sandbox: its id.
            purpose: of the stream.

        Raises:
            SandboxDiedError: there is no such sandbox any more.
        """
        self._existing(sandbox)
        made = _Ticket(
            secrets.token_bytes(TICKET_BYTES), sandbox, purpose, time.monotonic() + _TICKET_SECONDS
        )
        with self._lock:
            now = time.monotonic()
            self._tickets = [one for one in self._tickets if one.expires > now]
            if len(self._tickets) >= _MOST_TICKETS:
                raise ExecutorError(f"{_MOST_TICKETS} streams wait for their connection")
            self._tickets.append(made)
        return made.token

    def serve(self, token: bytes, stream: socket.socket) -> bool:
        """Serve a stream until it ends.

        Args:
            token: what the other side has shown.
            stream: closed at the end.

        Returns:
            whether the token opened it.
        """
        ticket = self._redeemed(token)
        with self._lock:
            entry = None if ticket is None else self._entries.get(ticket.sandbox)
            if entry is None or entry.sandbox is None or self._closed:
                stream.close()
                return False
            entry.streams.add(stream)
        assert ticket is not None
        try:
            entry.sandbox.serve(stream, ticket.purpose)
        finally:
            with self._lock:
                entry.streams.discard(stream)
            stream.close()
        return True

    def _redeemed(self, token: bytes) -> _Ticket | None:
        found = None
        with self._lock:
            now = time.monotonic()
            # All are compared, in constant time each.
            for one in self._tickets:
                if hmac.compare_digest(one.token, token) and one.expires > now:
                    found = one
            if found is not None:
                self._tickets.remove(found)
        return found

    def call(self, sandbox: str, method: str, arguments: dict[str, Any]) -> Any:
        """Carry out a request of the host.

        Raises:
            SandboxDiedError: there is no such sandbox any more.
            ExecutorError: it could not be done; says why.
        """
        return self._existing(sandbox).call(method, arguments)

    def remove(self, sandbox: str) -> None:
        """End a sandbox and its streams. Idempotent."""
        with self._lock:
            # Calls may overtake each other: the start of this one may be still to come.
            self._removed.append(sandbox)
            entry = self._entries.get(sandbox)
            streams = [] if entry is None else list(entry.streams)
        if entry is None:
            return
        for stream in streams:
            _wake(stream)
        try:
            if entry.sandbox is not None:
                entry.sandbox.close()
        finally:
            with self._lock:
                self._entries.pop(sandbox, None)
        _log.info("%s removed", self._described(sandbox, entry.tenant))

    def close(self) -> None:
        """End all sandboxes. Idempotent."""
        with self._lock:
            self._closed = True
            names = list(self._entries)
        ends = [threading.Thread(target=self.remove, args=(name,), daemon=True) for name in names]
        for end in ends:
            end.start()
        for end in ends:
            end.join(20.0)
        self._kind.close()

    def counts(self) -> dict[str, int]:
        """Return the sandboxes in use and those that start."""
        with self._lock:
            ready = sum(entry.sandbox is not None for entry in self._entries.values())
            return {"in_use": ready, "starting": len(self._entries) - ready, "slots": self._slots}

    def _existing(self, sandbox: str) -> NodeSandbox:
        with self._lock:
            entry = self._entries.get(sandbox)
        if entry is None or entry.sandbox is None:
            raise SandboxDiedError(f"there is no sandbox {sandbox} any more", cause="removed")
        return entry.sandbox


def _wake(stream: socket.socket) -> None:
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
