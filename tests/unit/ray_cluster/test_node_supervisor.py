"""Supervisor of a node: slots, streams, removals in any order, the lease."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from background import eventually
from doubled_placer import Node

from smolagents_fork.errors import ExecutorError, ExecutorStartError, SandboxDiedError
from smolagents_fork.ray_cluster import node_supervisor
from smolagents_fork.ray_cluster.node_link import AnswerStream, answer_of, ask, connect
from smolagents_fork.system.first_process_link import MARK

SECONDS = 60.0


class EchoSandbox:
    def __init__(self) -> None:
        self.info = {"kind": "echo"}
        self.requests: dict[str, Callable[..., Any]] = {
            "open_stream": self.open_stream,
            "read_file": lambda path, max_bytes: path.encode(),
            "write_file": lambda _path, pieces, _size: self.written.extend(pieces),
            "stats": lambda: None,
        }
        self.closed = threading.Event()
        self.written: list[bytes] = []
        self.streams: list[socket.socket] = []

    def open_stream(self, timeout: float) -> AnswerStream:
        return AnswerStream("opened", self._echo)

    def _echo(self, stream: socket.socket) -> None:
        self.streams.append(stream)
        while data := stream.recv(1 << 16):
            stream.sendall(data)

    def close(self) -> None:
        for stream in self.streams:
            stream.shutdown(socket.SHUT_RDWR)
        self.closed.set()


class EchoKind:
    made: list[EchoSandbox]
    before: Callable[[str], None] | None = None

    def __init__(self) -> None:
        self.made = []

    def start(self, sandbox: str, options: dict[str, Any]) -> EchoSandbox:
        if options.get("fail"):
            raise ExecutorStartError("no")
        if self.before is not None:
            self.before(sandbox)
        self.made.append(EchoSandbox())
        return self.made[-1]

    def close(self) -> None:
        pass


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(node_supervisor, "KINDS", {"echo": f"{__name__}:EchoKind"})
    made = Node("echo")
    yield made
    made.close()


OPEN = {"sandbox": "one", "method": "open_stream", "arguments": {"timeout": SECONDS}}
READ = {"sandbox": "one", "method": "read_file", "arguments": {"path": "a/b", "max_bytes": 9}}


def start(node: Node, name: str, tenant: str = "", **options: Any) -> None:
    """Start a sandbox, as a request does."""
    ask(node.place, SECONDS, "start", sandbox=name, options=options, tenant=tenant)


def made_by(node: Node) -> list[EchoSandbox]:
    kind: Any = node._kind
    found: list[EchoSandbox] = kind.made
    return found


def test_slots_are_limited_and_given_back(node: Node):
    with pytest.raises(ExecutorStartError, match="no"):
        start(node, "failed", fail=True)
    names = ["first", "second", "third", "fourth"]
    for name in names:
        assert ask(node.place, SECONDS, "start", sandbox=name, options={}, tenant="") == {
            "kind": "echo"
        }
    with pytest.raises(ExecutorStartError, match="all 4 slots of the supervisor are in use"):
        start(node, "fifth")
    for _ in range(2):
        ask(node.place, SECONDS, "remove", sandbox=names[0])
    assert made_by(node)[0].closed.is_set()
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


def test_files_and_requests(node: Node):
    start(node, "one")
    with connect(node.place, SECONDS, "call", **READ) as stream:
        assert answer_of(stream, SECONDS) == 3
        assert stream.recv(100) == b"a/b"
    with connect(node.place, SECONDS, "write", sandbox="one", path="a", size=4) as stream:
        stream.sendall(b"data")
        assert answer_of(stream, SECONDS) is None
    assert b"".join(made_by(node)[0].written) == b"data"
    assert ask(node.place, SECONDS, "call", sandbox="one", method="stats", arguments={}) is None
    with pytest.raises(ExecutorError, match="the sandbox has no request 'close'"):
        ask(node.place, SECONDS, "call", sandbox="one", method="close", arguments={})


def test_file_that_does_not_come_is_an_error(node: Node):
    start(node, "one")
    with connect(node.place, SECONDS, "write", sandbox="one", path="a", size=4) as stream:
        stream.sendall(b"da")
        stream.shutdown(socket.SHUT_WR)
        with pytest.raises(Exception, match="2 of the file's 4 bytes did not arrive"):
            answer_of(stream, SECONDS)


def test_file_of_a_host_that_has_given_up_replaces_nothing(node: Node):
    start(node, "one")
    sandbox, read = made_by(node)[0], threading.Event()

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
    assert not made_by(node)


def test_removal_during_a_start_ends_what_was_started(node: Node):
    kind: Any = node._kind
    kind.before = node.remove
    with pytest.raises(ExecutorStartError, match="sandbox slow was removed while it started"):
        start(node, "slow")
    assert made_by(node)[0].closed.is_set()


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
    assert made_by(node)[0].closed.is_set()
    assert eventually(lambda: node.exits == 1, SECONDS)
    with (
        socket.socket() as unused,
        pytest.raises(SandboxDiedError, match="the supervisor has ended") as caught,
    ):
        node.do_start(unused, "other", {}, "")
    assert caught.value.cause == "node"  # the host starts it elsewhere


@pytest.mark.parametrize("busy", [False, True])
def test_supervisor_without_sandboxes_ends(monkeypatch: pytest.MonkeyPatch, busy: bool):
    monkeypatch.setattr(node_supervisor, "KINDS", {"echo": f"{__name__}:EchoKind"})
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
