"""Removal of pods: in the background, at exit, and for owners that died."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import functools
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import EngineUnavailableError, ExecutorError, ExecutorStartError
from ...forks import reset_in_child
from ..listed_entries import read_entries
from ..termination import exit_on_sigterm
from .api_client import ClusterClient
from .claims.sandbox_claims import CLAIMS, GROUP, VERSION, delete_claim
from .pod_labels import MANAGED_BY, owner_is_gone

__all__ = ["Removals", "reap"]

# Time for all removals at exit: first for those in the background, then for the rest.
_EXIT_WAIT_SECONDS, _EXIT_SECONDS = 15.0, 30.0
_IDLE_SECONDS = 1.0
_ATTEMPTS = 3
# Time for all attempts to remove one object.
_REMOVAL_SECONDS = 30.0
# Ended pods of owners elsewhere stay this long, so that their logs can be read.
_ENDED_SECONDS = 600.0

#: Removes one object before a deadline, and raises unless it is gone.
_Removal = Callable[[Deadline], None]


class _Pending:
    """Objects of this process in clusters that have not been removed yet, by name."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        #: Address of the cluster and removal, by name of the object.
        self.known: dict[str, tuple[str, _Removal]] = {}
        #: Those of them whose removal was asked for and has not succeeded.
        self.unremoved: set[str] = set()
        self.queue: queue.Queue[str] = queue.Queue()
        self.worker: threading.Thread | None = None
        self.exiting = False


_pending = _Pending()


class Removals:
    """Removals in one namespace.

    Args:
        client: of the cluster.
    """

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    def register(self, name: str, remove: _Removal | None = None) -> None:
        """Register a pod before it is created: whatever happens, it is removed at exit.

        Args:
            name: of the pod.
            remove: removes it; ``None``: by its name.

        Raises:
            ExecutorStartError: the process is exiting.
        """
        with _pending.lock:
            if _pending.exiting:
                raise ExecutorStartError("the process is exiting: no pod is started")
            if remove is None:
                remove = functools.partial(remove_pod, self._client, name)
            _pending.known[name] = self._client.address, remove
        exit_on_sigterm()

    def remove(self, name: str, *, wait: bool) -> None:
        """Remove a pod; no-op when it is gone.

        Args:
            name: of the pod.
            wait: do it now; otherwise in the background.
        """
        with _pending.lock:
            if name not in _pending.known:
                return
            _pending.unremoved.add(name)
        if wait or _pending.exiting:
            _remove_now(name, Deadline(_REMOVAL_SECONDS))
            return
        _remove_in_background([name])

    def wait(self, timeout: float) -> bool:
        """Wait for pending removals in the cluster; return whether all are done.

        A removal that has failed before is tried once more.

        Args:
            timeout: seconds.
        """
        end = time.monotonic() + timeout
        repeated = False
        while remaining := self._remaining():
            idle = _wait_for_worker(min(0.01, end - time.monotonic()))
            if (idle and repeated) or time.monotonic() > end:
                return False
            if idle:
                _remove_in_background(remaining)
                repeated = True
        return True

    def _remaining(self) -> list[str]:
        address = self._client.address
        with _pending.lock:
            known = {name: _pending.known.get(name) for name in _pending.unremoved}
        return [name for name, entry in known.items() if entry and entry[0] == address]


def _remove_in_background(names: Iterable[str]) -> None:
    for name in names:
        _pending.queue.put(name)
    with _pending.lock:
        if _pending.worker is None:
            _pending.worker = threading.Thread(
                target=_work, name="smolagents-fork-pod-removal", daemon=True
            )
            _pending.worker.start()


def _wait_for_worker(timeout: float) -> bool:
    """Wait until each removal in the background has been tried; return whether that is so."""
    end = time.monotonic() + timeout
    while True:
        with _pending.lock:
            if _pending.queue.empty() and _pending.worker is None:
                return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


