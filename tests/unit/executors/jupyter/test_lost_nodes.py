"""A kernel whose node is lost while it starts is started on another node."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import hostile_gateway
import pytest
from hostile_gateway import Gateway, HostileEngine

from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.executors.jupyter.connection import status_after_end
from smolagents_fork.sandboxes.provisioner import SandboxSpec, SandboxStatus


def answer(_gateway: Gateway, _request: Any, _code: str) -> bool:
    return False


def break_off(gateway: Gateway, _request: Any, _code: str) -> bool:
    gateway.sock.close()
    return True


@dataclass(frozen=True)
class LosingEngine(HostileEngine):
    """An engine on whose nodes the first kernels end while they start."""

    losses: int = 0
    #: Why their nodes are lost; empty if they are not.
    reason: str = "the node does not answer"
    started: list[Any] = field(default_factory=list)

    def start(self, spec: SandboxSpec) -> Any:
        is_lost = len(self.started) < self.losses
        sandbox = HostileEngine(break_off if is_lost else self.act).start(spec)
        sandbox.place, sandbox.lost = "a node", self.reason if is_lost else ""
        if is_lost:
            sandbox.status = lambda: SandboxStatus("ended")
        self.started.append(sandbox)
        return sandbox


def test_executor_has_kernel_of_another_node():
    engine = LosingEngine(answer, losses=2)
    with DockerExecutor(engine=engine, image="x") as executor:
        assert executor("1").output is None
    assert len(engine.started) == 3


@pytest.mark.parametrize(
    ("reason", "starts", "beginning"),
    [
        ("the node does not answer", 3, "the sandbox did not start: the kernel in sandbox "),
        ("", 1, "the kernel in sandbox "),
    ],
    ids=["lost nodes", "nodes that are there"],
)
def test_executor_gives_up_after_three_lost_nodes(reason, starts, beginning):
    engine = LosingEngine(answer, losses=9, reason=reason)
    with pytest.raises(ExecutorStartError) as caught:
        DockerExecutor(engine=engine, image="x")
    text = str(caught.value)
    assert text.startswith(beginning)
    assert "(image image) did not start in startup_timeout_seconds=60.0: " in text
    assert len(engine.started) == starts


@pytest.mark.parametrize(("cause", "starts"), [("node", 3), ("exit", 1)])
def test_start_is_repeated_for_lost_nodes_alone(cause, starts, monkeypatch):
    died = SandboxDiedError("its supervisor was given up", cause=cause)
    monkeypatch.setattr(hostile_gateway._Sandbox, "open_stream", Mock(side_effect=died))
    engine = LosingEngine(answer)
    with pytest.raises(ExecutorStartError, match="its supervisor was given up"):
        DockerExecutor(engine=engine, image="x")
    assert len(engine.started) == starts


def test_caller_of_a_pool_waits_for_kernel_of_another_node():
    engine = LosingEngine(answer, losses=2)
    with DockerPool(0, 1, engine=engine, image="x") as pool:
        assert pool.acquire(60).is_alive()
        assert pool.stats().failed == 2


def test_engine_that_notices_the_end_later_is_asked_again():
    answers = [SandboxStatus("running")] * 5 + [SandboxStatus("ended", 137)]
    status = status_after_end(SimpleNamespace(status=lambda: answers.pop(0)))  # type: ignore[arg-type]
    assert (status.state, status.exit_code) == ("ended", 137)
