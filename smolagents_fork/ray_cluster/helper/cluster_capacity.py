"""Nodes of the cluster and what they have, as the helper process sees them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import ray

from ...errors import ExecutorStartError
from ..reservation import Reservation

__all__ = ["check_fits", "shown_capacity", "unusable_nodes"]

_GIB = 1 << 30
# Seconds for which a lost node gets no new supervisor while Ray believes it alive.
_AVOIDED_SECONDS = 120.0


def check_fits(reservation: Reservation) -> None:
    """Refuse a reservation that no node can ever have.

    Raises:
        ExecutorStartError: names the largest node and what was asked for.
    """
    nodes = _alive()
    if any(_fits(node, reservation) for node in nodes):
        return
    if not nodes:
        return  # an autoscaler may have none yet
    largest = max(nodes, key=lambda node: (node.get("CPU", 0.0), node.get("memory", 0.0)))
    raise ExecutorStartError(
        f"largest node has {largest.get('CPU', 0.0):g} CPUs and "
        f"{largest.get('memory', 0.0) / _GIB:.1f} GiB, asked for {reservation}: lower "
        "slots_per_node=, cpus_per_slot= or memory_per_slot= of the engine"
    )


def shown_capacity() -> str:
    """Return the nodes of the cluster for a message."""
    nodes = _alive()
    cpus = sum(node.get("CPU", 0.0) for node in nodes)
    memory = sum(node.get("memory", 0.0) for node in nodes)
    return f"the cluster has {len(nodes)} nodes, {cpus:g} CPUs, {memory / _GIB:.1f} GiB"


def unusable_nodes(lost: Mapping[str, float]) -> list[str]:
    """Return the nodes that were lost lately and that Ray still believes alive.

    Args:
        lost: ids of nodes, each with the time.
    """
    now = time.monotonic()
    alive = {node["NodeID"] for node in _nodes()}
    return sorted(n for n, since in lost.items() if n in alive and now - since < _AVOIDED_SECONDS)


def _alive() -> list[dict[str, Any]]:
    return [node["Resources"] for node in _nodes()]


def _nodes() -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]  # Ray's own
    return [node for node in nodes if node["Alive"]]


def _fits(node: Mapping[str, float], reservation: Reservation) -> bool:
    return (
        node.get("CPU", 0.0) >= reservation.whole_cpus
        and node.get("memory", 0.0) >= reservation.whole_memory
    )
