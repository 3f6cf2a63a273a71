"""Inventory of the pods in a namespace of a cluster, and their removal."""

from __future__ import annotations

import contextlib
import datetime
import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorError
from ...system.inventory import Inventory, SandboxEntry
from ..containers.listed_entries import read_entries
from ..removals import REMOVAL_SECONDS
from .api_client import ClusterClient
from .pod_labels import PodRecord
from .pod_status import pod_state

__all__ = ["PodInventory", "reap", "remove_pod"]

_KILL_SECONDS = 30.0
_IS_SIZE = re.compile(r"[0-9]{1,18}")
# Ended pods of owners elsewhere stay this long, so that their logs can be read.
_ENDED_SECONDS = 600.0


class PodInventory(Inventory):
    """Pods of the fork.

    Args:
        namespace: ``None``: that of the current context, or of this pod.
    """

    def __init__(self, namespace: str | None = None) -> None:
        self._namespace = namespace

    def sandboxes(self) -> list[SandboxEntry]:
        with self._cluster() as client:
            return read_entries("pod", client.list_pods(), _entry)

    def log(self, sandbox: SandboxEntry, lines: int) -> list[str]:
        with self._cluster() as client:
            return client.log_lines(sandbox.name, lines)

    def kill(self, sandbox: SandboxEntry) -> None:
        with self._cluster() as client:
            remove_pod(client, sandbox.name, Deadline(_KILL_SECONDS))

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[ClusterClient]:
        client = ClusterClient(None, self._namespace)
        try:
            client.check()
            yield client
        finally:
            client.close()


def _entry(pod: Mapping[str, Any]) -> SandboxEntry:
    record, state = PodRecord(pod), pod_state(pod)
    container = ((pod.get("spec") or {}).get("containers") or [{}])[0]
    limit = str(((container.get("resources") or {}).get("limits") or {}).get("memory", ""))
    return SandboxEntry(
        id=record.sandbox,
        executor="kubernetes",
        owner=record.owner,
        started_at=record.created_at,
        state=state.status(()).state,
        memory_limit_bytes=int(limit) if _IS_SIZE.fullmatch(limit) else None,
        name=str(pod["metadata"]["name"]),
        image=str(container.get("image") or ""),
    )


def remove_pod(client: ClusterClient, name: str, deadline: Deadline) -> None:
    """Delete a pod and wait until it is gone.

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
    """Remove pods whose owner has ended; return their names.

    Those are pods whose owner, a process of this machine, has ended, and pods of any owner that
    ended ten minutes ago. Claims of such pods have an expiry, which their controller keeps.
    """
    removed = []
    for name in read_entries("pod", client.list_pods(), _orphan):
        with contextlib.suppress(ExecutorError):
            remove_pod(client, name, Deadline(REMOVAL_SECONDS))
            removed.append(name)
    return removed


def _orphan(pod: Mapping[str, Any]) -> str | None:
    """Return the name of a pod whose owner has ended."""
    is_orphan = PodRecord(pod).is_orphan or _has_long_ended(pod)
    return str(pod["metadata"]["name"]) if is_orphan else None


def _has_long_ended(pod: Mapping[str, Any]) -> bool:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        with contextlib.suppress(ValueError):
            text = str(ended.get("finishedAt") or "").replace("Z", "+00:00")
            at = datetime.datetime.fromisoformat(text)
            now = datetime.datetime.now(datetime.timezone.utc)
            return (now - at).total_seconds() > _ENDED_SECONDS
    return False
