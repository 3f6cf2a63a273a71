"""Supervisors of one driver, in the helper process: made on demand, shared, watched."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import ray

from ...deadline import Deadline
from ...errors import (
    EngineUnavailableError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
    SandboxDiedError,
)
from ..links.node_fields import PLACE, fields_of
from ..links.relay_frames import RelayAnswer, RelayCall
from ..node.node_metrics import NodeMetrics
from ..node.node_supervisor import versions
from ..node.supervisor_actor import actor_class
from ..reservation import Reservation, shown_node
from .cluster_capacity import check_fits, fitting_nodes, shown_capacity, unusable_nodes
from .ray_calls import answer_of, bytes_of
from .relay_pump import Arrived

__all__ = ["Remote", "Supervisors", "counts_of"]

_BEAT_SECONDS = 1.0
#: Silence after which a supervisor is given up: seconds, or a part of its lease if that is more.
_SILENT_SECONDS = 9.0
_SILENT_PART = 0.6
_CREATE_SECONDS = 600.0
_CLOSE_SECONDS = 3.0
_SUSPECT_SECONDS = 2.5
# Time for which a supervisor without sandboxes stays, for the next executor, in seconds.
_IDLE_SECONDS = 60.0
# Times of calls that one heartbeat carries.
_MOST_CALLS = 10_000


@dataclass(frozen=True)
class _EngineError:
    """Failure of a node's engine, and its time on the monotonic clock."""

    reason: str
    since: float


class Remote:
    """A supervisor as the helper process sees it.

    Args:
        actor: its handle.
        place: what it says about itself.
        reservation: of the supervisor.

    Raises:
        ProtocolError: ``place`` has other fields than a place.
    """

    def __init__(self, actor: Any, place: Any, reservation: Reservation) -> None:
        self.actor = actor
        self.place = fields_of(place, PLACE, "the place of a supervisor")
        self.name: str = place["supervisor"]
        self.node: str = place["node"]
        #: The node for messages.
        self.shown = shown_node(place["address"], self.node)
        self.kind = reservation.kind
        self.slots = reservation.slots
        #: Silence after which it is given up, in seconds.
        self.silent_seconds = max(_SILENT_SECONDS, _SILENT_PART * reservation.lease_seconds)
        self.used = 0
        self.idle_since = time.monotonic()
        self.heard = time.monotonic()
        self.counts: dict[str, int] = {}
        #: Why it was given up; empty while it was not.
        self.lost = ""
        #: Whether it was ended because it had no sandbox.
        self.retired = False
        self._calls: deque[tuple[str, float]] = deque(maxlen=_MOST_CALLS)

    def record_calls(self, calls: list[tuple[str, float]]) -> None:
        """Take times of calls, which go with the next heartbeat.

        Args:
            calls: tenant and seconds of each; of too many the oldest are dropped.
        """
        self._calls.extend(calls)

    def begin_beat(self) -> Any:
        """Send a heartbeat and return a reference to its answer; one thread calls this."""
        calls = [self._calls.popleft() for _ in range(len(self._calls))]
        return self.begin("beat", calls)

    def ask(self, seconds: float, method: str, *arguments: Any) -> Any:
        """Call a method and return its value.

        Args:
            seconds: to wait at most; less when the supervisor is given up meanwhile.
            method: of :class:`Supervisor`.
            *arguments: of the method.

        Raises:
            SandboxDiedError: the supervisor was given up.
            ForkError: what the method raised.
        """
        return self.finish(self.begin(method, *arguments), seconds)

    def begin(self, method: str, *arguments: Any) -> Any:
        """Call a method and return a reference to its answer."""
        return getattr(self.actor, method).remote(*arguments)

    def exchange(self, call: RelayCall, arrived: Arrived) -> None:
        """Begin a call of the relayed transport.

        Args:
            call: for the node.
            arrived: takes the answer, in a thread that Ray needs.
        """
        done: Future[Any] = self.begin("relay_exchange", call.packed()).future()
        done.add_done_callback(lambda done: arrived(lambda: RelayAnswer.unpacked(bytes_of(done))))

    def finish(self, reference: Any, seconds: float) -> Any:
        """Return the answer to a call; see :meth:`ask`."""
        deadline = Deadline(seconds)
        while True:
            if self.lost:
                raise SandboxDiedError(self.lost, cause="node")
            try:
                return answer_of(reference, deadline.at_most(0.5))
            except TimeoutError:
                if deadline.expired():
                    raise ExecutorStartError(
                        f"node {self.shown} did not answer within {seconds:.1f} s"
                    ) from None


