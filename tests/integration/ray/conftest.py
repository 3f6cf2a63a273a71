"""Tests on a real Ray cluster with a head and other nodes; token authentication is on."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from ray_nodes import network
from ray_nodes.cluster import RayCluster
from ray_nodes.sharing import using_cluster


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.ray)
    if item.get_closest_marker("limit") is None:
        # One item may start or complete a cluster and wait for several of its ends.
        item.add_marker(pytest.mark.limit(1800))


@pytest.fixture(scope="session", autouse=True)
def _ray(ray_installed: None) -> None:
    """Every test of this folder needs Ray."""


@pytest.fixture(scope="session")
def links() -> None:
    """Have network namespaces, whose links can be cut.

    Without: a skip that says why, or a failure when ``REQUIRE_RAY=1``.
    """
    reason = network.missing()
    if reason:
        if os.environ.get("REQUIRE_RAY") == "1":
            pytest.fail(f"REQUIRE_RAY=1, but {reason}")
        pytest.skip(reason)


@pytest.fixture
def cluster(ray_cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """The run's cluster, with its token in the environment. Tests leave its nodes alone."""
    for name, value in ray_cluster.environment.items():
        monkeypatch.setenv(name, value)
    return ray_cluster


@pytest.fixture(scope="module")
def _module_cluster(links: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    # The fewest nodes that a fault leaves one of: each costs seconds of processor time.
    with using_cluster(tmp_path_factory.mktemp("ray"), size=2) as cluster:
        yield cluster


@pytest.fixture
def breakable(_module_cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """A cluster of the test file alone, complete, with its token in the environment."""
    _module_cluster.complete()
    for name, value in _module_cluster.environment.items():
        monkeypatch.setenv(name, value)
    return _module_cluster
