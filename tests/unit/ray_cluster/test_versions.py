"""Versions: a supervisor of another fork or Python refuses."""

from __future__ import annotations

from unittest.mock import MagicMock

import doubled_helper
import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.ray_cluster.links.failure_data import failure_of
from smolagents_fork.ray_cluster.node import node_supervisor
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


def test_supervisor_refuses_a_driver_of_another_version(monkeypatch: pytest.MonkeyPatch):
    asked = {**versions(), "smolagents": "1.25.0+fork.9"}
    monkeypatch.setattr(doubled_helper, "versions", lambda: asked)
    # No sandbox is started.
    monkeypatch.setattr(node_supervisor, "kind_of", lambda _kind: MagicMock())
    node = doubled_helper.Node("process")
    try:
        status, data = node.describe()
    finally:
        node.close()
    assert status == "error"
    error = failure_of(data)
    assert isinstance(error, ExecutorStartError)
    assert "smolagents 1.25.0+fork.9 here and" in str(error)
