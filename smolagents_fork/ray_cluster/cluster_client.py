"""Users of a cluster: those of this process share its supervisors and their placer."""

from __future__ import annotations

import atexit
import contextlib
import threading

from ..errors import ForkError
from ..system.forks import reset_in_child
from .plain_data import NodeStats
from .remote_sandbox import RemoteSandbox
from .supervisors import Supervisors

__all__ = ["Cluster", "shared_supervisors", "waiting_starts"]


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
        # Not this object, which belongs to an executor that may be dropped without cleanup().
        self._user = object()
        self._supervisors = shared_supervisors(address, connect_seconds, self._user)

    def stats(self) -> list[NodeStats]:
        """Return the figures of each supervisor of this process."""
        return self.supervisors.stats()

    @property
    def supervisors(self) -> Supervisors:
        """Supervisors of this process; those of a new placer where it has ended.

        Raises:
            EngineUnavailableError: the cluster cannot be reached; says why.
        """
        with self._lock:
            placer = self._supervisors.placer
            if placer.ended or placer.owner.inherited:
                self._supervisors = shared_supervisors(
                    self._address, self._connect_seconds, self._user
                )
            return self._supervisors

    def sandboxes(self) -> list[RemoteSandbox]:
        """Return the sandboxes of this process that exist; those of a lost placer do not."""
        supervisors = self._supervisors
        return [] if supervisors.placer.owner.inherited else supervisors.sandboxes()

    def close(self) -> None:
        """Give the placer back; sandboxes are removed one by one. Idempotent."""
        self._supervisors.placer.release(self._user)


_shared: dict[str, Supervisors] = {}
# For the time of a connection, which keeps no other cluster waiting.
_address_locks: dict[str, threading.RLock] = {}


def shared_supervisors(address: str, seconds: float, user: object) -> Supervisors:
    """Return the supervisors on a cluster, with a placer that is started if necessary.

    Args:
        address: Address of the cluster's head.
        seconds: see :class:`Supervisors`.
        user: keeps the placer running until :meth:`PlacerProcess.release`.

    Raises:
        EngineUnavailableError: it did not connect; says why.
    """
    with _address_locks.setdefault(address, threading.RLock()):
        found = _shared.get(address)
        if found is None or not found.placer.use(user):
            found = _shared[address] = Supervisors(address, seconds)
            found.placer.use(user)
        return found


@atexit.register
def _stop_placers() -> None:
    placers = [one.placer for one in _shared.values()]
    for placer in placers:
        placer.close()
    for placer in placers:
        placer.wait()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's placers."""
    _address_locks.clear()
    _shared.clear()


def waiting_starts(address: str) -> str:
    """Return what starts of this process wait for; empty if none does, or nobody answers.

    Takes ten seconds at most.

    Args:
        address: of the cluster.
    """
    with contextlib.suppress(KeyError, ForkError):
        return _shared[address].waiting()
    return ""
