"""Supervisors on the nodes of a cluster, and the sandboxes that have their slots.

The users of a cluster in this process share its supervisors and their placer.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import secrets
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, TypeVar

from ..deadline import Deadline
from ..errors import EngineUnavailableError, ExecutorStartError, ForkError, SandboxDiedError
from ..system.forks import reset_in_child
from .placer_process import PlacerProcess
from .plain_data import NodeStats, Reservation, SupervisorPlace, check_data
from .remote_sandbox import RemoteSandbox, RemoteSupervisor

__all__ = ["Cluster", "Supervisors", "shared_supervisors"]

_REQUEST_SECONDS = 30.0
_WAITING_SECONDS = 3.0
# Longest time for Ray to make a supervisor; most starts have less.
_CREATION_SECONDS = 3600.0
# Nodes whose engines may not answer, one after the other, in one start.
_MOST_NODES = 4
# Pause before a start is made elsewhere, in seconds.
_AGAIN_SECONDS = 0.02
# Seconds for which a node whose supervisor was given up is used only where no other has a slot,
# until Ray has found out whether it is lost.
_GIVEN_UP_SECONDS = 20.0
# Pause between two looks for a free slot, in seconds.
_LOOK_SECONDS = 1.0
_Sandbox = TypeVar("_Sandbox", bound=RemoteSandbox)


class Supervisors:
    """Starts each sandbox where a supervisor has a free slot, or has the placer make one.

    Args:
        address: Address of the cluster's head.
        seconds: Seconds that the head may take to accept a connection and to say something.

    Raises:
        EngineUnavailableError: the cluster cannot be reached; says why.
    """

    def __init__(self, address: str, seconds: float) -> None:
        self._changed = threading.Condition()
        self._all: list[RemoteSupervisor] = []
        # What starts wait for.
        self._waiting: list[Reservation] = []
        self._creations: dict[Future[Any], Reservation] = {}
        # Nodes whose supervisors were given up, each with the monotonic time until it is avoided.
        self._given_up: dict[str, float] = {}
        self.placer = PlacerProcess(address, seconds, self._lose)

    # -- starts --

    def start(
        self,
        reservation: Reservation,
        options: dict[str, Any],
        make: Callable[[RemoteSupervisor, PlacerProcess, str], _Sandbox],
        *,
        tenant: str = "",
        timeout: float = 60.0,
        slot_timeout: float | None = None,
    ) -> _Sandbox:
        """Start a sandbox on any node with a free slot.

        It is started on another node if the first is lost meanwhile, or its engine does not answer.

        Args:
            reservation: of its supervisor; supervisors with an equal one are shared.
            options: of the kind of sandbox; plain data and instances of ``CLASSES``.
            make: makes the object for a sandbox, such as its class.
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
            slot_deadline = Deadline(deadline.at_most(slot_timeout or timeout))
            sandbox = None
            try:
                sandbox = self._take_slot(reservation, make, tenant, failed, slot_deadline)
                self._start(sandbox, options, max(1.0, deadline.at_most(timeout)))
                return sandbox
            except SandboxDiedError as error:  # elsewhere, for no code of a program has run
                if error.cause != "node" or deadline.expired():
                    raise
                time.sleep(_AGAIN_SECONDS)
            except ForkError as error:
                if sandbox is None or not isinstance(error, EngineUnavailableError):
                    if not failed:
                        raise
                    before = "; and ".join(failed.values())
                    raise error.rephrase(f"{error}; before that, {before}") from error
                # The engine of the node.
                supervisor = sandbox.supervisor
                failed[supervisor.place.node] = supervisor.engine_error = str(error)
                if len(failed) == _MOST_NODES or not self._has_other_nodes(reservation, failed):
                    raise EngineUnavailableError("; and ".join(failed.values())) from error

    def _start(self, sandbox: RemoteSandbox, options: dict[str, Any], seconds: float) -> None:
        """Have its node start a sandbox.

        Raises:
            EngineUnavailableError: the node's engine does not answer.
            SandboxDiedError: the node was lost meanwhile.
            ForkError: it did not start; says why.
        """
        begun, place, started = time.monotonic(), sandbox.supervisor.place, False
        try:
            sandbox.start(options, seconds)
            started = True
        except OSError as error:
            lost = sandbox.lost or isinstance(error, ConnectionError)
            cause = "node" if lost else "unknown"
            raise SandboxDiedError(f"node {place}: {error}", cause=cause) from error
        except ForkError as error:
            raise error.rephrase(f"node {place}: {error}") from error
        finally:
            if not started:  # or it is started yet
                sandbox.end()
        for supervisor in list(self._all):
            if supervisor.place.node == place.node:
                supervisor.engine_error = ""
        sandbox.record("start", time.monotonic() - begun, sandbox.tenant)

    def _has_other_nodes(self, reservation: Reservation, nodes: Collection[str]) -> bool:
        if reservation.node:
            return False
        try:
            return not set(self.nodes(reservation)) <= set(nodes)
        except ForkError:
            return False

    def nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation once they are free.

        Raises:
            EngineUnavailableError: the cluster is lost, or does not answer.
        """
        return list(self.placer.ask("nodes", _REQUEST_SECONDS, reservation=reservation))

    def _take_slot(
        self,
        reservation: Reservation,
        make: Callable[[RemoteSupervisor, PlacerProcess, str], _Sandbox],
        tenant: str,
        without: Collection[str],
        deadline: Deadline,
    ) -> _Sandbox:
        """Return a sandbox that has a slot until it is removed.

        Args:
            reservation: of the supervisor.
            make: makes the object for the sandbox.
            tenant: empty for none.
            without: ids of nodes on which the start has failed.
            deadline: Deadline of the wait; the error has its seconds.

        Raises:
            SandboxDiedError: a node was lost while it was asked for a supervisor.
            ExecutorStartError: no node is large enough, or none was free in time.
        """
        begun, sandbox, busy = time.monotonic(), None, ""
        with self._changed:
            self._waiting.append(reservation)
            try:
                supervisor = self._wait_for_slot(reservation, without, deadline)
                if supervisor is None:
                    busy = self._busy(reservation)
                else:
                    sandbox = make(supervisor, self.placer, tenant)
                    supervisor.sandboxes.add(sandbox)
            finally:
                self._waiting.remove(reservation)
                self._changed.notify_all()
                times = {"name": "wait", "seconds": time.monotonic() - begun}
                tags = {"node": "", "kind": reservation.kind, "tenant": tenant}
                self.placer.request("record", **times, **tags)
        if sandbox is not None:
            return sandbox
        # Without the lock: Ray is asked for the capacity.
        capacity = self.placer.ask("capacity", _WAITING_SECONDS)
        raise ExecutorStartError(
            f"no slot for a sandbox became free in {deadline.seconds or 0.0:.0f} s: {busy}; "
            f"{capacity}: close executors that are no longer used, add nodes, lower "
            "slots_per_node=, or raise startup_timeout_seconds="
        )

    # -- the caller has the lock --

    def _wait_for_slot(
        self, reservation: Reservation, without: Collection[str], deadline: Deadline
    ) -> RemoteSupervisor | None:
        """Return one with a free slot, which is made where more are needed; ``None`` if it is late.

        Raises:
            ForkError: none could be made.
        """
        name, creation = secrets.token_hex(6), None
        try:
            while (supervisor := self._free_supervisor(reservation, without)) is None:
                if creation is not None and creation.done():
                    _read_place(creation)
                    creation = None
                if deadline.expired():
                    return None
                asked_slots = self._count_requested(reservation) * reservation.slots
                if creation is None and asked_slots < self._waiting.count(reservation):
                    creation = self._create(name, reservation, without, deadline)
                elif not self._changed.wait(deadline.at_most(_LOOK_SECONDS)):
                    self._make_room(reservation)
            return supervisor
        finally:
            # A cluster that grows would get a node for it.
            if creation is not None and not creation.done():
                self.placer.request("cancel", creation=name)

    def _count_requested(self, reservation: Reservation) -> int:
        """Return how many supervisors Ray has been asked for and has not made yet."""
        return list(self._creations.values()).count(reservation)

    def _free_supervisor(
        self, reservation: Reservation, without: Collection[str]
    ) -> RemoteSupervisor | None:
        avoided = self._list_avoided_nodes()
        group = [
            (supervisor.place.node in avoided, -supervisor.free, number)
            for number, supervisor in enumerate(self._all)
            if supervisor.reservation == reservation
            and supervisor.free > 0
            and supervisor.place.node not in without
        ]
        return self._all[min(group)[-1]] if group else None

    def _list_avoided_nodes(self) -> list[str]:
        """Return the ids of the nodes that did not answer lately, or whose engines did not."""
        now = time.monotonic()
        dead_engines = [
            supervisor.place.node for supervisor in self._all if supervisor.engine_error
        ]
        return [*dead_engines, *(node for node, end in self._given_up.items() if end > now)]

    def _create(
        self, name: str, reservation: Reservation, without: Collection[str], deadline: Deadline
    ) -> Future[Any]:
        """Have Ray make a supervisor. One that is made although it was cancelled is used, too."""
        creation = self.placer.request(
            "create",
            creation=name,
            reservation=reservation,
            without=list(without),
            avoided=self._list_avoided_nodes(),
            seconds=deadline.at_most(_CREATION_SECONDS),
        )
        self._creations[creation] = reservation
        creation.add_done_callback(functools.partial(self._note_created, reservation))
        return creation

    def _make_room(self, reservation: Reservation) -> None:
        """End supervisors of other reservations that have no sandboxes: Ray may need room."""
        for supervisor in self._all:
            is_idle = not supervisor.sandboxes and not supervisor.ending
            if is_idle and supervisor.reservation != reservation:
                supervisor.ending = True
                self.placer.request("end", supervisor=supervisor.place.supervisor)

    def _busy(self, reservation: Reservation) -> str:
        group = [supervisor for supervisor in self._all if supervisor.reservation == reservation]
        used = sum(len(supervisor.sandboxes) for supervisor in group)
        return (
            f"{used} of {len(group) * reservation.slots} slots in use on {len(group)} nodes, "
            f"{self._count_requested(reservation)} more asked of Ray, each with {reservation}"
        )

    # -- what the placer says --

    def _note_created(self, reservation: Reservation, creation: Future[Any]) -> None:
        with self._changed:
            self._creations.pop(creation, None)
            with contextlib.suppress(ForkError):  # which the start that waits for it raises
                place = _read_place(creation)
                if place is not None:
                    self._all.append(RemoteSupervisor(place, reservation, self._changed))
            self._changed.notify_all()

    def _lose(self, supervisor_id: str, reason: str) -> None:
        """Note that a supervisor has ended, or all of them.

        Args:
            supervisor_id: Id of the supervisor; empty: all.
            reason: Reason for which it was given up; empty if it had to end.
        """
        with self._changed:
            ended = [
                supervisor
                for supervisor in self._all
                if supervisor_id in ("", supervisor.place.supervisor)
            ]
            self._all = [supervisor for supervisor in self._all if supervisor not in ended]
            for supervisor in ended if reason else ():
                self._given_up[supervisor.place.node] = time.monotonic() + _GIVEN_UP_SECONDS
            self._changed.notify_all()
        for supervisor in ended:
            for sandbox in list(supervisor.sandboxes):
                sandbox.lose(reason)

    # -- figures --

    def sandboxes(self) -> list[RemoteSandbox]:
        """Return the sandboxes that have slots, also those that start and end."""
        with self._changed:
            return [sandbox for supervisor in self._all for sandbox in supervisor.sandboxes]

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor."""
        heard: dict[str, float] = self.placer.ask("heard", _REQUEST_SECONDS)
        with self._changed:
            return [
                NodeStats(
                    supervisor.place.node,
                    supervisor.place.supervisor,
                    supervisor.reservation.slots,
                    len(supervisor.sandboxes),
                    supervisor.engine_error,
                    heard.get(supervisor.place.supervisor, 0.0),
                )
                for supervisor in self._all
            ]


