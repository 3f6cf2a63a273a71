"""Host side of a cluster: starts sandboxes on its nodes, and opens streams to them."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ExecutorError, ForkError, ProtocolError, SandboxDiedError
from ..forks import Owner, disconnect_in_child
from ..sandboxes.engine_protocol import Note, no_note
from .helper_process import HelperProcess, released, running_helper, shared_helper
from .links.direct_transport import connect_directly, uses_tls
from .links.node_fields import FIGURES, MADE, fields_of
from .ray_address import CLIENT_SCHEME
from .reservation import Reservation, shown_node

__all__ = ["Cluster", "NodeStats", "RemoteSandbox", "waiting_starts"]

_DIRECT_SECONDS = 2.0
_REQUEST_SECONDS = 30.0
_WAITING_SECONDS = 3.0
# Time in which the helper finds out whether a supervisor is there, in seconds.
_LOST_SECONDS = 3.0


@dataclass(frozen=True)
class NodeStats:
    """Figures of one supervisor.

    Attributes:
        node: id of its node.
        supervisor: its id.
        slots: sandboxes that it may have.
        in_use: sandboxes that it has.
        starting: sandboxes that start.
        lost: why it was given up; empty while it was not.
        engine_error: why its node's engine took no sandbox when it was last asked; else empty.
        heard_seconds_ago: time since its last heartbeat, in seconds.
    """

    node: str
    supervisor: str
    slots: int
    in_use: int
    starting: int
    lost: str
    engine_error: str
    heard_seconds_ago: float

    @property
    def ready(self) -> int:
        """Slots that can take a sandbox now."""
        unusable = self.lost or self.engine_error
        return 0 if unusable else max(0, self.slots - self.in_use - self.starting)


class RemoteSandbox:
    """One sandbox on a node of the cluster.

    Args:
        helper: of the cluster.
        made: what the start returned.
        tenant: empty for none.
        transport: ``auto``, ``direct`` or ``ray``.
        note: takes a line for the user's log.

    Raises:
        ProtocolError: ``made`` has other fields than those of a sandbox.
    """

    def __init__(
        self,
        helper: HelperProcess,
        made: Any,
        tenant: str,
        transport: str,
        note: Note,
    ) -> None:
        made = fields_of(made, MADE, "a sandbox")
        self.id: str = made["sandbox"]
        self.node: str = made["node"]
        self.supervisor: str = made["supervisor"]
        self.tenant = tenant
        #: What the node says about the sandbox; plain data that is not trusted.
        self.info: dict[str, Any] = made["info"]
        self._address: tuple[str, int] | None = None
        if made["port"] is not None:
            self._address = (made["address"], made["port"])
        self._place = shown_node(made["address"], self.node)
        self._why_no_port: str = made["why_no_port"]
        self._tls: bool = made["tls"]
        self._ticket: bytes = made["ticket"]
        self._helper = helper
        self._owner = Owner()
        self._transport = transport
        self._note = note
        self._lost = ""
        self._lost_event = threading.Event()
        self._removed = False
        self._lock = threading.RLock()
        self._streams: set[socket.socket] = set()
        helper.watch(self.supervisor, self._on_lost)

    def __str__(self) -> str:
        tenant = f" of tenant {self.tenant}" if self.tenant else ""
        return f"sandbox {self.id} on node {self._place}{tenant}"

    @property
    def lost(self) -> str:
        """Reason for which its supervisor was given up, and when it was last heard of; or empty."""
        return self._lost

    def why_lost(self, seconds: float = _LOST_SECONDS) -> str:
        """Return :attr:`lost`, which comes a moment after the end of a stream.

        Args:
            seconds: to wait at most.
        """
        if not self._lost:
            self._helper.post("suspect", sandbox=self.id)
            self._lost_event.wait(seconds)
        return self._lost

    def _on_lost(self, reason: str) -> None:
        self._lost = reason
        self._lost_event.set()
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def open_stream(self, purpose: str, *, timeout: float = _REQUEST_SECONDS) -> socket.socket:
        """Open a stream. It ends when the node is lost.

        Args:
            purpose: as the kind of the sandbox knows it; of the first one, as asked at the start.
            timeout: seconds to wait at most.

        Raises:
            SandboxDiedError: the sandbox or its node is gone.
            ExecutorError: no transport reached it; says which was tried.
        """
        with self.named():
            stream = self._opened(purpose, timeout)
        disconnect_in_child(stream)
        with self._lock:
            self._streams = {one for one in self._streams if one.fileno() >= 0} | {stream}
        if self._lost:
            stream.close()
            raise SandboxDiedError(f"{self}: {self._lost}", cause="node")
        return stream

    def _opened(self, purpose: str, timeout: float) -> socket.socket:
        reason = ""
        if self._transport != "ray":
            reason = self._why_not_direct()
            if not reason:
                seconds = _DIRECT_SECONDS if self._transport == "auto" else timeout
                try:
                    assert self._address is not None
                    ticket = self._ticket_for(purpose)
                    stream = connect_directly(self._address, ticket, min(seconds, timeout))
                    self._note(f"Ray: {self}: transport direct")
                    return stream
                except OSError as error:
                    reason = str(error)
            if self._transport == "direct":
                raise ExecutorError(
                    f"transport='direct' does not reach the supervisor at {self._address}: "
                    f"{reason}; open that port, or use transport='auto' or 'ray'"
                )
            self._note(f"Ray: {self}: transport ray, for direct does not work: {reason}")
            self._transport = "ray"
            self._helper.indirect.add(self.supervisor)
        ours, theirs = socket.socketpair()
        try:
            ticket = self._ticket_for(purpose)
            descriptor = os.dup(theirs.fileno())
            self._helper.ask("relay", timeout, descriptor, sandbox=self.id, ticket=ticket)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def _why_not_direct(self) -> str:
        if self._helper.address.startswith(CLIENT_SCHEME):
            return "the cluster is reached through ray://"
        if self._address is None:
            return f"the supervisor has no port ({self._why_no_port})"
        if self._transport == "auto" and self.supervisor in self._helper.indirect:
            return "it did not reach this supervisor before"
        if self._tls != uses_tls():
            return "RAY_USE_TLS is not the same here and on the node"
        return ""

    def _ticket_for(self, purpose: str) -> bytes:
        ticket, self._ticket = self._ticket, b""
        if not ticket:
            ticket = self._helper.ask("ticket", _REQUEST_SECONDS, sandbox=self.id, purpose=purpose)
        if type(ticket) is not bytes:
            raise ProtocolError("a ticket is bytes")
        return ticket

    def call(
        self, method: str, arguments: dict[str, Any], *, timeout: float = _REQUEST_SECONDS
    ) -> Any:
        """Carry out a small request on the node and return plain data, which is not trusted.

        Args:
            method: as the kind of the sandbox knows it.
            arguments: plain data, at most a few megabytes.
            timeout: seconds to wait at most.

        Raises:
            ForkError: what the node raised, or the sandbox or its node is gone.
        """
        with self.named():
            return self._helper.ask(
                "call",
                timeout,
                sandbox=self.id,
                method=method,
                arguments=arguments,
                limit=timeout,
            )

    def record_call(self, seconds: float) -> None:
        """Record the time of a run of code for the figures of its node; never waits or raises.

        Args:
            seconds: the time, that of tools included.
        """
        self._helper.record_call(self.supervisor, self.tenant, seconds)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Name sandbox, node and tenant in the errors of the block."""
        try:
            yield
        except ForkError as error:
            text = str(error)
            raise (error if self.id in text else error.reworded(f"{self}: {text}")) from error

    def remove(self) -> None:
        """End it in the background. Idempotent; safe in a finaliser."""
        if self._begin_removal():
            self._helper.post("remove", sandbox=self.id)

    def remove_and_wait(self, timeout: float) -> None:
        """End it, and wait until its node has removed it. Idempotent.

        Args:
            timeout: seconds to wait at most.

        Raises:
            ForkError: it took longer, or the node is lost; then its lease ends it.
        """
        if self._begin_removal():
            self._helper.ask("remove", timeout, sandbox=self.id)

    def _begin_removal(self) -> bool:
        if self._removed or self._owner.inherited:
            return False
        self._removed = True
        return True


