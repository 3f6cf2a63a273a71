"""A helper process without Ray: real supervisors in this process, asked as the real one asks them.

Ray does three things for sandboxes: it places a supervisor, calls its methods, and notices its end.
Here the supervisors are given, their methods are called, and they do not end. Everything above and
below is the product's own, the direct transport too.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Sequence
from typing import Any

import pytest

from smolagents_fork.forks import Owner
from smolagents_fork.ray_cluster import cluster_client
from smolagents_fork.ray_cluster.cluster_client import Cluster
from smolagents_fork.ray_cluster.links.failure_data import failure_of
from smolagents_fork.ray_cluster.node.node_supervisor import Supervisor, versions
from smolagents_fork.ray_cluster.reservation import Reservation

__all__ = ["DoubledHelper", "Node", "cluster_of"]


class Node(Supervisor):
    """A supervisor on the loopback whose lease does not end.

    Args:
        kind: of its sandboxes.
        name: id of its node.
    """

    def __init__(self, kind: str, name: str = "node1") -> None:
        self.name = name
        reservation = Reservation(kind, 4, 1.0, 0, 15.0)
        super().__init__(reservation.as_data(), versions(), "cluster", name, "127.0.0.1")

    def _watch(self) -> None:
        """Leave the lease alone: it would end this process."""


class DoubledHelper:
    """Answers as ``HelperProcess`` does; each start goes to the next of its nodes.

    Args:
        *nodes: to which starts go, in turn, unless their reservation names one.
    """

    address = "127.0.0.1:6379"
    ended = ""

    def __init__(self, *nodes: Node) -> None:
        self.owner = Owner()
        self.users: set[object] = set()
        self.indirect: set[str] = set()
        self.unused_since = 0.0
        #: Seconds that each start waits for a slot.
        self.slot_limits: list[float] = []
        self._next = itertools.cycle(nodes)
        self._by_name = {node.name: node for node in nodes}
        self._nodes: dict[str, Node] = {}

    def ask(self, op: str, seconds: float, descriptor: int | None = None, **arguments: Any) -> Any:
        del seconds
        assert descriptor is None, "nothing is relayed"
        if op == "start":
            return self._start(**arguments)
        if op == "nodes":
            return list(self._by_name)
        arguments.pop("limit", None)
        return _value(getattr(self._nodes[arguments["sandbox"]], op)(**arguments))

    def _start(
        self,
        reservation: Any,
        options: Any,
        tenant: str,
        purpose: str,
        limit: float,
        slot_limit: float,
    ) -> dict[str, Any]:
        del limit
        self.slot_limits.append(slot_limit)
        wanted, sandbox = reservation["node"], secrets.token_hex(6)
        node = self._by_name[wanted] if wanted else next(self._next)
        made = _value(node.start(sandbox, options, tenant, purpose))
        self._nodes[sandbox] = node
        return {**made, **_value(node.describe()), "sandbox": sandbox}

    def post(self, op: str, sandbox: str) -> None:
        if op == "remove":
            self._nodes[sandbox].remove(sandbox)

    def record_call(self, supervisor: str, tenant: str, seconds: float) -> None:
        for node in self._by_name.values():
            if _value(node.describe())["supervisor"] == supervisor:
                node.beat([(tenant, seconds)])

    def watch(self, supervisor: str, on_lost: Any) -> None:
        """Take note of nothing: no node is lost."""


def _value(answer: Any) -> Any:
    if answer[0] == "ok":
        return answer[1]
    raise failure_of(answer[1])


def cluster_of(monkeypatch: pytest.MonkeyPatch, nodes: Sequence[Node]) -> Cluster:
    """Return a cluster of these nodes."""
    helper = DoubledHelper(*nodes)
    monkeypatch.setattr(cluster_client, "shared_helper", lambda _address, _seconds, _user: helper)
    return Cluster(helper.address, "direct", 4.5)