def _read_place(creation: Future[Any]) -> SupervisorPlace | None:
    """Return the place of a supervisor that was made; ``None`` if it is late.

    Raises:
        ForkError: it was not made, or the placer's answer is none.
    """
    place = creation.result()
    return None if place is None else check_data(place, SupervisorPlace)


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
        self._supervisors = shared_supervisors(address, connect_seconds, self)

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor of this process."""
        return self.supervisors.stats()

    @property
    def supervisors(self) -> Supervisors:
        """Supervisors of this process; those of a new placer where it has ended.

        Whoever asks is a user of the placer, also again after :meth:`close`.

        Raises:
            EngineUnavailableError: the cluster cannot be reached; says why.
        """
        with self._lock:
            placer = self._supervisors.placer
            if placer.owner.inherited or not placer.use(self):
                self._supervisors = shared_supervisors(self._address, self._connect_seconds, self)
            return self._supervisors

    def sandboxes(self) -> list[RemoteSandbox]:
        """Return the sandboxes of this process that exist; those of a lost placer do not."""
        supervisors = self._supervisors
        return [] if supervisors.placer.owner.inherited else supervisors.sandboxes()

    def close(self) -> None:
        """Give the placer back; sandboxes are removed one by one. Idempotent."""
        self._supervisors.placer.users.discard(self)


_shared: dict[str, Supervisors] = {}
# For the time of a connection, which keeps no other cluster waiting.
_address_locks: dict[str, threading.RLock] = {}


def shared_supervisors(address: str, seconds: float, user: object) -> Supervisors:
    """Return the supervisors on a cluster, with a placer that is started if necessary.

    Args:
        address: Address of the cluster's head.
        seconds: see :class:`Supervisors`.
        user: keeps the placer running; see :attr:`PlacerProcess.users`.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """
    with _address_locks.setdefault(address, threading.RLock()):
        supervisors = _shared.get(address)
        if supervisors is None or not supervisors.placer.use(user):
            supervisors = _shared[address] = Supervisors(address, seconds)
            supervisors.placer.use(user)
        return supervisors


@atexit.register
def _stop_placers() -> None:
    placers = [supervisors.placer for supervisors in _shared.values()]
    for placer in placers:
        placer.close()
    for placer in placers:
        placer.wait()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's placers."""
    _address_locks.clear()
    _shared.clear()
