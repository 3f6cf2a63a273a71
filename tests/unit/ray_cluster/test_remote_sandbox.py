"""Host side of one sandbox: what its errors name, what a lost node says, recorded times."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doubled_placer import DoubledPlacer, Node, cluster_of

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import ExecutorError, ProtocolError, SandboxDiedError
from smolagents_fork.process.child_places import ChildRequest
from smolagents_fork.process.confinement_report import Bounds
from smolagents_fork.ray_cluster import remote_sandbox
from smolagents_fork.ray_cluster.plain_data import Reservation
from smolagents_fork.ray_cluster.relayed_guest import RelayedGuest
from smolagents_fork.ray_cluster.remote_sandbox import RemoteSandbox

SECONDS = 60.0
OPTIONS: dict[str, Any] = {"request": ChildRequest((), "none", Bounds(""), 1000, SECONDS)}


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node("process", "0123456789")
    yield made
    made.close()


@pytest.fixture
def sandbox(node: Node, monkeypatch: pytest.MonkeyPatch) -> RemoteSandbox:
    cluster = cluster_of(monkeypatch, DoubledPlacer(node))
    reservation = Reservation("process", 4, 1.0, 0, 15.0)
    return cluster.supervisors.start(
        reservation, OPTIONS, RemoteSandbox, tenant="acme", timeout=SECONDS
    )


def test_errors_name_sandbox_node_and_tenant(sandbox: RemoteSandbox):
    with pytest.raises(ExecutorError) as caught:
        sandbox.call("none")
    shown = f"sandbox {sandbox.id} on node 127.0.0.1 (01234567) of tenant acme"
    assert str(caught.value) == f"{shown}: the sandbox has no request 'none'"


def test_files_pass_and_their_errors_are_those_of_the_node(sandbox: RemoteSandbox):
    Path(sandbox.info["folder"]).mkdir()
    data = bytes(range(256)) * 10_000
    sandbox.write_file("a/b", iter([data[:100], data[100:]]), len(data))
    assert sandbox.read_file("a/b", len(data)) == data
    assert [one.path for one in sandbox.list_files(".")] == ["a/b"]
    with pytest.raises(ExecutorError, match=r"of tenant acme: it has more than 10 bytes"):
        sandbox.read_file("a/b", 10)
    with pytest.raises(ExecutorError, match=r"of tenant acme: 5 bytes are missing from its"):
        sandbox.write_file("c", iter([b"short"]), 10)
    with pytest.raises(ExecutorError, match=r"of tenant acme: No such file"):
        sandbox.read_file("c", 10)


def test_numbers_of_a_node_that_have_thousands_of_digits_are_refused(
    sandbox: RemoteSandbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(remote_sandbox, "answer_of", lambda *_: 10**5000)
    with pytest.raises(ProtocolError, match=r"bytes, of at most 10$"):
        sandbox.read_file("a", 10)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ProtocolError, match="a child has a process number"):
        RelayedGuest(sandbox, 10**5000, ours, {})


def test_removed_sandbox_is_gone_on_its_node(sandbox: RemoteSandbox, node: Node):
    sandbox.end()
    sandbox.end()
    with pytest.raises(SandboxDiedError, match="there is no sandbox") as caught:
        sandbox.stats()
    assert caught.value.cause == "removed"


def test_request_that_hangs_ends_when_the_node_is_lost(
    sandbox: RemoteSandbox, node: Node, monkeypatch: pytest.MonkeyPatch
):
    begun = threading.Event()

    def hang(_connection: socket.socket, **_arguments: Any) -> None:
        begun.set()
        threading.Event().wait(SECONDS)

    monkeypatch.setattr(node, "do_call", hang)
    loser = threading.Thread(target=lambda: begun.wait(SECONDS) and sandbox.lose("silence"))
    loser.start()
    with pytest.raises(SandboxDiedError, match=r"of tenant acme: silence$") as caught:
        sandbox.stats()
    loser.join()
    assert caught.value.cause == "node"
    with pytest.raises(SandboxDiedError, match="silence"):
        sandbox.open_remote_stream(SECONDS)


def test_start_on_a_node_that_is_lost_is_made_elsewhere(monkeypatch: pytest.MonkeyPatch):
    nodes = Node("process", "lost"), Node("process", "other")
    cluster = cluster_of(monkeypatch, DoubledPlacer(*nodes))
    place = nodes[0].place

    def lose(_connection: socket.socket, **_arguments: Any) -> None:
        cluster._supervisors._lose(place.supervisor, "silence")
        threading.Event().wait(SECONDS)

    monkeypatch.setattr(nodes[0], "do_start", lose)
    reservation = Reservation("process", 4, 1.0, 0, 15.0)
    sandbox = cluster.supervisors.start(reservation, OPTIONS, RemoteSandbox, timeout=SECONDS)
    assert sandbox.supervisor.place.node == "other"
    for node in nodes:
        node.close()


def test_node_that_is_not_reached_and_not_lost_is_said(
    sandbox: RemoteSandbox, node: Node, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(remote_sandbox, "_LOST_SECONDS", 0.01)
    node.close()
    with pytest.raises(ExecutorError, match="no connection to the supervisor at 127") as caught:
        sandbox.stats()
    assert not isinstance(caught.value, SandboxDiedError)


@pytest.mark.parametrize(
    ("kind", "executor_class", "make_request"),
    [
        ("process", ProcessExecutor, lambda executor: executor.put_file(b"text", "file")),
        pytest.param(
            "docker", DockerExecutor, lambda executor: executor.stats(), marks=pytest.mark.docker
        ),
    ],
)
def test_times_of_calls_and_requests_are_recorded(
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    kind: Any,
    executor_class: Any,
    make_request: Callable[[Any], object],
):
    if kind == "docker":
        request.getfixturevalue("engine")
    with contextlib.closing(Node(kind)) as node:
        placer = DoubledPlacer(node)
        cluster = cluster_of(monkeypatch, placer)
        monkeypatch.setattr(RayEngine, "cluster", lambda _self: cluster)
        place = RayEngine("10.0.0.1:6379", sandbox=kind, tenant="tenant1")
        with executor_class(engine=place, startup_timeout_seconds=240.0) as executor:
            assert executor("1 + 1").output == 2
            executor("import time\ntime.sleep(0.2)")
            with pytest.raises(Exception, match="ZeroDivisionError"):
                executor("1 / 0")
            make_request(executor)
    started = [(one[0], *one[2:]) for one in placer.times]
    assert ("wait", "", kind, "tenant1") in started
    assert ("start", "node1", kind, "tenant1") in started
    calls = [one for one in placer.times if one[0] == "call"]
    assert [one[2:] for one in calls] == 3 * [("node1", kind, "tenant1")]
    assert calls[1][1] >= 0.2
    requests = {one[2:] for one in placer.times if one[0] == "request"}
    assert requests == {("node1", kind, "")}
