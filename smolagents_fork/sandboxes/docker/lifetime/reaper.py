"""Removal of containers: in the background, at exit, and for owners that died.

The engine takes a tenth of a second or more to remove a container. One thread waits for that. It
ends when the queue is empty for a second, and the exit of the process waits for it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ....errors import ExecutorStartError
from ....forks import ForkSafeLock, reset_in_child
from ...cluster_owner import ClusterOwner
from ...listed_entries import read_entries
from ...termination import exit_on_sigterm
from ..engine import connect, disconnect, engine_time
from ..engine_address import EngineAddress
from ..list_fields import container_name, created_at, entry_id
from .labels import LABEL, own_id, own_labels, owner_is_gone, supervisor_filter

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = [
    "pending",
    "reap",
    "reap_once",
    "reap_supervisor",
    "remove",
    "starting",
    "wait_until_gone",
    "wait_until_removed",
    "was_abandoned",
]

_EXIT_WAIT_SECONDS = 15.0
_IDLE_SECONDS = 1.0
# Age at which a container that was never started has nobody who starts it. Its start is three calls
# of the engine, each of which has a limit.
_MOST_UNSTARTED_SECONDS = 600.0
_AGAIN_SECONDS = 1.0

_lock = ForkSafeLock()
# Names of this process's containers, each with the address of its engine.
_known: dict[str, EngineAddress] = {}
# Those of them whose removal was asked for and has not succeeded.
_unremoved: set[str] = set()
_queue: queue.Queue[str] = queue.Queue()
_worker: threading.Thread | None = None
# Addresses of engines whose orphans have been looked for.
_reaped: set[EngineAddress] = set()
_exiting = False
# Number of containers that threads are starting now.
_starts = 0


@contextlib.contextmanager
def starting(name: str, address: EngineAddress) -> Iterator[None]:
    """Register a container before it is created, and delay the exit until the block ends.

    Args:
        name: Name of the container.
        address: Address of its engine.

    Raises:
        ExecutorStartError: the process is exiting, so the container would never be removed.
    """
    global _starts
    with _lock:
        if _exiting:
            raise ExecutorStartError("the process is exiting: no container is started")
        _known[name] = address
        _starts += 1
    exit_on_sigterm()
    try:
        yield
    finally:
        with _lock:
            _starts -= 1


def pending() -> int:
    """Count the containers of this process that have not been removed."""
    with _lock:
        return len(_known)


def remove(client: DockerClient, name: str, *, wait: bool) -> None:
    """Kill and remove a container; no-op when it is gone.

    Args:
        client: docker-py client, for ``wait``.
        name: Name of the container.
        wait: do it now; otherwise in the background.
    """
    with _lock:
        if name not in _known:
            return
        _unremoved.add(name)
    if wait or _exiting:
        # A thread that is started at exit never runs, and its start() would block.
        _remove_now(client, name)
        return
    _remove_in_background([name])


def _remove_in_background(names: Iterable[str]) -> None:
    global _worker
    for name in names:
        _queue.put(name)
    with _lock:
        if _worker is None or not _worker.is_alive():
            _worker = threading.Thread(target=_work, name="smolagents-fork-removal", daemon=True)
            _worker.start()


def wait_until_removed(timeout: float, address: EngineAddress | None = None) -> bool:
    """Wait for pending removals; return whether all are done.

    A removal that has failed before is tried once more.

    Args:
        timeout: seconds.
        address: Address of the engine whose containers have to be gone; ``None``: it is enough that
            each removal has been tried.
    """
    end = time.monotonic() + timeout
    repeated = False
    while True:
        with _lock:
            remaining = [name for name in _unremoved if _known.get(name) == address]
            idle = _queue.empty() and (_worker is None or not _worker.is_alive())
        if not remaining and (idle or address is not None):
            return True
        if (idle and repeated) or time.monotonic() > end:
            return False
        if idle:
            _remove_in_background(remaining)
            repeated = True
        time.sleep(0.01)


def wait_until_gone(name: str, timeout: float) -> bool:
    """Wait for one container's removal, whatever happens to others; return whether it is done.

    Args:
        name: Name of a container of this process that is being removed.
        timeout: seconds.
    """
    end = time.monotonic() + timeout
    while True:
        with _lock:
            if name not in _known:
                return True
        if time.monotonic() > end:
            return False
        time.sleep(0.01)


def _remove_now(client: DockerClient, name: str) -> None:
    import docker

    for attempt in range(3):
        try:
            client.api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            break
        except docker.errors.APIError as error:
            # "removal already in progress": the engine's auto-remove was first.
            if error.status_code != 409 and attempt == 2:
                return
            time.sleep(0.05 * (attempt + 1))
            continue
        except Exception:
            # The engine does not answer. The container's lease ends it, and the engine removes it.
            return
        break
    with _lock:
        _known.pop(name, None)
        _unremoved.discard(name)


def _work() -> None:
    """Remove queued containers; end when the queue is empty for a second."""
    clients: dict[EngineAddress, DockerClient] = {}
    try:
        while True:
            try:
                name = _queue.get(timeout=_IDLE_SECONDS if clients else 0.01)
            except queue.Empty:
                with _lock:
                    if not _queue.empty():
                        continue
                    global _worker
                    _worker = None
                    return
            with _lock:
                address = _known.get(name)
            if address is None:
                continue
            try:
                if address not in clients:
                    clients[address] = connect(address, timeout=30)
                _remove_now(clients[address], name)
            except Exception:
                continue
    finally:
        for client in clients.values():
            disconnect(client)


def reap_once(
    address: EngineAddress, remove_more: Callable[[DockerClient, EngineAddress], None]
) -> None:
    """Reap in the background, once an engine and process.

    Args:
        address: Address of the engine.
        remove_more: removes what else ended processes have left there.
    """
    with _lock:
        if address in _reaped:
            return
        _reaped.add(address)

    def work() -> None:
        with contextlib.suppress(Exception):
            own = connect(address, timeout=30)
            try:
                reap(own)
                remove_more(own, address)
            finally:
                disconnect(own)

    threading.Thread(target=work, name="smolagents-fork-reaper", daemon=True).start()


def reap(client: DockerClient) -> list[str]:
    """Remove containers that nobody needs any more; return their names.

    Those are the containers whose owning process, on this machine, has died. A container that was
    created and never started has no lease to end it: it is removed with any owner once no start can
    take that long. All others stay, and so do containers that the fork's labels do not name.
    """
    now = functools.cache(lambda: engine_time(client))

    def orphan(summary: Mapping[str, Any]) -> tuple[str, str] | None:
        labels = own_labels(summary)
        if labels is None:
            return None
        gone = owner_is_gone(labels)
        if not gone and summary.get("State") == "created":
            gone = was_abandoned(summary, now())
        return (entry_id(summary), container_name(summary)) if gone else None

    listed = client.api.containers(all=True, filters={"label": LABEL})
    orphans = read_entries("container", listed, orphan)
    for number, _ in orphans:
        _remove_now(client, number)
    return [name for _, name in orphans]


def was_abandoned(summary: Mapping[str, Any], now: float) -> bool:
    """Tell whether a container was created so long ago that nobody starts it any more.

    Args:
        summary: Summary of the container, from the engine's list.
        now: seconds of the epoch, by the engine's clock.
    """
    unstarted = summary.get("State") == "created"
    return unstarted and now - created_at(summary) > _MOST_UNSTARTED_SECONDS


def reap_supervisor(cluster: str, node: str, supervisor: str, seconds: float) -> None:
    """Remove the containers of a supervisor that has ended; never raises.

    Looks for them several times: the engine makes a container that it was asked for a moment later,
    and may itself be dead for a while.

    Args:
        cluster: Cluster of its :class:`ClusterOwner`.
        node: likewise.
        supervisor: likewise.
        seconds: Seconds for which to look.
    """
    label = supervisor_filter(ClusterOwner(cluster, node, supervisor))
    end = time.monotonic() + seconds
    while True:
        with contextlib.suppress(Exception):
            client = connect(timeout=30)
            try:
                listed = client.api.containers(all=True, filters={"label": label})
                for number in read_entries("container", listed, own_id):
                    _remove_now(client, number)
            finally:
                disconnect(client)
        if time.monotonic() > end:
            return
        time.sleep(_AGAIN_SECONDS)


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has no other threads and owns none of its parent's containers."""
    global _queue, _worker, _starts
    _queue, _worker, _starts = queue.Queue(), None, 0
    _known.clear()
    _unremoved.clear()


@atexit.register
def _at_exit() -> None:
    global _exiting
    with _lock:
        _exiting = True
    end = time.monotonic() + _EXIT_WAIT_SECONDS
    while _starts and time.monotonic() < end:  # daemon threads still run now
        time.sleep(0.01)
    wait_until_removed(_EXIT_WAIT_SECONDS)
    with _lock:
        left = dict(_known)
    for address in set(left.values()):
        with contextlib.suppress(Exception):
            client = connect(address, timeout=10)
            try:
                for name in [name for name, its in left.items() if its == address]:
                    _remove_now(client, name)
            finally:
                disconnect(client)
