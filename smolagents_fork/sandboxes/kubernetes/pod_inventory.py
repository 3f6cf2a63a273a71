"""Inventory of the pods in a namespace of the cluster that the kubeconfig names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorError
from ...system.inventory import Inventory, SandboxEntry
from ..containers.listed_entries import read_entries
from .api_client import ClusterClient
from .pod_labels import PodRecord
from .pod_removal import remove_pod
from .pod_status import pod_state

__all__ = ["PodInventory"]

_KILL_SECONDS = 30.0
_IS_SIZE = re.compile(r"[0-9]{1,18}")


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

    def log(self, sandbox: str, lines: int) -> list[str]:
        with self._cluster() as client:
            name = _pod_of(client, sandbox)
            if not name:
                raise ExecutorError(
                    f"sandbox {sandbox} is gone from namespace {client.namespace!r}"
                )
            return client.log_lines(name, lines)

    def kill(self, sandbox: str) -> None:
        with self._cluster() as client:
            name = _pod_of(client, sandbox)
            if name:
                remove_pod(client, name, Deadline(_KILL_SECONDS))

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[ClusterClient]:
        client = ClusterClient(None, self._namespace)
        try:
            client.check()
            yield client
        finally:
            client.close()


def _pod_of(client: ClusterClient, sandbox: str) -> str:
    """Return the name of a sandbox's pod; empty if it is gone.

    Raises:
        ExecutorError: annotations of several pods name the sandbox.
    """
    entries = read_entries("pod", client.list_pods(), _entry)
    names = [entry.name for entry in entries if entry.id == sandbox]
    if len(names) > 1:
        raise ExecutorError(
            f"pods {', '.join(names)} all say that they are sandbox {sandbox}: look at their "
            "annotations with kubectl"
        )
    return names[0] if names else ""


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