class Supervisors:
    """Finds a supervisor with a free slot for each sandbox, or makes one.

    Args:
        cluster: name of the cluster.
        on_lost: called when a supervisor is given up.
    """

    def __init__(self, cluster: str, on_lost: Callable[[Remote], None]) -> None:
        self._cluster = cluster
        self._on_lost = on_lost
        self._changed = threading.Condition()
        self._remotes: dict[Reservation, list[Remote]] = {}
        self._pending: dict[Reservation, int] = {}
        self._waiting: dict[Reservation, int] = {}
        self._errors: dict[Reservation, tuple[int, ForkError]] = {}
        self._made = 0
        self._silent_nodes: dict[str, float] = {}
        # Nodes whose engine took no sandbox when it was last asked, by kind of sandbox.
        self._engine_errors: dict[tuple[str, str], _EngineError] = {}
        self._closed = False
        self._metrics = NodeMetrics("", "wait")

    def acquire(
        self,
        reservation: Reservation,
        tenant: str,
        deadline: Deadline,
        without: Collection[str] = (),
    ) -> Remote:
        """Return a supervisor, of which a slot is the caller's until :meth:`release`.

        Args:
            reservation: of the supervisor.
            tenant: who waits; empty for none.
            deadline: of the wait; the error has its seconds.
            without: ids of nodes that the caller has tried.

        Raises:
            ExecutorStartError: no node is large enough, or none was free in time.
        """
        with self._metrics.timed("wait", reservation.kind, tenant), self._changed:
            self._waiting[reservation] = self._waiting.get(reservation, 0) + 1
            try:
                remote = self._waited(reservation, deadline, without)
            finally:
                self._waiting[reservation] -= 1
            busy = "" if remote is not None else self._busy(reservation)
        if remote is None:
            # Without the lock, which heartbeats need: Ray is asked for the capacity.
            raise ExecutorStartError(
                f"no slot for a sandbox became free in {deadline.seconds or 0.0:.0f} s: {busy}; "
                f"{shown_capacity()}: close executors that are no longer used, add nodes, lower "
                "slots_per_node=, or raise startup_timeout_seconds="
            )
        return remote

    def release(self, remote: Remote) -> None:
        """Give a slot back."""
        with self._changed:
            remote.used -= 1
            remote.idle_since = time.monotonic()
            self._changed.notify_all()

    def engine_failed(self, remote: Remote, reason: str) -> None:
        """Note that a node's engine took no sandbox: others are preferred until it takes one.

        Args:
            remote: the supervisor that was asked.
            reason: for :meth:`stats`.
        """
        with self._changed:
            error = _EngineError(reason, time.monotonic())
            self._engine_errors[remote.kind, remote.node] = error

    def engine_answered(self, remote: Remote) -> None:
        """Note that a node's engine took a sandbox."""
        with self._changed:
            self._engine_errors.pop((remote.kind, remote.node), None)

    def others(self, reservation: Reservation, nodes: Collection[str]) -> bool:
        """Return whether a reservation fits on any node but these.

        Args:
            reservation: of a supervisor.
            nodes: ids of nodes.
        """
        if reservation.node:
            return False
        try:
            return not set(fitting_nodes(reservation)) <= set(nodes)
        except EngineUnavailableError:
            return False

    def stats(self) -> list[dict[str, Any]]:
        """Return the figures of each supervisor, also of those that were given up."""
        now = time.monotonic()
        with self._changed:
            remotes = [one for group in self._remotes.values() for one in group]
            return [
                {
                    "node": one.node,
                    "supervisor": one.name,
                    "slots": one.slots,
                    "in_use": one.counts.get("in_use", one.used),
                    "starting": one.counts.get("starting", 0),
                    "lost": one.lost,
                    "engine_error": self._engine_error(one),
                    "heard_seconds_ago": now - one.heard,
                }
                for one in remotes
            ]

    def waiting(self) -> str:
        """Return what starts wait for, as in the error of one that waited too long; or empty."""
        with self._changed:
            busy = [self._busy(one) for one, starts in self._waiting.items() if starts]
        # Without the lock, as above.
        return "; ".join([*busy, shown_capacity()]) if busy else ""

    def record_calls(self, calls: list[tuple[str, str, float]]) -> None:
        """Take times of calls for the figures of their nodes; the next heartbeats carry them.

        Args:
            calls: id of the supervisor, tenant and seconds of each. Those of a supervisor that was
                given up are dropped.
        """
        found: dict[str, list[tuple[str, float]]] = {}
        for supervisor, tenant, seconds in calls:
            found.setdefault(supervisor, []).append((tenant, seconds))
        with self._changed:
            for one in (one for group in self._remotes.values() for one in group):
                if one.name in found:
                    one.record_calls(found[one.name])

    def close(self) -> None:
        """End all supervisors; waits a few seconds for them."""
        with self._changed:
            self._closed = True
            remotes = [one for group in self._remotes.values() for one in group if not one.lost]
        references = [one.begin("close") for one in remotes]
        if references:
            with contextlib.suppress(Exception):
                ray.wait(references, num_returns=len(references), timeout=_CLOSE_SECONDS)

    def suspect(self, remote: Remote) -> None:
        """Find out whether a supervisor whose stream has ended is there; heartbeats take longer."""
        port = remote.place["port"]
        deadline = Deadline(_SUSPECT_SECONDS)
        while port is not None and not remote.lost and not deadline.expired():
            try:
                socket.create_connection((remote.place["address"], port), _SUSPECT_SECONDS).close()
            except ConnectionRefusedError:
                self._give_up(remote, "nothing listens on its port, so its process has ended")
            except OSError:
                return
            # A process that ends closes its connections first, and its port a moment later.
            time.sleep(_SUSPECT_SECONDS / 10)

    # -- the caller of these has the lock --

    def _free(self, reservation: Reservation, without: Collection[str]) -> Remote | None:
        group = [one for one in self._remotes.get(reservation, ()) if not one.lost]
        group = [one for one in group if one.used < one.slots and not one.retired]
        group = [one for one in group if one.node not in without]
        return min(
            group,
            key=lambda one: (self._engine_error(one) != "", one.used / one.slots),
            default=None,
        )

    def _engine_error(self, remote: Remote) -> str:
        error = self._engine_errors.get((remote.kind, remote.node))
        return "" if error is None else error.reason

    def _waited(
        self, reservation: Reservation, deadline: Deadline, without: Collection[str]
    ) -> Remote | None:
        begun = self._made
        while True:
            remote = self._free(reservation, without)
            if remote is not None:
                remote.used += 1
                return remote
            number, error = self._errors.get(reservation, (0, None))
            if error is not None and number > begun:
                raise error
            self._create_missing(reservation)
            if deadline.expired():
                return None
            self._changed.wait(deadline.at_most(1.0))

    def _create_missing(self, reservation: Reservation) -> None:
        waiting = self._waiting[reservation]
        pending = self._pending.get(reservation, 0)
        while pending * reservation.slots < waiting and not self._closed:
            pending += 1
            self._pending[reservation] = pending
            threading.Thread(
                target=self._create, args=(reservation,), name="create", daemon=True
            ).start()

    def _busy(self, reservation: Reservation) -> str:
        group = [one for one in self._remotes.get(reservation, ()) if not one.lost]
        used = sum(one.used for one in group)
        total = sum(one.slots for one in group)
        return (
            f"{used} of {total} slots in use on {len(group)} nodes, "
            f"{self._pending.get(reservation, 0)} more asked of Ray, each with {reservation}"
        )

    # -- in threads of their own --

    def _create(self, reservation: Reservation) -> None:
        remote: Remote | None = None
        failure: ForkError | None = None
        try:
            remote = self._created(reservation)
        except SandboxDiedError as error:
            # A node that is lost is worth another try; an error of the supervisor is not.
            failure = error
            if "creation task" in str(error):
                failure = ExecutorStartError(f"the supervisor did not start: {error}")
        except ForkError as error:
            failure = error
        except Exception as error:
            failure = ExecutorStartError(f"no supervisor: {type(error).__name__}: {error}")
        with self._changed:
            self._made += 1
            self._pending[reservation] -= 1
            if remote is not None:
                self._remotes.setdefault(reservation, []).append(remote)
                threading.Thread(target=self._watch, args=(remote,), daemon=True).start()
            elif failure is not None:
                self._errors[reservation] = (self._made, failure)
            self._changed.notify_all()

    def _created(self, reservation: Reservation) -> Remote | None:
        check_fits(reservation)
        options: dict[str, Any] = {"num_cpus": reservation.whole_cpus}
        if reservation.whole_memory:
            options["memory"] = reservation.whole_memory
        avoided = self._avoided(reservation)
        if reservation.node:
            options["label_selector"] = {"ray.io/node-id": reservation.node}
        elif avoided:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(avoided)})"}
        made = actor_class(reservation.slots).options(scheduling_strategy="SPREAD", **options)
        actor = made.remote(reservation.as_data(), versions(), self._cluster)
        reference = actor.describe.remote()
        deadline = Deadline(_CREATE_SECONDS)
        while True:
            try:
                place = answer_of(reference, 1.0)
                return Remote(actor, place, reservation)
            except TimeoutError:
                self._retire_idle(0.0, reservation)
                with self._changed:
                    wanted = self._waiting.get(reservation, 0) > 0 and not self._closed
                if not wanted or deadline.expired():
                    ray.kill(actor)
                    return None
            except BaseException:
                with contextlib.suppress(Exception):
                    ray.kill(actor)
                raise

    def _avoided(self, reservation: Reservation) -> list[str]:
        """Return the nodes that get no new supervisor now.

        A node whose engine did not answer gets one if no other node can have it.
        """
        avoided = set(unusable_nodes(self._silent_nodes))
        with self._changed:
            failed = {
                node: error.since
                for (kind, node), error in self._engine_errors.items()
                if kind == reservation.kind
            }
        failed_lately = avoided.union(unusable_nodes(failed))
        if failed_lately != avoided and self.others(reservation, failed_lately):
            avoided = failed_lately
        return sorted(avoided)

    def _retire_idle(self, seconds: float, wanted: Reservation | None = None) -> None:
        """Begin to end supervisors without sandboxes, whose resources others may need.

        Args:
            seconds: for which they have had none.
            wanted: the reservation of those that stay.
        """
        with self._changed:
            before = time.monotonic() - seconds
            found = [
                one
                for reservation, group in self._remotes.items()
                for one in group
                if reservation != wanted and not (one.used or one.lost or one.retired)
                if one.idle_since <= before
            ]
            for one in found:
                one.retired = True
        for one in found:
            # The caller sends heartbeats, which must not wait for this.
            threading.Thread(target=self._retire, args=(one,), name="retire", daemon=True).start()

    def _retire(self, remote: Remote) -> None:
        with contextlib.suppress(Exception):
            ray.wait([remote.begin("close")], timeout=_CLOSE_SECONDS)
        with contextlib.suppress(Exception):
            ray.kill(remote.actor)
        with self._changed:
            for group in self._remotes.values():
                if remote in group:
                    group.remove(remote)

    def _watch(self, remote: Remote) -> None:
        try:
            reason = self._silence(remote)
        except Exception as error:
            reason = f"its heartbeats failed: {type(error).__name__}: {error}"
        if not remote.retired:
            self._give_up(remote, reason)

    def _silence(self, remote: Remote) -> str:
        """Send heartbeats; return why they ended, or nothing if the supervisor was retired."""
        silent, reference = 0.0, None
        while not remote.retired:
            begun = time.monotonic()
            reference = reference or remote.begin_beat()
            try:
                remote.counts = counts_of(answer_of(reference, _BEAT_SECONDS))
                remote.heard, silent, reference = time.monotonic(), 0.0, None
                self._retire_idle(_IDLE_SECONDS)
                time.sleep(_BEAT_SECONDS)
                continue
            except TimeoutError:
                pass
            except ProtocolError as error:
                return str(error)
            except ForkError as error:
                reference = None
                if "ActorUnavailable" not in str(error) and "unavailable" not in str(error):
                    return f"Ray says that its process has ended: {error}"
                time.sleep(_BEAT_SECONDS / 2)
            # A pause of this machine is not silence of the other.
            silent += min(time.monotonic() - begun, 2 * _BEAT_SECONDS)
            if silent > remote.silent_seconds:
                with self._changed:
                    self._silent_nodes[remote.node] = time.monotonic()
                return f"it did not answer for {silent:.0f} s"
        return ""

    def _give_up(self, remote: Remote, reason: str) -> None:
        ago = time.monotonic() - remote.heard
        with self._changed:
            if remote.lost:
                return
            remote.lost = (
                f"the supervisor of node {remote.shown} was given up: {reason}; it "
                f"was last heard of {ago:.1f} s ago"
            )
            self._changed.notify_all()
        self._on_lost(remote)
        with contextlib.suppress(Exception):
            ray.kill(remote.actor)


def counts_of(value: Any) -> dict[str, int]:
    """Return the figures of a heartbeat.

    Args:
        value: what a supervisor answered.

    Raises:
        ProtocolError: not a mapping of numbers.
    """
    if type(value) is not dict or not all(
        type(name) is str and type(count) is int for name, count in value.items()
    ):
        raise ProtocolError(f"a heartbeat answers with figures, not with {value!r:.100}")
    return value
