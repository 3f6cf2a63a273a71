"""A placer process without Ray: real supervisors in this process, with the real connections.

Ray does two things for sandboxes: it places a supervisor, and ends it. Here the supervisors are
given, and do not end. Everything above and below is the product's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from smolagents_fork.forks import Owner
from smolagents_fork.ray_cluster import cluster_client
from smolagents_fork.ray_cluster.cluster_client import Cluster
from smolagents_fork.ray_cluster.node_link import ask
from smolagents_fork.ray_cluster.node_supervisor import Supervisor
from smolagents_fork.ray_cluster.placer_process import Placement
from smolagents_fork.ray_cluster.plain_data import (
    Reservation,
    SlotRequest,
    SupervisorPlace,
    as_data,
    failure_of,
    from_data,
)

__all__ = ["DoubledPlacer", "Node", "cluster_of"]

# Only detects hangs.
_SECONDS = 240.0


class Node(Supervisor):
    """A supervisor on the loopback whose lease does not end.

    Args:
        kind: of its sandboxes.
        name: id of its node.
    """

    def __init__(self, kind: str, name: str = "node1") -> None:
        self.name = name
        #: How often it would have ended its process.
        self.exits = 0
        reservation = Reservation(kind, 4, 1.0, 0, 15.0)
        super().__init__(as_data(reservation), "cluster", name, "127.0.0.1")

    def _watch(self) -> None:
        """Leave the lease alone: it would end this process."""

    def _exit(self) -> None:
        """Note the end in place of this process's."""
        self.exits += 1

    @property
    def place(self) -> SupervisorPlace:
        status, data = self.describe()
        if status != "ok":
            raise failure_of(data)
        return from_data(SupervisorPlace, data)


class DoubledPlacer:
    """Answers as ``PlacerProcess`` does; each start goes to the next of its nodes.

    Args:
        *nodes: to which starts go, in turn, unless their reservation names one.
    """

    ended = ""

    def __init__(self, *nodes: Node) -> None:
        self.owner = Owner()
        #: Seconds that each start waits for a slot.
        self.slot_limits: list[float] = []
        #: Name, seconds, node, kind and tenant of each time.
        self.times: list[tuple[str, float, str, str, str]] = []
        self.engine_errors: dict[str, tuple[str, float]] = {}
        self._next = itertools.cycle(nodes)
        self._by_name = {node.name: node for node in nodes}
        self._sandboxes: dict[str, tuple[Node, Placement]] = {}
        self._placements: dict[str, Placement] = {}

    def ask(self, op: str, seconds: float, **arguments: Any) -> Any:
        del seconds
        return self._acquire(**arguments) if op == "acquire" else list(self._by_name)

    def _acquire(self, request: dict[str, Any]) -> dict[str, Any]:
        asked = from_data(SlotRequest, request)
        self.slot_limits.append(asked.seconds)
        wanted = asked.reservation.node
        node = self._by_name[wanted] if wanted else next(self._next)
        self._sandboxes[asked.sandbox] = node, self._placements[asked.sandbox]
        return dict(as_data(node.place))

    def nodes_without_engine(self) -> tuple[str, ...]:
        return ()

    def post(self, op: str, sandbox: str) -> None:
        found = self._sandboxes.pop(sandbox, None) if op == "remove" else None
        if found is not None:
            ask(found[0].place, _SECONDS, "remove", sandbox=sandbox)
            found[1].removed.set()

    def record(self, *time: Any) -> None:
        self.times.append(time)

    def watch(self, placement: Placement) -> None:
        self._placements[placement.sandbox] = placement

    def release(self, user: object) -> None:
        """Keep nothing: there is no process."""


def cluster_of(monkeypatch: pytest.MonkeyPatch, nodes: Sequence[Node]) -> Cluster:
    """Return a cluster of these nodes."""
    placer = DoubledPlacer(*nodes)
    monkeypatch.setattr(cluster_client, "shared_placer", lambda _address, _seconds, _user: placer)
    return Cluster("127.0.0.1:6379", 4.5)
