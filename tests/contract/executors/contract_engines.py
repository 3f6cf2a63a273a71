"""Executors in sandboxes of clusters and services: as ``docker`` in all, on another engine.

In a usual run clusters have the tests below; with ``WHOLE_CONTRACT=1`` they have all. The pods are
those of the cluster that the kubeconfig names, where ``KUBERNETES_CLUSTER`` is set by
``tools.kubernetes_cluster``, or ``KUBERNETES_IMAGE`` names an image that its nodes can pull.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import docker
import pytest
from blaxel_service import BlaxelService
from cluster_double import ClusterDouble
from whole_contract import WHOLE

from smolagents_fork import DockerExecutor, KubernetesEngine
from smolagents_fork.executors.hosted import BlaxelExecutor

#: An image that the nodes of a real cluster can pull, with the imports of the suite.
_IMAGE = os.environ.get("KUBERNETES_IMAGE", "")
_IS_REAL = bool(_IMAGE or os.environ.get("KUBERNETES_CLUSTER"))
#: Tests of a usual run, one or two of an area.
USUAL = frozenset(
    {
        "test_calls_are_served_in_order",
        "test_endless_code_is_stopped",
        "test_errors_have_type_message_and_line",
        "test_files_given_are_there_after_a_restart",
        "test_final_answer_from_anywhere",
        "test_function_tool",
        "test_interrupt_from_another_thread",
        "test_prints_are_streamed",
        "test_state_lives_on",
    }
)


def is_usual(test: str) -> bool:
    """Return whether a column of a cluster has a test in this run."""
    return test in USUAL or WHOLE


@functools.cache
def _cluster() -> ClusterDouble:
    """Return the cluster of this process, which the end of the run closes."""
    return ClusterDouble(docker.from_env(timeout=60))


class KubernetesExecutor(DockerExecutor):
    """``DockerExecutor`` in a cluster or the double of one, with an image that has the imports."""

    def __init__(
        self, additional_imports: Sequence[str] = (), logger: Any = None, **keywords: Any
    ) -> None:
        # A pod takes longer than a container on a busy machine: more processes take part.
        keywords.setdefault("startup_timeout_seconds", 180)
        keywords["engine"] = KubernetesEngine()
        # A node of this machine has the images of its engine.
        image = _IMAGE or DockerExecutor.setup(
            list(additional_imports), progress=lambda _line: None
        )
        if _IS_REAL:
            # The node would reserve a processor and two gigabytes for each pod.
            keywords.setdefault("cpus", None)
            keywords.setdefault("memory", "1g")
            super().__init__(additional_imports, logger, image=image, **keywords)
            return
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            config = _cluster().kubeconfig(Path(folder) / "config")
            patch.setenv("KUBECONFIG", str(config))
            super().__init__(additional_imports, logger, image=image, **keywords)


_service_parts = contextlib.ExitStack()


@functools.cache
def start_service() -> BlaxelService:
    """Start the service of this process, which serves until the end of the run."""
    # A short path: the kernels' sockets are inside.
    folder = Path(_service_parts.enter_context(tempfile.TemporaryDirectory(prefix="hosted")))
    service = BlaxelService(folder, folder)
    _service_parts.enter_context(service.thread)
    return service


def lead_to_service(patch: pytest.MonkeyPatch) -> None:
    """Lead the SDK to the service of this process; tests of other files lead it elsewhere."""
    service = start_service()
    service.lead(service.address, patch)


class HostedExecutor(BlaxelExecutor):
    """``BlaxelExecutor`` on the double, whose kernels have the packages of the tests."""

    def __init__(
        self, _additional_imports: Sequence[str] = (), logger: Any = None, **keywords: Any
    ) -> None:
        super().__init__([], logger, **keywords)


def close() -> None:
    """Close the clusters of this process, and stop its service."""
    _service_parts.close()
    start_service.cache_clear()
    if _cluster.cache_info().currsize:
        with contextlib.suppress(Exception):
            _cluster().close()
            _cluster().engine.close()
        _cluster.cache_clear()
