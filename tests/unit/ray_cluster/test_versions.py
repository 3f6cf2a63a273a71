"""Versions: a supervisor of another fork or Python refuses."""

from __future__ import annotations

from smolagents_fork.ray_cluster.node.node_supervisor import refusal, versions


def test_same_versions_are_accepted():
    assert refusal(versions(), "10.0.0.2 (ab)") == ""


def test_both_versions_are_named():
    here = versions()
    other = {**here, "smolagents": "1.25.0+fork.9"}
    assert refusal(other, "10.0.0.2 (ab)") == (
        f"smolagents 1.25.0+fork.9 here and {here['smolagents']} on node 10.0.0.2 (ab): install "
        "the same on both"
    )
