"""Whole agents in a container on a node of a Ray cluster, and their model here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ray_nodes.cluster import RayCluster

from smolagents_fork import RayEngine
from tests.agent_programs import check_agents

pytestmark = pytest.mark.docker


def test_agents_run_on_a_node(cluster: RayCluster, engine: Any, tmp_path: Path) -> None:
    there = RayEngine(
        cluster.address,
        lease_seconds=60.0,
        slots_per_node=1,
        memory_per_slot="64m",
        cpus_per_slot=0.5,
    )
    check_agents(tmp_path / "agent", engine=there, startup_timeout_seconds=240)
