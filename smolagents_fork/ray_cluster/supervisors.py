"""Supervisors on the nodes of a cluster, and the sandboxes that have their slots."""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any

from ..deadline import Deadline
from ..errors import (
    EngineUnavailableError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
    SandboxDiedError,
)
from .head_check import probe_head
from .node_link import answer_of, connect
from .placer_process import PlacerProcess
from .plain_data import NodeStats, Reservation, SupervisorPlace, checked

__all__ = ["Placement", "RemoteSupervisor", "Supervisors"]

_HEAD_SECONDS = 3.0
_REQUEST_SECONDS = 30.0
_WAITING_SECONDS = 3.0
# Nodes whose engines may not answer, one after the other, in one start.
_MOST_NODES = 4
# Pause before a start is made elsewhere, in seconds.
_AGAIN_SECONDS = 0.02
# Seconds for which a node whose engine did not answer is used where no other has a free slot.
_AVOIDED_SECONDS = 120.0


class RemoteSupervisor:
    """A supervisor on a node, and the sandboxes that have its slots.

    Args:
        place: Place of the supervisor.
        reservation: Reservation of the supervisor.
    """

    def __init__(self, place: SupervisorPlace, reservation: Reservation) -> None:
        self.place = place
        self.reservation = reservation
        self.placements: set[Placement] = set()
        #: Whether it was told to end.
        self.ending = False

    @property
    def free(self) -> int:
        """Slots that a sandbox may have."""
        return 0 if self.ending else self.reservation.slots - len(self.placements)


class Placement:
    """A sandbox that has a slot: whether its supervisor is lost, and what ends with that.

    Args:
        owner: gets the slot back.
        supervisor: Supervisor that has the slot.
        tenant: empty for none.
    """

    def __init__(self, owner: Supervisors, supervisor: RemoteSupervisor, tenant: str) -> None:
        #: Id of the sandbox, which was never used before.
        self.sandbox = secrets.token_hex(6)
        self.supervisor = supervisor
        self.tenant = tenant
        #: Reason for which its supervisor was given up, and when it was last heard of; or empty.
        self.lost = ""
        #: Whether its removal was asked for.
        self.ending = False
        #: Set once it has been removed, or is lost.
        self.removed = threading.Event()
        self._owner = owner
        self._is_lost = threading.Event()
        self._lock = threading.RLock()
        self._streams: set[socket.socket] = set()

    @property
    def place(self) -> SupervisorPlace:
        """Place of its supervisor."""
        return self.supervisor.place

    def add(self, stream: socket.socket) -> None:
        """Have a stream end when the supervisor is lost."""
        with self._lock:
            self._streams = {one for one in self._streams if one.fileno() >= 0} | {stream}
        if self.lost:
            self.lose(self.lost)

    def lose(self, reason: str) -> None:
        """Note that the supervisor is lost, and end the streams.

        Args:
            reason: for messages.
        """
        with self._lock:
            self.lost = reason
            streams = list(self._streams)
        self._is_lost.set()
        self.removed.set()
        for stream in streams:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def why_lost(self, seconds: float) -> str:
        """Return :attr:`lost`, which comes a moment after the end of a stream.

        Args:
            seconds: Seconds to wait at most.
        """
        self._is_lost.wait(seconds)
        return self.lost

    def record(self, name: str, seconds: float, tenant: str) -> None:
        """Take a time for the figures.

        Args:
            name: Name of the histogram.
            seconds: the time.
            tenant: empty for none.
        """
        kind = self.supervisor.reservation.kind
        self._owner.placer.record(name, seconds, self.place.node, kind, tenant)

    def remove(self) -> None:
        """End the sandbox in the background. Idempotent; safe in a finaliser."""
        if not self.ending:
            self.ending = True
            names = {"supervisor": self.place.supervisor, "sandbox": self.sandbox}
            self._owner.placer.request("remove", **names).add_done_callback(self._note_removed)

    def _note_removed(self, _removal: Future[Any]) -> None:
        self._owner.free(self)
        self.removed.set()


