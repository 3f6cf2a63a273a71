"""A kernel whose node is lost before a program ran starts on another node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.job_engine import JobEngine, JobProvisioner
from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.engine_protocol import Note, no_note
from smolagents_fork.sandboxes.provisioner import SandboxSpec


class LosesNodes:
    """A provisioner whose first sandboxes are lost before their first stream.

    Args:
        inner: starts the sandboxes.
        count: of those that are lost.
        cause: of their end.
    """

    def __init__(self, inner: Any, count: int, cause: str) -> None:
        self._inner = inner
        self._left = count
        self._cause = cause
        self.started = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def start(self, spec: SandboxSpec) -> Any:
        self.started += 1
        sandbox = self._inner.start(spec)
        if self._left:
            self._left -= 1
            sandbox.open_stream = self._lost
        return sandbox

    def _lost(self, **_options: Any) -> Any:
        raise SandboxDiedError("the supervisor of node a was given up", cause=self._cause)


class LosingEngine(JobEngine):
    """An engine that loses nodes."""

    def __init__(self, count: int, cause: str) -> None:
        self.provisioner = LosesNodes(JobProvisioner(), count, cause)

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> Any:
        return self.provisioner


@pytest.fixture
def started(kernel_folder: Path, tmp_path: Path) -> Callable[[LosingEngine], DockerExecutor]:
    """Start an executor on an engine."""
    folders = {"image": str(kernel_folder), "workdir": str(tmp_path / "work")}
    return lambda engine: DockerExecutor(engine=engine, allow_root=True, **folders)


@pytest.mark.parametrize("lost", [1, 2])
def test_start_on_a_lost_node_is_made_elsewhere(started, lost: int):
    engine = LosingEngine(lost, "node")
    with started(engine) as executor:
        assert executor("6 * 7").output == 42
    assert engine.provisioner.started == lost + 1


@pytest.mark.parametrize(("cause", "starts"), [("node", 3), ("exit", 1)])
def test_other_ends_and_too_many_lost_nodes_are_errors(started, cause: str, starts: int):
    engine = LosingEngine(9, cause)
    with pytest.raises(ExecutorStartError, match="node a was given up"):
        started(engine)
    assert engine.provisioner.started == starts
