"""Nodes that have Ray alone: the application brings the fork, and docker-py, with it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from own_clusters import own_cluster
from ray_extras import python_with_ray_alone
from ray_nodes.cluster import RayCluster
from whole_contract import WHOLE

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine

# Only detects hangs.
SECONDS = 240.0

pytestmark = pytest.mark.skipif(not WHOLE, reason="only with WHOLE_CONTRACT=1")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RayCluster]:
    """A cluster of one node, whose Python has no docker-py and another version of the fork."""
    python = python_with_ray_alone(tmp_path / "ray")
    other = next((tmp_path / "ray").glob("lib/*/site-packages")) / "smolagents_fork"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('another version')")
    # Ray has its workers import from the folder that the application works in.
    monkeypatch.chdir(tmp_path)
    for name, error in (("smolagents_fork", b"another version"), ("docker", b"No module named")):
        done = subprocess.run([python, "-Ic", f"import {name}"], capture_output=True, check=False)
        assert error in done.stderr
    with own_cluster(monkeypatch, python=python) as cluster:
        yield cluster


@pytest.mark.docker
def test_processes_and_containers_run_on_nodes_with_ray_alone(
    bare: RayCluster, engine: Any
) -> None:
    processes = RayEngine(bare.address, sandbox="process", cpus_per_slot=0.25)
    with ProcessExecutor(engine=processes, startup_timeout_seconds=SECONDS) as executor:
        executor.send_tools({"double": lambda number: 2 * number})
        assert executor("double(21)").output == 42
    containers = RayEngine(bare.address, cpus_per_slot=0.25, memory_per_slot="64m")
    with DockerExecutor(engine=containers, startup_timeout_seconds=SECONDS) as executor:
        executor.send_tools({"double": lambda number: 2 * number})
        assert executor("double(21)").output == 42
