"""Program of the placer process, which alone calls Ray.

Ray ends its process a minute after the head is lost. Here that ends the placer, and the host lives
on. The placer ends when the host closes the connection, or dies; its supervisors end with it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from ..deadline import Deadline
from ..errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
)
from . import ray_calls
from .head_check import probe_head
from .node_link import (
    KEY_BYTES,
    AnswerStream,
    FrameSocket,
    RequestServer,
    answer_of,
    ask,
    connect,
    uses_tls,
)
from .plain_data import (
    NodeStats,
    Reservation,
    SlotRequest,
    SupervisorPlace,
    as_data,
    failure_data,
    from_data,
)

__all__ = ["Placer", "Remote", "Supervisors", "main"]

_HEAD_SECONDS = 3.0
_BEAT_SECONDS = 1.0
# Pause before a connection is opened again, or a supervisor is asked for again, in seconds.
_AGAIN_SECONDS = 0.02
_CONNECT_SECONDS = 10.0
_REMOVE_SECONDS = 60.0
_CLOSE_SECONDS = 3.0
# Time for which a supervisor without sandboxes stays, for the next executor, in seconds.
_IDLE_SECONDS = 60.0


def main(number: int, address: str) -> None:
    """Serve the host until it closes the connection for events; never returns.

    Args:
        number: descriptor of a listening socket; its key is on standard input.
        address: Address of the cluster's head.
    """
    code = 0
    try:
        # Ctrl-C on a terminal is the host's to handle.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
        placer = Placer()
        # As long as the key, not up to the end: a fork of the host may have the other end open.
        key = sys.stdin.buffer.read(KEY_BYTES)
        placer.listen(socket.socket(fileno=number), key, tls=False)
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


class Placer(RequestServer):
    """Serves the host, which has one connection for events and one for each request."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._supervisors: Supervisors | None = None
        self._head = ""
        self._figures = ray_calls.Figures("wait", "start", "request", "call")

    def connect(self, address: str) -> None:
        """Connect to the cluster; the events say what came of it.

        Args:
            address: Address of the head, as ``ray.init`` takes it.
        """
        try:
            self._head = ray_calls.connect_to_ray(address)
            self._supervisors = Supervisors(self._head, self._tell)
        except ForkError as error:
            self._tell(connected=failure_data(error))
        else:
            self._tell(connected=None)

    def _tell(self, **event: Any) -> None:
        self._events.put(event)

    def wait(self) -> None:
        """Wait for the host's end, and end the supervisors."""
        self._ended.wait()
        if self._supervisors is not None:
            self._supervisors.close()

    # -- requests --

    def do_events(self, _connection: socket.socket) -> AnswerStream:
        """Send events, and take the requests whose answers nobody waits for."""
        return AnswerStream(None, self._serve_events)

    def _serve_events(self, connection: socket.socket) -> None:
        frames = FrameSocket(connection)
        threading.Thread(target=self._send_events, args=(frames,), daemon=True).start()
        try:
            while (posted := frames.receive()) is not None:
                threading.Thread(target=self._carry_out, args=(posted,), daemon=True).start()
        finally:
            self._ended.set()

    def _send_events(self, frames: FrameSocket) -> None:
        with contextlib.suppress(OSError):
            while True:
                frames.send(self._events.get())

    def _carry_out(self, posted: dict[str, Any]) -> None:
        with contextlib.suppress(ForkError):
            getattr(self, f"do_{posted['op']}")(None, **posted["arguments"])

    def do_acquire(self, _connection: Any, request: dict[str, Any]) -> dict[str, Any]:
        """Return the place of a supervisor, a slot of which is the sandbox's until its removal."""
        probe_head(self._head, _HEAD_SECONDS)
        asked = from_data(SlotRequest, request)
        return dict(as_data(self._connected.acquire(asked, Deadline(asked.seconds)).place))

    def do_remove(self, _connection: Any, sandbox: str) -> None:
        """End a sandbox."""
        try:
            self._connected.remove(sandbox)
        finally:
            self._tell(removed=sandbox)

    def do_suspect(self, _connection: Any, sandbox: str) -> None:
        """Find out whether the supervisor of a sandbox is there."""
        self._connected.suspect(sandbox)

    def do_nodes(self, _connection: Any, reservation: dict[str, Any]) -> list[str]:
        """Return the ids of the nodes that can have a reservation."""
        return ray_calls.fitting_nodes(from_data(Reservation, reservation))

    def do_record(self, _connection: Any, times: list[tuple[str, float, str, str, str]]) -> None:
        """Record times; see :meth:`Figures.record`."""
        self._figures.record(times)

    def do_waiting(self, _connection: Any) -> str:
        """Return what starts wait for; empty if none does."""
        return self._connected.waiting()

    def do_stats(self, _connection: Any) -> list[dict[str, Any]]:
        """Return the figures of each supervisor."""
        return [as_data(stats) for stats in self._connected.stats()]

    @property
    def _connected(self) -> Supervisors:
        if self._supervisors is None:
            raise ConfigurationError("the placer is not connected")
        return self._supervisors


