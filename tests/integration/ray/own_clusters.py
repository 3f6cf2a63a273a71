"""Clusters of a test's own, and the placer processes of clusters that end."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from typing import Any

import pytest
from ray_nodes.cluster import RayCluster

from smolagents_fork.ray_cluster import supervisors

__all__ = ["close_placer", "own_cluster"]


@contextlib.contextmanager
def own_cluster(
    monkeypatch: pytest.MonkeyPatch, *, namespaces: bool = False, **options: Any
) -> Iterator[RayCluster]:
    """Have a cluster, with what its users need in the environment.

    Args:
        monkeypatch: takes the environment back.
        namespaces: whether it has a head and three nodes; otherwise one node on the loopback.
        **options: of ``RayCluster.create()``.
    """
    with contextlib.nullcontext() if namespaces else _loopback():
        cluster = RayCluster.create(namespaces=namespaces, **options)
        try:
            for name, value in cluster.environment.items():
                monkeypatch.setenv(name, value)
            yield cluster
            close_placer(cluster)
        finally:
            cluster.remove()


@contextlib.contextmanager
def _loopback() -> Iterator[None]:
    """Have the ports of the loopback alone among the processes of a run."""
    with open(__file__, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def close_placer(cluster: RayCluster) -> None:
    """End this process's placer for a cluster: the next one may have the same address."""
    found = supervisors._shared.get(cluster.address)
    if found is not None:
        found.placer.close()
