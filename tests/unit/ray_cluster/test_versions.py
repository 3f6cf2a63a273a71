"""Versions: a supervisor of another fork or Python refuses."""

from __future__ import annotations

import doubled_placer

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.ray_cluster.node_supervisor import refusal, versions
from smolagents_fork.ray_cluster.plain_data import failure_of


def test_same_versions_are_accepted():
    assert refusal(versions(), "10.0.0.2 (ab)") == ""


def test_both_versions_are_named():
    here = versions()
    other = {**here, "smolagents": "1.25.0+fork.9"}
    assert refusal(other, "10.0.0.2 (ab)") == (
        f"smolagents 1.25.0+fork.9 here and {here['smolagents']} on node 10.0.0.2 (ab): install "
        "the same on both"
    )


def test_supervisor_refuses_a_driver_of_another_version():
    asked = {**versions(), "smolagents": "1.25.0+fork.9"}
    node = doubled_placer.Node("process", asked=asked)
    try:
        status, data = node.describe()
    finally:
        node.close()
    assert status == "error"
    error = failure_of(data)
    assert isinstance(error, ExecutorStartError)
    assert "smolagents 1.25.0+fork.9 here and" in str(error)
