"""Labels of containers, which name the process that owns each.

Where a supervisor of a cluster is the owner, further labels name cluster, node and supervisor.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping

from ....errors import ConfigurationError
from ....inventory import Owner
from ... import process_owner
from ...cluster_owner import ClusterOwner

__all__ = [
    "CREATED_LABEL",
    "LABEL",
    "cluster_owner_of",
    "labels",
    "owner_is_gone",
    "owner_label",
    "owner_of",
    "supervisor_filter",
]

LABEL = "smolagents-fork.owner"
CREATED_LABEL = "smolagents-fork.created"
HOST_LABEL = "smolagents-fork.host"
VERSION_LABEL = "smolagents-fork.version"
CLUSTER_LABEL = "smolagents-fork.cluster"
NODE_LABEL = "smolagents-fork.node"
SUPERVISOR_LABEL = "smolagents-fork.supervisor"


def labels(version: str, owner: ClusterOwner | None = None) -> dict[str, str]:
    """Return the labels for a container of this process.

    Args:
        version: of the fork.
        owner: the supervisor that this process is; ``None`` outside a cluster.
    """
    return {
        **({} if owner is None else _cluster_labels(owner)),
        LABEL: owner_label(),
        # For people: names of machines are not unique.
        HOST_LABEL: platform.node(),
        CREATED_LABEL: str(int(time.time())),
        VERSION_LABEL: version,
    }


def _cluster_labels(owner: ClusterOwner) -> dict[str, str]:
    return {
        CLUSTER_LABEL: owner.cluster,
        NODE_LABEL: owner.node,
        SUPERVISOR_LABEL: owner.supervisor,
    }


def supervisor_filter(owner: ClusterOwner) -> list[str]:
    """Return the engine's filter for the containers of a supervisor."""
    return [f"{name}={value}" for name, value in _cluster_labels(owner).items()]


def cluster_owner_of(container_labels: Mapping[str, str]) -> ClusterOwner | None:
    """Return the supervisor that the labels name; ``None`` without one."""
    names = (CLUSTER_LABEL, NODE_LABEL, SUPERVISOR_LABEL)
    try:
        return ClusterOwner(*(container_labels.get(name, "") for name in names))
    except ConfigurationError:
        return None


def owner_label() -> str:
    """Return the value of :data:`LABEL` for this process."""
    return process_owner.owner_text()


def owner_is_gone(container_labels: Mapping[str, str]) -> bool:
    """Tell whether the labels name a process of this machine that no longer runs.

    An owner on another machine, or one that cannot be identified, counts as alive.
    """
    return process_owner.process_is_gone(container_labels.get(LABEL, ""))


def owner_of(container_labels: Mapping[str, str]) -> Owner:
    """Return the process that the labels name."""
    supervisor = cluster_owner_of(container_labels)
    return process_owner.named_owner(
        container_labels.get(LABEL, ""),
        container_labels.get(HOST_LABEL, ""),
        "" if supervisor is None else str(supervisor),
    )
