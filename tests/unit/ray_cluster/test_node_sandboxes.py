"""Sandboxes of a supervisor: slots, and tickets that open one stream each."""

from __future__ import annotations

import logging
import socket
import threading

import pytest

from smolagents_fork.errors import ExecutorStartError, SandboxDiedError
from smolagents_fork.ray_cluster.links.direct_transport import (
    TICKET_BYTES,
    Listener,
    connect_directly,
)
from smolagents_fork.ray_cluster.node import node_sandboxes
from smolagents_fork.ray_cluster.node.node_sandboxes import NodeSandboxes


class EchoSandbox:
    def __init__(self) -> None:
        self.info = {"kind": "echo"}
        self.closed = threading.Event()

    def serve(self, stream: socket.socket, purpose: str) -> None:
        stream.sendall(purpose.encode() + b":")
        while data := stream.recv(1 << 16):
            stream.sendall(data)

    def call(self, method: str, arguments: dict) -> object:
        return [method, arguments]

    def close(self) -> None:
        self.closed.set()


class EchoKind:
    def __init__(self) -> None:
        self.made: list[EchoSandbox] = []

    def start(self, sandbox: str, options: dict) -> EchoSandbox:
        if options.get("fail"):
            raise ExecutorStartError("no")
        self.made.append(EchoSandbox())
        return self.made[-1]

    def close(self) -> None:
        pass


@pytest.fixture
def kind() -> EchoKind:
    return EchoKind()


@pytest.fixture
def sandboxes(kind: EchoKind):
    made = NodeSandboxes(kind, 2)
    yield made
    made.close()


@pytest.fixture
def listener(sandboxes: NodeSandboxes):
    made = Listener("127.0.0.1", sandboxes.serve)
    yield made
    made.close()


def test_slots_are_limited_and_given_back(sandboxes: NodeSandboxes, kind: EchoKind):
    with pytest.raises(ExecutorStartError, match="no"):
        sandboxes.start("failed", {"fail": True}, "")
    names = ["first", "second"]
    for name in names:
        sandboxes.start(name, {}, "")
    with pytest.raises(ExecutorStartError, match="all 2 slots of the supervisor are in use"):
        sandboxes.start("third", {}, "")
    sandboxes.remove(names[0])
    sandboxes.remove(names[0])
    assert kind.made[0].closed.is_set()
    assert sandboxes.counts() == {"in_use": 1, "starting": 0, "slots": 2}
    sandboxes.start("fourth", {}, "")


def test_ticket_opens_one_stream_once(sandboxes: NodeSandboxes, listener: Listener):
    name = "one"
    sandboxes.start(name, {}, "")
    token = sandboxes.ticket(name, "first")
    with connect_directly(("127.0.0.1", listener.port), token, 60) as stream:
        stream.settimeout(60)
        stream.sendall(b"hello")
        found = b""
        while len(found) < 11:
            found += stream.recv(100)
        assert found == b"first:hello"
        with connect_directly(("127.0.0.1", listener.port), token, 60) as again:
            again.settimeout(60)
            assert again.recv(1) == b""
        stream.sendall(b"x")
        assert stream.recv(1) == b"x"


def test_wrong_ticket_closes_the_connection_alone(sandboxes: NodeSandboxes, listener: Listener):
    name = "one"
    sandboxes.start(name, {}, "")
    good = connect_directly(("127.0.0.1", listener.port), sandboxes.ticket(name, "a"), 60)
    with good:
        good.settimeout(60)
        assert good.recv(2) == b"a:"
        for wrong in (bytes(TICKET_BYTES), b"\xff" * TICKET_BYTES):
            with connect_directly(("127.0.0.1", listener.port), wrong, 60) as stranger:
                stranger.settimeout(60)
                assert stranger.recv(1) == b""
        good.sendall(b"y")
        assert good.recv(1) == b"y"


def test_expired_ticket_opens_nothing(
    sandboxes: NodeSandboxes, listener: Listener, monkeypatch: pytest.MonkeyPatch
):
    name = "one"
    sandboxes.start(name, {}, "")
    monkeypatch.setattr(node_sandboxes, "_TICKET_SECONDS", -1.0)
    token = sandboxes.ticket(name, "late")
    with connect_directly(("127.0.0.1", listener.port), token, 60) as stream:
        stream.settimeout(60)
        assert stream.recv(1) == b""


def test_removal_ends_the_streams_of_a_sandbox(sandboxes: NodeSandboxes, listener: Listener):
    name = "one"
    sandboxes.start(name, {}, "")
    token = sandboxes.ticket(name, "a")
    with connect_directly(("127.0.0.1", listener.port), token, 60) as stream:
        stream.settimeout(60)
        assert stream.recv(2) == b"a:"
        sandboxes.remove(name)
        assert stream.recv(1) == b""
    with pytest.raises(SandboxDiedError, match="there is no sandbox"):
        sandboxes.ticket(name, "a")


def test_start_after_its_removal_is_refused(sandboxes: NodeSandboxes, kind: EchoKind):
    sandboxes.remove("late")
    with pytest.raises(ExecutorStartError, match="sandbox late was removed before it started"):
        sandboxes.start("late", {}, "")
    assert not kind.made


def test_removal_during_a_start_ends_what_was_started(kind: EchoKind):
    class Removing(EchoKind):
        def start(self, sandbox: str, options: dict) -> EchoSandbox:
            sandboxes.remove(sandbox)
            return kind.start(sandbox, options)

    sandboxes = NodeSandboxes(Removing(), 1)
    with pytest.raises(ExecutorStartError, match="sandbox slow was removed while it started"):
        sandboxes.start("slow", {}, "")
    assert kind.made[0].closed.is_set()
    assert sandboxes.counts()["in_use"] == 0
    sandboxes.close()


def test_log_names_sandbox_node_and_tenant(kind: EchoKind, caplog: pytest.LogCaptureFixture):
    made = NodeSandboxes(kind, 2, "10.0.0.2 (ab)")
    with caplog.at_level(logging.INFO, logger="smolagents_fork.ray_cluster"):
        made.start("5a4d", {}, "acme")
        made.close()
    shown = "sandbox 5a4d on node 10.0.0.2 (ab) of tenant acme"
    assert caplog.messages == [f"{shown} started", f"{shown} removed"]
