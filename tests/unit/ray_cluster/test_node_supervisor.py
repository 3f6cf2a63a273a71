"""Supervisor of a node: slots, streams, removals in any order, the lease."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from background import eventually
from doubled_placer import EchoKind, Node

from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.ray_cluster import node_supervisor
from smolagents_fork.ray_cluster.node_link import answer_of, ask, connect
from smolagents_fork.system.first_process_link import MARK

SECONDS = 60.0


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node("echo")
    yield made
    made.close()


OPEN = {"sandbox": "one", "method": "open_stream", "arguments": {"timeout": SECONDS}}


def start(node: Node, name: str, tenant: str = "") -> Any:
    """Start a sandbox, as a request does."""
    return ask(node.place, SECONDS, "start", sandbox=name, options={}, tenant=tenant)


def kind_of(node: Node) -> EchoKind:
    kind: Any = node._kind
    return kind


def test_slots_are_limited_and_given_back(node: Node):
    kind_of(node).before = Mock(side_effect=[ExecutorStartError("no"), *5 * [None]])
    with pytest.raises(ExecutorStartError, match="no"):
        start(node, "failed")
    names = ["first", "second", "third", "fourth"]
    for name in names:
        assert start(node, name) == {"kind": "echo"}
    with pytest.raises(ExecutorStartError, match="all 4 slots of the supervisor are in use"):
        start(node, "fifth")
    for _ in range(2):
        ask(node.place, SECONDS, "remove", sandbox=names[0])
    assert kind_of(node).made[0].closed.is_set()
    start(node, "sixth")


def test_stream_ends_with_its_sandbox(node: Node):
    start(node, "one")
    with connect(node.place, SECONDS, "call", **OPEN) as stream:
        assert answer_of(stream, SECONDS) == "opened"
        stream.settimeout(SECONDS)
        stream.sendall(b"hello")
        assert stream.recv(100) == b"hello"
        node.remove("one")
        assert stream.recv(1) == b""
    with pytest.raises(SandboxDiedError, match="there is no sandbox one any more"):
        ask(node.place, SECONDS, "call", **OPEN)


def test_file_that_does_not_come_is_an_error(node: Node):
    start(node, "one")
    with connect(node.place, SECONDS, "write", sandbox="one", path="a", size=4) as stream:
        stream.sendall(b"da")
        stream.shutdown(socket.SHUT_WR)
        with pytest.raises(Exception, match="2 of the file's 4 bytes did not arrive"):
            answer_of(stream, SECONDS)


def test_file_of_a_host_that_has_given_up_replaces_nothing(node: Node):
    start(node, "one")
    sandbox, read = kind_of(node).made[0], threading.Event()

    def write(_path: str, pieces: Iterator[bytes], _size: int) -> None:
        first = next(pieces)
        assert read.wait(SECONDS)
        sandbox.written.extend([first, *pieces])

    sandbox.requests["write_file"] = write
    with connect(node.place, SECONDS, "write", sandbox="one", path="a", size=4) as stream:
        stream.sendall(b"data")
    read.set()
    assert not eventually(lambda: sandbox.written, 0.5)


def test_start_after_its_removal_is_refused(node: Node):
    node.remove("late")
    with pytest.raises(ExecutorStartError, match="sandbox late was removed before it started"):
        start(node, "late")
    assert not kind_of(node).made


def test_removal_during_a_start_ends_what_was_started(node: Node):
    kind_of(node).before = node.remove
    with pytest.raises(ExecutorStartError, match="sandbox slow was removed while it started"):
        start(node, "slow")
    assert kind_of(node).made[0].closed.is_set()


def test_log_names_sandbox_node_and_tenant(node: Node, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="smolagents_fork.ray_cluster"):
        start(node, "5a4d", "acme")
        node.remove("5a4d")
    shown = "sandbox 5a4d on node 127.0.0.1 (node1) of tenant acme"
    assert caplog.messages == [f"{shown} started", f"{shown} removed"]


def test_heartbeats_renew_the_lease(node: Node):
    node._heard = 0.0
    with connect(node.place, SECONDS, "lease") as lease:
        answer_of(lease, SECONDS)
        lease.settimeout(SECONDS)
        lease.sendall(b"state 1\n")
        answer = f"{MARK}answer 1 R\n".encode()
        assert lease.recv(len(answer)) == answer
    assert node._heard > 0.0


def test_supervisor_that_is_told_to_end_closes_its_sandboxes(node: Node):
    start(node, "one")
    ask(node.place, SECONDS, "end")
    assert kind_of(node).made[0].closed.is_set()
    assert eventually(lambda: node.exits == 1, SECONDS)
    with (
        socket.socket() as unused,
        pytest.raises(SandboxDiedError, match="the supervisor has ended") as caught,
    ):
        node.do_start(unused, "other", {}, "")
    assert caught.value.cause == "node"  # the host starts it elsewhere


@pytest.mark.parametrize("busy", [False, True])
def test_supervisor_without_sandboxes_ends(monkeypatch: pytest.MonkeyPatch, busy: bool):
    monkeypatch.setattr(node_supervisor, "_IDLE_SECONDS", 0.0)
    node = Node("echo")
    checks = iter(range(3))

    def pass_time(_seconds: float) -> None:
        if next(checks, None) is None or node.exits:
            raise InterruptedError

    if busy:
        start(node, "one")
    monkeypatch.setattr(node_supervisor.time, "sleep", pass_time)
    with pytest.raises(InterruptedError):
        node_supervisor.Supervisor._watch(node)
    assert node.exits == (0 if busy else 1)
    node.close()
