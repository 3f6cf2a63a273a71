"""Program of the placer process, which alone calls Ray: it places supervisors, and renews leases.

Ray ends its process a minute after the head is lost. Here that ends the placer, and the host lives
on. The placer ends when the host closes the connection, or dies; its supervisors end with it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from ..deadline import Deadline
from ..errors import ExecutorStartError, ForkError
from . import ray_calls
from .head_check import check_head
from .node_link import FrameSocket, answer_of, answer_to, ask, connect, uses_tls
from .plain_data import Reservation, SupervisorPlace

__all__ = ["Placer", "SupervisorLease", "main"]

_BEAT_SECONDS = 1.0
# Answers to heartbeats that are read at once, each of a byte.
_MOST_ANSWERS = 64
# Pause before a connection is opened again, in seconds.
_AGAIN_SECONDS = 0.02
_CONNECT_SECONDS = 10.0
_REMOVE_SECONDS = 60.0
_CLOSE_SECONDS = 3.0


def main(number: int, address: str) -> None:
    """Serve the host until it closes the connection; never returns.

    Args:
        number: descriptor of the connection.
        address: Address of the cluster's head.
    """
    code = 0
    try:
        # Ctrl-C on a terminal is the host's to handle.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
        placer = Placer(FrameSocket(socket.socket(fileno=number)))
        # In the main thread: Ray sets handlers of signals.
        placer.connect(address)
        placer.wait()
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
    """Serves the host, over one connection.

    Args:
        host: the connection.
    """

    def __init__(self, host: FrameSocket) -> None:
        self._host = host
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._is_connected = threading.Event()
        self._head = ""
        self._failure: ForkError | None = None
        self._figures = ray_calls.Figures("wait", "start", "request", "call")
        self._lock = threading.Lock()
        self._leases: dict[str, SupervisorLease] = {}
        # Supervisors that are made, and still wanted.
        self._creations: set[str] = set()
        threading.Thread(target=self._serve, daemon=True).start()

    def connect(self, address: str) -> None:
        """Connect to the cluster; the host asks what came of it.

        Args:
            address: Address of the head, as ``ray.init`` takes it.
        """
        try:
            self._head = ray_calls.connect_to_ray(address)
        except ForkError as error:
            self._failure = error
        self._is_connected.set()

    def wait(self) -> None:
        """Wait for the host's end, and end the supervisors within a few seconds."""
        self._ended.wait()
        deadline = Deadline(_CLOSE_SECONDS)
        with self._lock:
            leases = list(self._leases.values())
        ends = [threading.Thread(target=one.end, daemon=True) for one in leases]
        for end in ends:
            end.start()
        for end in ends:
            end.join(deadline.at_most(_CLOSE_SECONDS))

    def _serve(self) -> None:
        try:
            while (request := self._host.receive()) is not None:
                threading.Thread(target=self._carry_out, args=(request,), daemon=True).start()
        finally:
            self._ended.set()

    def _carry_out(self, request: dict[str, Any]) -> None:
        work: Callable[..., Any] = getattr(self, f"do_{request['op']}")
        answer = answer_to(lambda: work(**request["arguments"]))
        self._send({"number": request["number"], **answer})

    def _send(self, message: dict[str, Any]) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._host.send(message)

    # -- requests --

    def do_connected(self) -> None:
        """Wait for the connection to the cluster."""
        self._is_connected.wait()
        if self._failure is not None:
            raise self._failure

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
        try:
            # Ray waits for a head that is gone, until this process ends.
            check_head(self._head, _CONNECT_SECONDS)
            all_avoided = [*without, *avoided]
            others = set(ray_calls.fitting_nodes(reservation)) - set(all_avoided)
            now_avoided = all_avoided if others else without
            return self._create(creation, reservation, now_avoided, Deadline(seconds))
        finally:
            self._creations.discard(creation)

    def _create(
        self, creation: str, reservation: Reservation, avoided: Collection[str], deadline: Deadline
    ) -> SupervisorPlace | None:
        created = ray_calls.CreatingSupervisor(reservation, self._head, avoided)
        try:
            while (place := created.place()) is None:
                if creation not in self._creations or deadline.expired():
                    created.kill()
                    return None
            if place.tls != uses_tls():
                raise ExecutorStartError(
                    f"node {place}: RAY_USE_TLS is not the same here and on the node"
                )
            lease = SupervisorLease(place, reservation, created)
        except BaseException as error:
            created.kill()
            if isinstance(error, OSError):
                raise ExecutorStartError(f"node {place}: {error}") from error
            raise
        with self._lock:
            self._leases[place.supervisor] = lease
        threading.Thread(target=self._keep, args=(lease,), daemon=True).start()
        return place

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

    def do_nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation once they are free."""
        return ray_calls.fitting_nodes(reservation)

    def do_capacity(self) -> str:
        """Return what the cluster has and what is free, for a message."""
        return ray_calls.shown_capacity()

    def do_heard(self) -> dict[str, float]:
        """Return for how many seconds each supervisor has not been heard of."""
        now = time.monotonic()
        with self._lock:
            return {name: now - lease.heard for name, lease in self._leases.items()}

    def do_record(self, times: list[tuple[str, float, str, str, str]]) -> None:
        """Record times; see :meth:`Figures.record`."""
        self._figures.record(times)

    # -- leases --

    def _keep(self, lease: SupervisorLease) -> None:
        """Keep a lease, and tell the host of its end."""
        reason = lease.keep()
        with self._lock:
            del self._leases[lease.place.supervisor]
        if reason:
            ago = time.monotonic() - lease.heard
            reason = (
                f"the supervisor of node {lease.place} was given up: {reason}; it was last heard "
                f"of {ago:.1f} s ago"
            )
        self._send({"lost": lease.place.supervisor, "reason": reason, "silent": lease.silent})


class SupervisorLease:
    """Heartbeats to a supervisor, over a connection that is opened again when it is lost.

    Args:
        place: Place of the supervisor.
        reservation: Reservation of the supervisor.
        created: by which Ray knows it.

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
        self._silent_seconds = reservation.silent_seconds
        self._created = created
        self._ending = False
        self.heard = time.monotonic()
        #: Whether it was given up because it did not answer.
        self.silent = False
        self._connection: socket.socket | None = self._open(_CONNECT_SECONDS)

    def _open(self, seconds: float) -> socket.socket:
        connection = connect(self.place, seconds, "lease")
        try:
            answer_of(connection, seconds)
        except BaseException:
            connection.close()
            raise
        return connection

    def keep(self) -> str:
        """Send heartbeats until the supervisor ends; return why it was given up.

        Returns:
            empty if it had to end.
        """
        silent, reason = 0.0, ""
        while not reason and not self._ending:
            begun = time.monotonic()
            try:
                self._beat()
            except ConnectionRefusedError:
                reason = "nothing listens on its port, so its process has ended"
            except (OSError, ForkError):  # it may have been cut
                self._close()
                time.sleep(_AGAIN_SECONDS)
            # A pause of this machine is not silence of the other.
            silent += min(time.monotonic() - begun, 3 * _BEAT_SECONDS)
            silent = 0.0 if self.heard >= begun else silent
            self.silent = silent > self._silent_seconds
            if self.silent:
                reason = f"it did not answer for {silent:.0f} s"
        self._close()
        if not self._ending:
            self._created.kill()
            return reason
        return ""

    def _beat(self) -> None:
        """Send a heartbeat, and read answers until the next one is due.

        Raises:
            OSError: the connection has ended, or cannot be opened again.
        """
        if self._connection is None:
            self._connection = self._open(2 * _BEAT_SECONDS)
        connection, deadline = self._connection, Deadline(_BEAT_SECONDS)
        connection.settimeout(_BEAT_SECONDS)
        connection.sendall(b"\n")
        with contextlib.suppress(TimeoutError):
            while not deadline.expired():
                connection.settimeout(max(0.001, deadline.at_most(_BEAT_SECONDS)))
                if not connection.recv(_MOST_ANSWERS):
                    raise ConnectionError("the supervisor ended the connection")
                self.heard = time.monotonic()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def end(self) -> None:
        """End the supervisor's process; waits a few seconds for its sandboxes."""
        self._ending = True
        with contextlib.suppress(OSError, ForkError):
            ask(self.place, _CLOSE_SECONDS, "end")
        self._created.kill()