class _EngineFailedError(Exception):
    """The engine of a node does not answer; the message names the node.

    Args:
        node: its id.
        message: of the error.
    """

    def __init__(self, node: str, message: str) -> None:
        super().__init__(message)
        self.node = node


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
        # Why a node's engine took no sandbox when it was last asked, and when, by node.
        self._engine_errors: dict[str, tuple[str, float]] = {}
        self.placer = PlacerProcess(address, seconds, self._lose)

    # -- starts --

    def start(
        self,
        reservation: Reservation,
        options: dict[str, Any],
        tenant: str,
        timeout: float,
        slot_timeout: float,
    ) -> tuple[Placement, dict[str, Any]]:
        """Start a sandbox, and return what its node says about it; see :meth:`Cluster.start`."""
        deadline = Deadline(timeout)
        failed: dict[str, str] = {}
        while True:
            slot_deadline = Deadline(deadline.at_most(slot_timeout))
            try:
                placement = self._take_slot(reservation, tenant, failed, slot_deadline)
                return placement, self._start(placement, options, deadline.at_most(timeout))
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

    def _start(
        self, placement: Placement, options: dict[str, Any], seconds: float
    ) -> dict[str, Any]:
        """Have a supervisor start a sandbox.

        Raises:
            _EngineFailedError: the node's engine does not answer.
            SandboxDiedError: the node was lost meanwhile.
            ForkError: it did not start; says why.
        """
        begun, place, seconds = time.monotonic(), placement.place, max(1.0, seconds)
        arguments = {"sandbox": placement.sandbox, "options": options, "tenant": placement.tenant}
        started = False
        try:
            with connect(place, seconds, "start", **arguments) as connection:
                placement.add(connection)
                info = answer_of(connection, seconds)
            if type(info) is not dict:
                raise ProtocolError("a start answers with what the host has to know")
            started = True
        except OSError as error:
            lost = placement.lost or isinstance(error, ConnectionError)
            cause = "node" if lost else "unknown"
            raise SandboxDiedError(f"node {place}: {error}", cause=cause) from error
        except EngineUnavailableError as error:
            self._engine_errors[place.node] = f"node {place}: {error}", time.monotonic()
            raise _EngineFailedError(place.node, f"node {place}: {error}") from error
        except ForkError as error:
            raise error.reworded(f"node {place}: {error}") from error
        finally:
            if not started:  # or it is started yet
                placement.remove()
        self._engine_errors.pop(place.node, None)
        placement.record("start", time.monotonic() - begun, placement.tenant)
        return info

    def _has_other_nodes(self, reservation: Reservation, nodes: Collection[str]) -> bool:
        if reservation.node:
            return False
        try:
            return not set(self.nodes(reservation)) <= set(nodes)
        except EngineUnavailableError:
            return False

    def nodes(self, reservation: Reservation) -> list[str]:
        """Return the ids of the nodes that can have a reservation once they are free.

        Args:
            reservation: of a supervisor.

        Raises:
            EngineUnavailableError: the cluster is lost, or does not answer.
        """
        return list(self.placer.ask("nodes", _REQUEST_SECONDS, reservation=reservation))

    def _take_slot(
        self, reservation: Reservation, tenant: str, without: Collection[str], deadline: Deadline
    ) -> Placement:
        """Return a sandbox that has a slot until it is removed.

        Args:
            reservation: of the supervisor.
            tenant: empty for none.
            without: ids of nodes on which the start has failed.
            deadline: Deadline of the wait; the error has its seconds.

        Raises:
            SandboxDiedError: a node was lost while it was asked for a supervisor.
            ExecutorStartError: no node is large enough, or none was free in time.
        """
        begun = time.monotonic()
        try:
            probe_head(self.placer.head, _HEAD_SECONDS)
            with self._changed:
                self._waiting.append(reservation)
                try:
                    supervisor = self._wait_for_slot(reservation, without, deadline)
                    if supervisor is not None:
                        placement = Placement(self, supervisor, tenant)
                        supervisor.placements.add(placement)
                        return placement
                    busy = self._busy(reservation)
                finally:
                    self._waiting.remove(reservation)
                    self._changed.notify_all()
        finally:
            seconds = time.monotonic() - begun
            self.placer.record("wait", seconds, "", reservation.kind, tenant)
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
        """Return one with a free slot; it is made where more are needed."""
        creation: Future[Any] | None = None
        without_room = Deadline(1.0)
        while (supervisor := self._free_supervisor(reservation, without)) is None:
            if creation is not None and creation.done():
                if error := creation.exception():
                    raise error
                creation = None
            if deadline.expired():
                return None
            asked = list(self._creations.values()).count(reservation)
            if creation is None and asked * reservation.slots < self._waiting.count(reservation):
                creation, without_room = self._create(reservation, without, deadline), Deadline(1.0)
            elif creation is not None and without_room.expired():
                self._make_room(reservation)
            if creation is None or not creation.done():
                self._changed.wait(deadline.at_most(1.0))
        return supervisor

    def _free_supervisor(
        self, reservation: Reservation, without: Collection[str]
    ) -> RemoteSupervisor | None:
        avoided = self._nodes_without_engine()
        group = [
            (one.place.node in avoided, -one.free, number)
            for number, one in enumerate(self._all)
            if one.reservation == reservation and one.free > 0 and one.place.node not in without
        ]
        return self._all[min(group)[-1]] if group else None

    def _nodes_without_engine(self) -> list[str]:
        """Return the ids of the nodes whose engines have lately not answered."""
        after = time.monotonic() - _AVOIDED_SECONDS
        return [node for node, (_, at) in list(self._engine_errors.items()) if at > after]

    def _create(
        self, reservation: Reservation, without: Collection[str], deadline: Deadline
    ) -> Future[Any]:
        """Have Ray make a supervisor. One that is not wanted any more ends when it is idle."""
        creation = self.placer.request(
            "create",
            reservation=reservation,
            without=list(without),
            avoided=self._nodes_without_engine(),
            seconds=deadline.at_most(_REQUEST_SECONDS),
        )
        self._creations[creation] = reservation
        creation.add_done_callback(self._note_created)
        return creation

    def _make_room(self, wanted: Reservation) -> None:
        """End supervisors of other reservations that have no sandboxes: Ray may need room."""
        for one in self._all:
            if one.reservation != wanted and not one.placements and not one.ending:
                one.ending = True
                self.placer.request("end", supervisor=one.place.supervisor)

    def _busy(self, reservation: Reservation) -> str:
        group = [one for one in self._all if one.reservation == reservation]
        used = sum(len(one.placements) for one in group)
        asked = list(self._creations.values()).count(reservation)
        return (
            f"{used} of {len(group) * reservation.slots} slots in use on {len(group)} nodes, "
            f"{asked} more asked of Ray, each with {reservation}"
        )

    # -- what the placer says --

    def _note_created(self, creation: Future[Any]) -> None:
        with self._changed:
            reservation = self._creations.pop(creation)
            if creation.exception() is None and creation.result() is not None:
                place = checked(creation.result(), SupervisorPlace)
                self._all.append(RemoteSupervisor(place, reservation))
            self._changed.notify_all()

    def _lose(self, supervisor: str, reason: str) -> None:
        """Note that a supervisor has ended, or all of them.

        Args:
            supervisor: its id; empty: all.
            reason: Reason for which it was given up.
        """
        with self._changed:
            ended = [one for one in self._all if supervisor in ("", one.place.supervisor)]
            self._all = [one for one in self._all if one not in ended]
            self._changed.notify_all()
        for one in ended:
            for placement in list(one.placements):
                placement.lose(reason)

    def free(self, placement: Placement) -> None:
        """Give the slot of a sandbox back, which has been removed."""
        with self._changed:
            placement.supervisor.placements.discard(placement)
            self._changed.notify_all()

    # -- figures --

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor."""
        heard: dict[str, float] = self.placer.ask("heard", _REQUEST_SECONDS)
        with self._changed:
            return [
                NodeStats(
                    one.place.node,
                    one.place.supervisor,
                    one.reservation.slots,
                    len(one.placements),
                    self._engine_errors.get(one.place.node, ("", 0.0))[0],
                    heard.get(one.place.supervisor, 0.0),
                )
                for one in self._all
            ]

    def waiting(self) -> str:
        """Return what starts wait for, as in the error of one that waited too long; or empty."""
        with self._changed:
            busy = [self._busy(one) for one in dict.fromkeys(self._waiting)]
        return "; ".join([*busy, self.placer.ask("capacity", _WAITING_SECONDS)]) if busy else ""
