"""Removal of pods, and of those whose owners died."""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorError
from ..containers.listed_entries import read_entries
from ..removals import REMOVAL_SECONDS
from .api_client import ClusterClient
from .pod_labels import PodRecord

__all__ = ["reap", "remove_pod"]

# Ended pods of owners elsewhere stay this long, so that their logs can be read.
_ENDED_SECONDS = 600.0


def remove_pod(client: ClusterClient, name: str, deadline: Deadline) -> None:
    """Delete a pod and wait until it is gone.

    Args:
        client: Client of the cluster.
        name: Name of the pod.
        deadline: Deadline of all calls together.

    Raises:
        ExecutorError: the cluster does not do it, or not in time.
    """
    client.delete(
        f"pod {name}",
        functools.partial(client.core.delete_namespaced_pod, grace_period_seconds=0),
        client.core.read_namespaced_pod,
        *(name, client.namespace),
        deadline=deadline,
    )


def reap(client: ClusterClient) -> list[str]:
    """Remove pods that nobody owns any more; return their names.

    Those are pods whose owner, a process of this machine, has ended, and pods of any owner that
    ended ten minutes ago. Claims of such pods have an expiry, which their controller keeps.

    Args:
        client: Client of the cluster.
    """
    removed = []
    for name in read_entries("pod", client.list_pods(), _orphan):
        with contextlib.suppress(ExecutorError):
            remove_pod(client, name, Deadline(REMOVAL_SECONDS))
            removed.append(name)
    return removed


def _orphan(pod: Mapping[str, Any]) -> str | None:
    """Return the name of a pod that nobody owns any more."""
    is_orphan = PodRecord(pod).is_orphan or _ended_long_ago(pod)
    return str(pod["metadata"]["name"]) if is_orphan else None


def _ended_long_ago(pod: Mapping[str, Any]) -> bool:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        with contextlib.suppress(ValueError):
            text = str(ended.get("finishedAt") or "").replace("Z", "+00:00")
            at = datetime.datetime.fromisoformat(text)
            now = datetime.datetime.now(datetime.timezone.utc)
            return (now - at).total_seconds() > _ENDED_SECONDS
    return False
