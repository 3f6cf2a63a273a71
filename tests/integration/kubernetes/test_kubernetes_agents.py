"""Whole agents in a pod, and their model here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from background import eventually

from smolagents_fork import AgentSandbox, KubernetesEngine
from smolagents_fork.errors import ExecutorStartError
from tests.agent_programs import check_agents

#: For a start on a machine that does other work.
START_SECONDS = 180
NAME = "smolagents-fork-test-agents:1"


@pytest.fixture(scope="module")
def agent_image(engine: Any) -> Iterator[str]:
    AgentSandbox(image_name=NAME, startup_timeout_seconds=START_SECONDS).cleanup()
    yield NAME
    engine.images.remove(NAME)


def test_agents_run_in_a_pod(cluster: Any, agent_image: str, tmp_path: Path) -> None:
    check_agents(
        tmp_path / "agent",
        engine=KubernetesEngine(),
        image=agent_image,
        startup_timeout_seconds=START_SECONDS,
    )
    assert eventually(lambda: not cluster.pods)


def test_image_without_smolagents_says_what_is_missing(cluster: Any, image: str) -> None:
    with pytest.raises(ExecutorStartError, match="for which its kernel needs smolagents with this"):
        AgentSandbox(engine=KubernetesEngine(), image=image, startup_timeout_seconds=START_SECONDS)
