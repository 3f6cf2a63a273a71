"""A kernel whose node is lost before a program ran starts on another node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from examples.job_engine import JobProvisioner
from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.executors.jupyter.connection import KernelConnection, KernelSettings
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


@pytest.fixture
def spec(kernel_folder: Path, tmp_path: Path) -> SandboxSpec:
    return SandboxSpec(image=str(kernel_folder), workdir=str(tmp_path / "work"))


def connection(provisioner: LosesNodes, spec: SandboxSpec) -> KernelConnection:
    return KernelConnection(provisioner, spec, KernelSettings(allow_root=True))


@pytest.mark.parametrize("lost", [1, 2])
def test_start_on_a_lost_node_is_made_elsewhere(spec: SandboxSpec, lost: int):
    provisioner = LosesNodes(JobProvisioner(), lost, "node")
    made = connection(provisioner, spec)
    made.open(120.0)
    made.close()
    assert provisioner.started == lost + 1


@pytest.mark.parametrize(("cause", "starts"), [("node", 3), ("exit", 1)])
def test_other_ends_and_too_many_lost_nodes_are_errors(spec: SandboxSpec, cause: str, starts: int):
    provisioner = LosesNodes(JobProvisioner(), 9, cause)
    made = connection(provisioner, spec)
    with pytest.raises((ExecutorStartError, SandboxDiedError), match="node a was given up"):
        made.open(120.0)
    made.close()
    assert provisioner.started == starts