def remove_pod(client: ClusterClient, name: str, deadline: Deadline) -> None:
    """Delete a pod and wait until it is gone.

    Args:
        client: of the cluster.
        name: of the pod.
        deadline: of all calls together.

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


def _remove_now(name: str, deadline: Deadline) -> bool:
    """Remove one object; return whether its cluster answered.

    What is not removed stays known, and is removed at exit; without an answer the lease ends it.
    """
    with _pending.lock:
        known = _pending.known.get(name)
    if known is None:
        return True
    for attempt in range(_ATTEMPTS):
        try:
            known[1](deadline)
        except EngineUnavailableError:
            return False
        except ExecutorError:
            if deadline.expired():
                break
            time.sleep(deadline.at_most(0.2 * (attempt + 1)))
            continue
        with _pending.lock:
            _pending.known.pop(name, None)
            _pending.unremoved.discard(name)
        break
    return True


def _work() -> None:
    """Remove queued pods; end when the queue is empty for a second."""
    while True:
        try:
            name = _pending.queue.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            with _pending.lock:
                if not _pending.queue.empty():
                    continue
                _pending.worker = None
                return
        with contextlib.suppress(Exception):
            _remove_now(name, Deadline(_REMOVAL_SECONDS))


def reap(client: ClusterClient, *, claims: bool = False) -> list[str]:
    """Remove pods that nobody owns any more; return their names.

    Those are pods whose owner, a process of this machine, has ended, and pods of any owner that
    ended ten minutes ago.

    Args:
        client: of the cluster.
        claims: whether claims of warm pools are looked for, too.
    """
    removed: list[str] = []
    # Without these claims in the cluster, or without permission, the pods are still removed.
    with contextlib.suppress(ExecutorError):
        removed += _reap_claims(client) if claims else []
    found = client.call(
        "listing pods", client.core.list_namespaced_pod, client.namespace,
        label_selector=MANAGED_BY,
    )  # fmt: skip
    for name in read_entries("pod", found.get("items"), _orphan):
        with contextlib.suppress(ExecutorError):
            remove_pod(client, name, Deadline(_REMOVAL_SECONDS))
            removed.append(name)
    return removed


def _orphan(pod: Mapping[str, Any]) -> str | None:
    """Return the name of a pod that nobody owns any more."""
    return str(pod["metadata"]["name"]) if owner_is_gone(pod) or _ended_long_ago(pod) else None


def _reap_claims(client: ClusterClient) -> list[str]:
    removed = []
    found = client.call(
        "listing claims",
        client.custom.list_namespaced_custom_object,
        GROUP,
        VERSION,
        client.namespace,
        CLAIMS,
        label_selector=MANAGED_BY,
    )
    for name in read_entries("claim", found.get("items"), _orphan):
        with contextlib.suppress(ExecutorError):
            delete_claim(client, name, Deadline(_REMOVAL_SECONDS))
            removed.append(name)
    return removed


def _ended_long_ago(pod: Mapping[str, Any]) -> bool:
    for container in (pod.get("status") or {}).get("containerStatuses") or ():
        ended = (container.get("state") or {}).get("terminated") or {}
        with contextlib.suppress(ValueError):
            text = str(ended.get("finishedAt") or "").replace("Z", "+00:00")
            at = datetime.datetime.fromisoformat(text)
            now = datetime.datetime.now(datetime.timezone.utc)
            return (now - at).total_seconds() > _ENDED_SECONDS
    return False


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which owns none of its parent's pods."""
    global _pending
    _pending = _Pending()


@atexit.register
def _at_exit() -> None:
    with _pending.lock:
        _pending.exiting = True
    deadline = Deadline(_EXIT_SECONDS)
    _wait_for_worker(_EXIT_WAIT_SECONDS)
    silent: set[str] = set()
    for name, (address, _) in list(_pending.known.items()):
        if deadline.expired():
            return  # the leases end what is left
        with contextlib.suppress(Exception):
            if address not in silent and not _remove_now(name, deadline):
                silent.add(address)
