"""A double of a cluster, whose pods are containers of the real engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster_double import ClusterDouble

from smolagents_fork import DockerExecutor
from smolagents_fork.sandboxes.kubernetes.kubernetes_engine import KubernetesEngine

#: For a start on a machine that does other work; quiet, it takes two seconds.
START_SECONDS = 180


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test of this folder."""
    item.add_marker(pytest.mark.docker)
    item.add_marker(pytest.mark.kubernetes)


@pytest.fixture(scope="session")
def shared_cluster(engine: Any, image: str) -> Iterator[ClusterDouble]:
    """One cluster, whose image is checked once."""
    made = ClusterDouble(engine)
    yield made
    made.close()


@pytest.fixture
def cluster(
    shared_cluster: ClusterDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ClusterDouble]:
    """A cluster without pods that ``KUBECONFIG`` names."""
    shared_cluster.reset()
    monkeypatch.setenv("KUBECONFIG", str(shared_cluster.kubeconfig(tmp_path / "kubeconfig")))
    yield shared_cluster
    shared_cluster.reset()


@pytest.fixture
def make(cluster: ClusterDouble, image: str) -> Iterator[Callable[..., DockerExecutor]]:
    """Makes executors on the cluster that are closed after the test."""
    with contextlib.ExitStack() as stack:

        def build(*args: Any, **keywords: Any) -> DockerExecutor:
            keywords.setdefault("engine", KubernetesEngine())
            keywords.setdefault("image", image)
            keywords.setdefault("startup_timeout_seconds", START_SECONDS)
            executor = stack.enter_context(DockerExecutor(*args, **keywords))
            stack.callback(lambda: executor._connection.wait_until_removed(60))
            return executor

        yield build
