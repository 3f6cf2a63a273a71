"""The actor around a supervisor; imports Ray, in which it runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import ray
import ray.util

from .node_supervisor import Supervisor

__all__ = ["SupervisorActor", "actor_class"]

# Threads for control; beats have theirs, or a slow start would look like silence.
_CONTROL_THREADS = 16
_BEAT_THREADS = 2
# An engine may block the removal of one sandbox; starts and requests go on, and other removals.
_REMOVAL_THREADS = 4
# For each sandbox: two calls that wait for it, and as many for others, such as those of a file.
_RELAY_THREADS = 4

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _in_group(name: str) -> Callable[[_Method], _Method]:
    """Run a method in a group of threads of its own."""
    method: Any = ray.method
    decorate: Callable[[_Method], _Method] = method(concurrency_group=name)
    return decorate


class SupervisorActor(Supervisor):
    """A supervisor on the node where Ray has placed it.

    Args:
        reservation: its resources, as plain data.
        asked: versions of the driver.
        cluster: name of the cluster.
    """

    def __init__(self, reservation: dict[str, Any], asked: dict[str, str], cluster: str) -> None:
        # Starts, ends and leases are in the log of Ray's worker, which by itself shows warnings.
        logger = logging.getLogger("smolagents_fork.ray_cluster")
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
        node = ray.get_runtime_context().get_node_id()
        address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]  # Ray's own
        super().__init__(reservation, asked, cluster, node, address)

    # Declared here, not at the call: Ray's client knows no groups of threads.

    @_in_group("beats")
    def beat(self, calls: list[tuple[str, float]]) -> Any:
        """See :class:`Supervisor`."""
        return super().beat(calls)

    @_in_group("removals")
    def remove(self, sandbox: str) -> Any:
        """See :class:`Supervisor`."""
        return super().remove(sandbox)

    @_in_group("relay")
    def relay_open(self, token: bytes) -> Any:
        """See :class:`Supervisor`."""
        return super().relay_open(token)

    @_in_group("relay")
    def relay_exchange(self, call: bytes) -> Any:
        """See :class:`Supervisor`."""
        return super().relay_exchange(call)

    @_in_group("relay")
    def relay_close(self, name: bytes) -> Any:
        """See :class:`Supervisor`."""
        return super().relay_close(name)


def actor_class(slots: int) -> Any:
    """Return the actor's class for Ray.

    Args:
        slots: sandboxes at once.
    """
    groups = {
        "beats": _BEAT_THREADS,
        "removals": _REMOVAL_THREADS,
        "relay": _RELAY_THREADS * slots + 8,
    }
    decorate: Any = ray.remote
    decorated = decorate(
        max_restarts=0, max_concurrency=_CONTROL_THREADS, concurrency_groups=groups
    )
    return decorated(SupervisorActor)
