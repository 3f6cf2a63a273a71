"""Program of the placer process, which alone calls Ray: it places supervisors, and renews leases.

Ray ends its process a minute after the head is lost. Here that ends the placer, and the host lives
on. The placer ends when the host closes the connection, or dies; its supervisors end with it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from ..deadline import Deadline
from ..errors import ExecutorStartError, ForkError
from ..sandboxes.lease_keeper import Lease
from ..system.closing import close_on_error
from . import ray_calls
from .head_check import check_head
from .node_link import FrameSocket, answer_of, answer_to, ask, connect, uses_tls
from .plain_data import Reservation, SupervisorPlace

__all__ = ["Placer", "SupervisorLease", "main"]

# Limits of a supervisor's first connection, and the least of the next ones, in seconds.
_CONNECT_SECONDS, _LEAST_SECONDS = 10.0, 1.0
_REMOVE_SECONDS = 60.0
_CLOSE_SECONDS = 3.0


def main(number: int, address: str) -> None:
    """Serve the host until it closes the connection; never returns.

    The first message answers a request 0, which the host does not send: whether Ray is connected.

    Args:
        number: descriptor of the connection.
        address: Address of the cluster's head.
    """
    code = 0
    try:
        # Ctrl-C on a terminal is the host's to handle.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
        host = FrameSocket(socket.socket(fileno=number))
        # In the main thread: Ray sets handlers of signals.
        connected = answer_to(lambda: ray_calls.connect_to_ray(address))
        host.send({"number": 0, **connected})
        if "ok" in connected:
            Placer(host, connected["ok"]).serve()
    except BaseException:
        code = 1
        raise
    finally:
        # Not Ray's own handlers at exit, which wait for a head that may be gone.
        os._exit(code)


def _watch_parent(parent: int) -> None:
    # A fork of the host may have the other end open for longer than the host lives.
    while os.getppid() == parent:
        time.sleep(1.0)
    time.sleep(5.0)
    os._exit(0)


class Placer:
    """Serves the host, over one connection."""

    def __init__(self, host: FrameSocket, head: str) -> None:
        self._host, self._head = host, head
        self._sending = threading.Lock()
        self._histograms = ray_calls.make_histograms()
        self._leases: dict[str, SupervisorLease] = {}
        # Supervisors that are made, and still wanted.
        self._creations: set[str] = set()

    def serve(self) -> None:
        """Carry out requests until the host's end; then end the supervisors in a few seconds."""
        with contextlib.suppress(OSError):
            while (request := self._host.receive()) is not None:
                threading.Thread(target=self._carry_out, args=(request,), daemon=True).start()
        deadline = Deadline(_CLOSE_SECONDS)
        leases = list(self._leases.values())
        ends = [threading.Thread(target=lease.end, daemon=True) for lease in leases]
        for end in ends:
            end.start()
        for end in ends:
            end.join(deadline.at_most(_CLOSE_SECONDS))

    def _carry_out(self, request: dict[str, Any]) -> None:
        work: Callable[..., Any] = getattr(self, f"do_{request['op']}")
        answer = answer_to(lambda: work(**request["arguments"]))
        self._send({"number": request["number"], **answer})

    def _send(self, message: dict[str, Any]) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._host.send(message)

    # -- requests --

    def do_create(
        self,
        creation: str,
        reservation: Reservation,
        without: list[str],
        avoided: list[str],
        seconds: float,
    ) -> SupervisorPlace | None:
        """Have Ray make a supervisor, and keep its lease.

        Args:
            creation: by which the host may cancel it.
            reservation: Reservation of the supervisor.
            without: ids of nodes that it must not be on.
            avoided: ids of nodes that it must not be on where another can have it.
            seconds: Seconds to wait at most.

        Returns:
            its place; ``None`` if it was cancelled, or is late.

        Raises:
            EngineUnavailableError: the head cannot be reached, or does not answer.
            SandboxDiedError: a node was lost while it was asked for a supervisor.
            ExecutorStartError: no node is large enough, or it did not start.
        """
        self._creations.add(creation)
        created = None
        try:
            # Ray waits for a head that is gone, until this process ends.
            check_head(self._head, _CONNECT_SECONDS)
            if set(ray_calls.fitting_nodes(reservation)) - {*without, *avoided}:
                without = [*without, *avoided]
            created = ray_calls.CreatingSupervisor(reservation, without)
            lease = self._wait_for_supervisor(creation, reservation, created, Deadline(seconds))
        except BaseException:
            if created is not None:
                created.kill()
            raise
        finally:
            self._creations.discard(creation)
        if lease is None:
            created.kill()
            return None
        self._leases[lease.place.supervisor] = lease
        lease.keep(functools.partial(self._note_end, lease))
        return lease.place

    def _wait_for_supervisor(
        self,
        creation: str,
        reservation: Reservation,
        created: ray_calls.CreatingSupervisor,
        deadline: Deadline,
    ) -> SupervisorLease | None:
        while (place := created.place()) is None:
            if creation not in self._creations or deadline.expired():
                return None
        if place.tls != uses_tls():
            raise ExecutorStartError(
                f"node {place}: RAY_USE_TLS differs between this process and the node"
            )
        try:
            return SupervisorLease(place, reservation, created)
        except OSError as error:
            raise ExecutorStartError(f"node {place}: {error}") from error

    def do_cancel(self, creation: str) -> None:
        """Stop making a supervisor."""
        self._creations.discard(creation)

    def do_remove(self, supervisor: str, sandbox: str) -> None:
        """End a sandbox, also one that starts."""
        lease = self._leases.get(supervisor)
        # A supervisor that cannot be reached is lost, or about to be: its lease ends the sandbox.
        if lease is not None:
            with contextlib.suppress(OSError, ForkError):
                ask(lease.place, _REMOVE_SECONDS, "remove", sandbox=sandbox)

    def do_end(self, supervisor: str) -> None:
        """End a supervisor."""
        lease = self._leases.get(supervisor)
        if lease is not None:
            lease.end()
            self._note_end(lease, "")

    def do_nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation once they are free."""
        return ray_calls.fitting_nodes(reservation)

    def do_capacity(self) -> str:
        """Return what the cluster has and what is free, for a message."""
        return ray_calls.describe_capacity()

    def do_heard(self) -> dict[str, float]:
        """Return for how many seconds each supervisor has not been heard of."""
        return {name: lease.heard_seconds_ago for name, lease in list(self._leases.items())}

    def do_record(self, name: str, seconds: float, **tags: str) -> None:
        """Record a time, with its node, kind and tenant."""
        self._histograms[name].observe(seconds, tags)

    def _note_end(self, lease: SupervisorLease, reason: str) -> None:
        """Tell the host of the end of a lease, once."""
        if self._leases.pop(lease.place.supervisor, None) is None:
            return
        if reason:
            reason = (
                f"the supervisor of node {lease.place} was given up: {reason}; it was last heard "
                f"of {lease.heard_seconds_ago:.1f} s ago"
            )
        self._send({"lost": lease.place.supervisor, "reason": reason})


class SupervisorLease:
    """A supervisor, and its lease, which heartbeats over one connection renew.

    One connection for all of them: strangers who keep a node from accepting others end no lease.

    Raises:
        OSError: the supervisor cannot be reached; says where.
    """

    def __init__(
        self,
        place: SupervisorPlace,
        reservation: Reservation,
        created: ray_calls.CreatingSupervisor,
    ) -> None:
        self.place = place
        self._seconds = reservation.silent_seconds
        self._created = created
        self._connection = self._connect(_CONNECT_SECONDS)
        self._lease: Lease | None = None
        self._is_refused = self._is_ending = False

    def _connect(self, seconds: float) -> socket.socket:
        deadline = Deadline(seconds)
        connection = connect(self.place, seconds, "lease")
        with close_on_error(connection):
            answer_of(connection, max(0.1, deadline.at_most(seconds)))
        connection.setblocking(False)
        return connection

    def keep(self, note_end: Callable[[str], None]) -> None:
        """Send heartbeats until the supervisor ends.

        Args:
            note_end: takes the reason for which it was given up; empty if it had to end.
        """

        def lose(_broken: str) -> None:
            if self._is_ending:
                reason = ""
            elif self._is_refused:
                reason = "nothing listens on its port, so its process has ended"
            else:
                reason = f"it did not answer for {self.heard_seconds_ago:.0f} s"
            note_end(reason)
            self._created.kill()

        self._lease = Lease(self._connection, self._connect_again, self._seconds, lose)

    def _connect_again(self) -> socket.socket | None:
        """Open another connection; ``None`` if the supervisor has ended."""
        if self._is_ending:
            return None
        try:
            # All the time that is left: a busy node needs a while for a connection.
            return self._connect(max(_LEAST_SECONDS, self._seconds - self.heard_seconds_ago))
        except ConnectionRefusedError:
            self._is_refused = True
            return None

    @property
    def heard_seconds_ago(self) -> float:
        """Seconds since the last answer."""
        if self._lease is None:
            return 0.0
        return time.monotonic() - self._lease.first_process.heard_at

    def end(self) -> None:
        """End the supervisor's process; waits a few seconds for its sandboxes."""
        self._is_ending = True
        with contextlib.suppress(OSError, ForkError):
            ask(self.place, _CLOSE_SECONDS, "end")
        self._created.kill()
        if self._lease is not None:
            self._lease.close()
