"""Nodes of the cluster and what they have, as the helper process sees them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import ray

from ...deadline import within
from ...errors import EngineUnavailableError, ExecutorStartError
from ..reservation import Reservation

__all__ = ["check_fits", "fitting_nodes", "shown_capacity", "unusable_nodes"]

_GIB = 1 << 30
# Seconds for which a lost node gets no new supervisor while Ray believes it alive.
_AVOIDED_SECONDS = 120.0
# Limits of the question which nodes there are, in seconds. The capacity in a message comes after a
# limit of the host's has passed, within the time that the host grants beyond it.
_NODES_SECONDS = 20.0
_SHOWN_SECONDS = 3.0


def check_fits(reservation: Reservation) -> None:
    """Refuse a reservation that no node can ever have.

    Raises:
        ExecutorStartError: names the largest node and what was asked for.
    """
    found = _nodes(_NODES_SECONDS)
    nodes = [node["Resources"] for node in found or ()]
    if not nodes or any(_fits(node, reservation) for node in nodes):
        return  # an autoscaler may have none yet; a head that does not answer refuses nothing
    largest = max(nodes, key=lambda node: (node.get("CPU", 0.0), node.get("memory", 0.0)))
    raise ExecutorStartError(
        f"largest node has {largest.get('CPU', 0.0):g} CPUs and "
        f"{largest.get('memory', 0.0) / _GIB:.1f} GiB, asked for {reservation}: lower "
        "slots_per_node=, cpus_per_slot= or memory_per_slot= of the engine"
    )


def fitting_nodes(reservation: Reservation) -> list[str]:
    """Return the ids of the nodes that can have a reservation once they are free.

    Raises:
        EngineUnavailableError: the head does not answer.
    """
    nodes = _nodes(_NODES_SECONDS)
    if nodes is None:
        raise EngineUnavailableError(
            f"the head did not say within {_NODES_SECONDS:.0f} s which nodes the cluster has"
        )
    return sorted(node["NodeID"] for node in nodes if _fits(node["Resources"], reservation))


def shown_capacity() -> str:
    """Return the nodes of the cluster for a message."""
    api: Any = ray  # its functions have no types
    late = f"the head did not say within {_SHOWN_SECONDS:.0f} s what the cluster has"
    try:
        found, free = within(
            _SHOWN_SECONDS,
            lambda: (api.nodes(), api.available_resources()),
            EngineUnavailableError(late),
        )
    except Exception:
        return late
    nodes = [node["Resources"] for node in found if node["Alive"]]
    cpus = sum(node.get("CPU", 0.0) for node in nodes)
    memory = sum(node.get("memory", 0.0) for node in nodes)
    return (
        f"the cluster has {len(nodes)} nodes, {cpus:g} CPUs and {memory / _GIB:.1f} GiB, of which "
        f"{free.get('CPU', 0.0):g} CPUs and {free.get('memory', 0.0) / _GIB:.1f} GiB are free"
    )


def unusable_nodes(lost: Mapping[str, float]) -> list[str]:
    """Return the nodes that were lost lately and that Ray still believes alive.

    Args:
        lost: ids of nodes, each with the time.
    """
    now = time.monotonic()
    late = {node for node, since in dict(lost).items() if now - since < _AVOIDED_SECONDS}
    nodes = _nodes(_NODES_SECONDS) if late else []
    return sorted(late if nodes is None else late & {node["NodeID"] for node in nodes})


def _nodes(seconds: float) -> list[dict[str, Any]] | None:
    """Return the nodes that Ray believes alive; ``None`` if the head does not answer in time."""
    late = EngineUnavailableError(f"the head did not name its nodes within {seconds:.0f} s")
    try:
        found = within(seconds, ray.nodes, late)  # Ray gives this call no limit
    except Exception:
        return None
    return [node for node in found if node["Alive"]]


def _fits(node: Mapping[str, float], reservation: Reservation) -> bool:
    return (
        node.get("CPU", 0.0) >= reservation.whole_cpus
        and node.get("memory", 0.0) >= reservation.whole_memory
    )