class Remote:
    """A supervisor as the placer sees it.

    Args:
        place: Place of the supervisor.
        reservation: Reservation of the supervisor.
        created: by which Ray knows it.
        lease: the connection for heartbeats.
    """

    def __init__(
        self,
        place: SupervisorPlace,
        reservation: Reservation,
        created: ray_calls.CreatingSupervisor,
        lease: FrameSocket,
    ) -> None:
        self.place = place
        self.reservation = reservation
        self.created = created
        self.lease: FrameSocket | None = lease
        self.sandboxes: set[str] = set()
        self.idle_since = self.heard = time.monotonic()
        #: Whether it has to end, because it has no sandbox or the host has none any more.
        self.ending = False
        #: Set when the next heartbeat is due now.
        self.wake = threading.Event()
        self.watcher: threading.Thread | None = None

    @property
    def free(self) -> int:
        """Slots that a sandbox may have."""
        return 0 if self.ending else self.reservation.slots - len(self.sandboxes)

    def end(self) -> None:
        """Have its process end."""
        self.ending = True
        self.wake.set()


class Supervisors:
    """Finds a supervisor with a free slot for each sandbox, or has Ray make one.

    Args:
        cluster: name of the cluster.
        tell: takes an event: the sandboxes of a supervisor that is given up, and why.
    """

    def __init__(self, cluster: str, tell: Callable[..., None]) -> None:
        self._cluster = cluster
        self._tell = tell
        self._changed = threading.Condition()
        self._remotes: list[Remote] = []
        # Sandboxes that wait for a slot, and those of them for which Ray makes a supervisor.
        self._waiting: dict[str, Reservation] = {}
        self._asked: dict[str, Reservation] = {}
        # Nodes that have not answered.
        self._silent_nodes: set[str] = set()
        self._closed = False

    def acquire(self, request: SlotRequest, deadline: Deadline) -> Remote:
        """Return a supervisor, of which a slot is the sandbox's until :meth:`remove`.

        Args:
            request: Request of the host.
            deadline: Deadline of the wait; the error has its seconds.

        Raises:
            SandboxDiedError: a node was lost while it was asked for a supervisor.
            ExecutorStartError: no node is large enough, or none was free in time.
        """
        try:
            with self._changed:
                self._waiting[request.sandbox] = request.reservation
            remote = self._wait_for_slot(request, deadline)
            if remote is not None:
                return remote
            with self._changed:
                busy = self._busy(request.reservation)
        finally:
            with self._changed:
                self._waiting.pop(request.sandbox, None)
                self._asked.pop(request.sandbox, None)
                self._changed.notify_all()
        # Without the lock, which heartbeats need: Ray is asked for the capacity.
        raise ExecutorStartError(
            f"no slot for a sandbox became free in {deadline.seconds or 0.0:.0f} s: {busy}; "
            f"{ray_calls.shown_capacity()}: close executors that are no longer used, add nodes, "
            "lower slots_per_node=, or raise startup_timeout_seconds="
        )

    def remove(self, sandbox: str) -> None:
        """End a sandbox, also one that waits or starts, and give its slot back. Idempotent."""
        with self._changed:
            self._waiting.pop(sandbox, None)
        remote = self._remote_of(sandbox)
        if remote is None:
            return
        # A supervisor that cannot be reached is lost, or about to be: its lease ends the sandbox.
        with contextlib.suppress(OSError, ForkError):
            ask(remote.place, _REMOVE_SECONDS, "remove", sandbox=sandbox)
        with self._changed:
            remote.sandboxes.discard(sandbox)
            remote.idle_since = time.monotonic()
            self._changed.notify_all()

    def suspect(self, sandbox: str) -> None:
        """Find out at once whether the supervisor of a sandbox is there; its stream has ended."""
        remote = self._remote_of(sandbox)
        if remote is not None:
            remote.wake.set()

    def _remote_of(self, sandbox: str) -> Remote | None:
        with self._changed:
            return next((one for one in self._remotes if sandbox in one.sandboxes), None)

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor."""
        now = time.monotonic()
        with self._changed:
            return [
                NodeStats(
                    one.place.node,
                    one.place.supervisor,
                    one.reservation.slots,
                    len(one.sandboxes),
                    "",
                    now - one.heard,
                )
                for one in self._remotes
            ]

    def waiting(self) -> str:
        """Return what starts wait for, as in the error of one that waited too long; or empty."""
        with self._changed:
            busy = [self._busy(one) for one in dict.fromkeys(self._waiting.values())]
        # Without the lock, as above.
        return "; ".join([*busy, ray_calls.shown_capacity()]) if busy else ""

    def close(self) -> None:
        """End all supervisors; waits a few seconds for them."""
        deadline = Deadline(_CLOSE_SECONDS)
        with self._changed:
            self._closed = True
            remotes = list(self._remotes)
        for one in remotes:
            one.end()
        for one in remotes:
            if one.watcher is not None:
                one.watcher.join(deadline.at_most(_CLOSE_SECONDS))

    # -- the caller has the lock --

    def _take_slot(self, request: SlotRequest) -> Remote | None:
        if request.sandbox not in self._waiting or self._closed:
            raise ExecutorStartError(f"sandbox {request.sandbox} was removed before it started")
        group = [
            one
            for one in self._remotes
            if one.reservation == request.reservation and one.free > 0
            if one.place.node not in request.without
        ]
        if not group:
            return None
        remote = min(group, key=lambda one: (one.place.node in request.avoided, -one.free))
        remote.sandboxes.add(request.sandbox)
        return remote

    def _busy(self, reservation: Reservation) -> str:
        group = [one for one in self._remotes if one.reservation == reservation]
        used = sum(len(one.sandboxes) for one in group)
        asked = list(self._asked.values()).count(reservation)
        return (
            f"{used} of {len(group) * reservation.slots} slots in use on {len(group)} nodes, "
            f"{asked} more asked of Ray, each with {reservation}"
        )

    # -- the caller has not --

    def _wait_for_slot(self, request: SlotRequest, deadline: Deadline) -> Remote | None:
        """Take a slot that becomes free, or have Ray make a supervisor where more are needed."""
        reservation = request.reservation
        while not deadline.expired():
            with self._changed:
                remote = self._take_slot(request)
                if remote is not None:
                    return remote
                waiting = list(self._waiting.values()).count(reservation)
                asked = list(self._asked.values()).count(reservation)
                if request.sandbox not in self._asked and asked * reservation.slots >= waiting:
                    self._changed.wait(deadline.at_most(1.0))
                    continue
                self._asked[request.sandbox] = reservation
            remote = self._create(request, deadline)
            if remote is not None:
                return remote
        return None

    def _create(self, request: SlotRequest, deadline: Deadline) -> Remote | None:
        """Have Ray make a supervisor, unless a slot becomes free elsewhere meanwhile."""
        reservation = request.reservation
        ray_calls.check_fits(reservation)
        avoided = self._avoided(request)
        created = ray_calls.CreatingSupervisor(reservation, self._cluster, avoided)
        place = None
        try:
            while (place := created.place()) is None:
                self._end_idle(reservation)
                with self._changed:
                    remote = self._take_slot(request)
                if remote is not None or deadline.expired():
                    created.kill()
                    return remote
            if place.tls != uses_tls():
                raise ExecutorStartError(
                    f"node {place}: RAY_USE_TLS is not the same here and on the node"
                )
            remote = Remote(place, reservation, created, _open_lease(place, _CONNECT_SECONDS))
        except BaseException as error:
            created.kill()
            if isinstance(error, OSError):
                raise ExecutorStartError(f"node {place}: {error}") from error
            raise
        with self._changed:
            self._remotes.append(remote)
            remote.watcher = threading.Thread(target=self._watch, args=(remote,), daemon=True)
            remote.watcher.start()
            self._changed.notify_all()
            return self._take_slot(request)

    def _avoided(self, request: SlotRequest) -> Collection[str]:
        """Return the nodes that get no new supervisor now; none if no other node can have it."""
        with self._changed:
            silent = set(self._silent_nodes)
        alive = ray_calls.alive_nodes() if silent else None
        back = set()
        if alive is not None:
            # Those that answer again, and those that Ray has given up itself.
            back = {node for node in silent if node not in alive or ray_calls.answers(alive[node])}
        with self._changed:
            self._silent_nodes -= back
        avoided = {*(silent - back), *request.without, *request.avoided}
        if avoided and not request.reservation.node:
            with contextlib.suppress(EngineUnavailableError):
                if set(ray_calls.fitting_nodes(request.reservation)) - avoided:
                    return avoided
        return request.without

    def _end_idle(self, wanted: Reservation) -> None:
        """Have supervisors of other reservations end that have no sandboxes: Ray may need room."""
        with self._changed:
            for one in self._remotes:
                if one.reservation != wanted and not one.sandboxes:
                    one.end()

    def _watch(self, remote: Remote) -> None:
        try:
            reason = self._keep_lease(remote)
        except Exception as error:
            reason = f"its heartbeats failed: {type(error).__name__}: {error}"
        ago = time.monotonic() - remote.heard
        with self._changed:
            self._remotes.remove(remote)
            self._changed.notify_all()
        if reason and not remote.ending:
            text = (
                f"the supervisor of node {remote.place} was given up: {reason}; it was last heard "
                f"of {ago:.1f} s ago"
            )
            self._tell(lost=sorted(remote.sandboxes), reason=text)
        if remote.lease is not None:
            remote.lease.close()
        remote.created.kill()

    def _keep_lease(self, remote: Remote) -> str:
        """Send heartbeats until the supervisor ends, and return why; empty if it was told to.

        A connection that ends is opened again, for it may have been cut.
        """
        silent, asked, ends = 0.0, False, False
        while True:
            begun = time.monotonic()
            try:
                if remote.lease is None:
                    remote.lease, asked = _open_lease(remote.place, 2 * _BEAT_SECONDS), False
                if not asked:
                    ends = remote.ending
                    remote.lease.send({"end": ends})
                    asked = True
                if remote.lease.receive(_BEAT_SECONDS) is not None:
                    remote.heard, silent, asked = time.monotonic(), 0.0, False
                    if ends:
                        return ""
                    self._end_if_idle(remote)
                    remote.wake.wait(_BEAT_SECONDS)
                    remote.wake.clear()
                    continue
                self._drop_lease(remote)
            except ConnectionRefusedError:
                return "nothing listens on its port, so its process has ended"
            except ProtocolError as error:
                return str(error)
            except TimeoutError:
                pass
            except OSError:
                self._drop_lease(remote)
            time.sleep(_AGAIN_SECONDS)
            # A pause of this machine is not silence of the other.
            silent += min(time.monotonic() - begun, 3 * _BEAT_SECONDS)
            if silent > remote.reservation.silent_seconds:
                with self._changed:
                    self._silent_nodes.add(remote.place.node)
                return f"it did not answer for {silent:.0f} s"

    def _drop_lease(self, remote: Remote) -> None:
        if remote.lease is not None:
            remote.lease.close()
        remote.lease = None

    def _end_if_idle(self, remote: Remote) -> None:
        with self._changed:
            idle = time.monotonic() - remote.idle_since
            if not remote.sandboxes and idle > _IDLE_SECONDS:
                remote.end()


def _open_lease(place: SupervisorPlace, seconds: float) -> FrameSocket:
    connection = connect(place, seconds, "lease")
    try:
        answer_of(connection, seconds)
    except BaseException:
        connection.close()
        raise
    return FrameSocket(connection)
