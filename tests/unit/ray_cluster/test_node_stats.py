"""Figures of one supervisor."""

from __future__ import annotations

from dataclasses import replace

from smolagents_fork.ray_cluster.cluster_client import NodeStats

STATS = NodeStats("node", "supervisor", 4, 2, 1, "", "", 0.5)


def test_ready_slots_have_no_sandbox_and_start_none():
    assert STATS.ready == 1
    assert replace(STATS, starting=3).ready == 0


def test_supervisor_that_takes_no_sandbox_has_no_ready_slot():
    assert replace(STATS, lost="no heartbeat").ready == 0
    assert replace(STATS, engine_error="no engine").ready == 0
