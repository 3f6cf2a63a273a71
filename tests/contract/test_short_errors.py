"""A foreseen cause is one short error: its message says everything, so no other one is shown."""

from __future__ import annotations

import traceback

import pytest
from smolagents import CodeAgent

from smolagents_fork import (
    AgentSandbox,
    DockerExecutor,
    KubernetesEngine,
    ProcessExecutor,
    WasmExecutor,
)
from smolagents_fork.errors import EngineUnavailableError, ExecutorError


def shown(error: BaseException) -> str:
    """Return what Python prints of an error that nobody catches."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "make",
    [
        DockerExecutor,
        AgentSandbox,
        DockerExecutor.setup,
        lambda: CodeAgent([], model=object(), executor_type="docker"),
    ],
    ids=["executor", "agent sandbox", "setup", "agent"],
)
def test_absent_docker_is_one_error(monkeypatch, make):
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/docker.sock")
    with pytest.raises(EngineUnavailableError, match="no container engine answers at") as caught:
        make()
    assert shown(caught.value).count("Traceback (most recent call last)") == 1


def test_absent_cluster_is_one_error(monkeypatch, tmp_path):
    pytest.importorskip("kubernetes")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(EngineUnavailableError) as caught:
        DockerExecutor(engine=KubernetesEngine(), image="python:3.12")
    assert shown(caught.value).count("Traceback (most recent call last)") == 1


def test_absent_deno_is_one_error(monkeypatch, tmp_path):
    with pytest.raises(ExecutorError) as caught:
        WasmExecutor([], deno=str(tmp_path / "none"))
    assert shown(caught.value).count("Traceback (most recent call last)") == 1


def test_file_that_is_not_there_is_one_error():
    with ProcessExecutor([]) as executor, pytest.raises(ExecutorError, match="get_file") as caught:
        executor.get_file("none")
    assert shown(caught.value).count("Traceback (most recent call last)") == 1
