"""``ps``, ``logs`` and ``kill`` with pods of the cluster that the kubeconfig names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from cluster_double import ClusterDouble

from smolagents_fork import DockerExecutor
from smolagents_fork.command_line.main import main


def test_pods_are_listed_and_killed(
    make: Callable[..., DockerExecutor],
    cluster: ClusterDouble,
    capsys: pytest.CaptureFixture[str],
):
    def run(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        ended = capsys.readouterr()
        return code, ended.out + ended.err

    def listed(*options: str) -> list[dict]:
        code, out = run("ps", "--json", *options)
        assert code == 0, out
        return [s for s in json.loads(out)["sandboxes"] if s["executor"] == "kubernetes"]

    executor = make(memory="512m")
    assert executor("1 + 1").output == 2
    (found,) = listed()
    assert found == listed("--engine", "kubernetes")[0]
    assert found["name"] == executor._sandbox.name
    assert found["id"] == executor._sandbox.id
    assert found["state"] == "running"
    assert found["memory_limit_bytes"] == 512 << 20
    assert found["image"] == executor._sandbox.spec.image
    assert found["owner"]["pid"] == os.getpid()
    assert found["owner"]["state"] == "running"
    assert found["owner"]["cluster"] == "node node-1"
    assert listed("--engine", "docker") == []
    code, out = run("ps", "--engine", "kubernetes")
    assert code == 0
    assert found["id"] in out
    code, out = run("logs", found["id"], "--engine", "kubernetes", "--lines", "5")
    assert code == 0, out
    code, out = run("kill", found["id"], "--engine", "kubernetes")
    assert (code, out) == (0, f"killed {found['id']}\n")
    assert listed() == []
    code, out = run("logs", found["id"], "--engine", "kubernetes")
    assert code == 1
    assert f"no sandbox of the fork is called {found['id']!r}" in out


def test_cluster_that_does_not_answer_is_said(
    cluster: ClusterDouble, capsys: pytest.CaptureFixture[str]
):
    cluster.down()
    try:
        assert main(["ps", "--json", "--engine", "kubernetes"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["sandboxes"] == []
        assert cluster.url in found["not_listed"]["kubernetes"]
    finally:
        cluster.up()