class Cluster:
    """A user of a cluster's helper process.

    Args:
        address: of the head, as ``ray.init`` takes it.
        transport: ``auto``, ``direct`` or ``ray``.
        connect_seconds: that the head may take to accept a connection and to say something.
        note: takes a line for the user's log.

    Raises:
        EngineUnavailableError: the cluster cannot be reached; says why.
    """

    def __init__(
        self, address: str, transport: str, connect_seconds: float, *, note: Note = no_note
    ) -> None:
        self._address = address
        self._connect_seconds = connect_seconds
        self._transport = transport
        self._note = note
        self._lock = threading.Lock()
        self._closed = False
        # Not this object: its note belongs to an executor that may be dropped without cleanup().
        self._user = object()
        self._helper = shared_helper(address, connect_seconds, self._user)

    def start(
        self,
        reservation: Reservation,
        options: dict[str, Any],
        *,
        tenant: str = "",
        purpose: str = "",
        timeout: float = 60.0,
        slot_timeout: float | None = None,
    ) -> RemoteSandbox:
        """Start a sandbox on any node with a free slot.

        It is started on another node if the first is lost meanwhile, or its engine does not answer.

        Args:
            reservation: of its supervisor; supervisors with an equal one are shared.
            options: of the kind of sandbox; plain data.
            tenant: named in messages; empty for none.
            purpose: of the stream that is opened first; empty for none.
            timeout: seconds to wait at most.
            slot_timeout: seconds of them to wait for a free slot; ``None``: all.

        Raises:
            EngineUnavailableError: the cluster is lost, or the nodes' engines do not answer.
            ExecutorStartError: it did not start, or no slot was free.
        """
        helper = self._running_helper()
        made = helper.ask(
            "start",
            timeout,
            reservation=reservation.as_data(),
            options=options,
            tenant=tenant,
            purpose=purpose,
            limit=timeout,
            slot_limit=timeout if slot_timeout is None else slot_timeout,
        )
        return RemoteSandbox(helper, made, tenant, self._transport, self._note)

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor of this process."""
        found = self._running_helper().ask("stats", _REQUEST_SECONDS)
        if type(found) is not list:
            raise ProtocolError("the helper process sent figures that are not a list")
        return [NodeStats(**fields_of(one, FIGURES, "figures of a supervisor")) for one in found]

    def nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation once they are free.

        Args:
            reservation: of a supervisor.

        Raises:
            EngineUnavailableError: the cluster is lost, or does not answer.
        """
        data = reservation.as_data()
        found = self._running_helper().ask("nodes", _REQUEST_SECONDS, reservation=data)
        if type(found) is not list or not all(type(node) is str for node in found):
            raise ProtocolError("the helper process sent nodes that are not a list of ids")
        return found

    def _running_helper(self) -> HelperProcess:
        with self._lock:
            if self._helper.ended or self._helper.owner.inherited:
                self._helper = shared_helper(self._address, self._connect_seconds, self._user)
            return self._helper

    def close(self) -> None:
        """Give the helper back; sandboxes are removed one by one. Idempotent."""
        if not self._closed:
            self._closed = True
            released(self._helper, self._user)


def waiting_starts(address: str) -> str:
    """Return what starts of this process wait for; empty if none does, or nobody answers.

    Takes ten seconds at most.

    Args:
        address: of the cluster.
    """
    helper = running_helper(address)
    if helper is not None:
        with contextlib.suppress(ForkError):
            return str(helper.ask("waiting", _WAITING_SECONDS))
    return ""
