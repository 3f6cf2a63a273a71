"""Host side of one sandbox: which transport its streams take, and what its errors name."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest

from smolagents_fork.errors import ExecutorError
from smolagents_fork.ray_cluster import cluster_client
from smolagents_fork.ray_cluster.cluster_client import RemoteSandbox

MADE: dict[str, Any] = {
    "sandbox": "5a4d", "supervisor": "s", "node": "0123456789", "address": "10.0.0.2",
    "port": 4000, "why_no_port": "", "tls": False, "pid": 1, "info": {}, "ticket": b"",
}  # fmt: skip


class Helper:
    """Answers as the helper process does, without one; relays nothing."""

    address = "10.0.0.1:6379"

    def __init__(self) -> None:
        self.indirect: set[str] = set()
        self.asked: list[str] = []

    def watch(self, supervisor: str, on_lost: Any) -> None:
        """Take note of nothing: no node is lost."""

    def ask(self, op: str, seconds: float, descriptor: int | None = None, **arguments: Any) -> Any:
        """Refuse calls, and answer the rest."""
        del seconds, arguments
        self.asked.append(op)
        if descriptor is not None:
            os.close(descriptor)
        if op == "call":
            raise ExecutorError("it is refused")
        return b"ticket"


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Limits of the attempts to connect directly, of which none succeeds."""
    found: list[float] = []

    def connect(_address: Any, _ticket: bytes, seconds: float) -> socket.socket:
        found.append(seconds)
        raise TimeoutError("timed out")

    monkeypatch.setattr(cluster_client, "connect_directly", connect)
    return found


def test_errors_name_sandbox_node_and_tenant():
    sandbox = RemoteSandbox(Helper(), MADE, "acme", "auto", print)
    with pytest.raises(ExecutorError) as caught:
        sandbox.call("stats", {})
    shown = "sandbox 5a4d on node 10.0.0.2 (01234567) of tenant acme: it is refused"
    assert str(caught.value) == shown


def test_auto_tries_direct_for_two_seconds_once_and_says_so(attempts: list[float]):
    helper, lines = Helper(), list[str]()
    for _ in range(2):  # the second knows that the first did not reach this supervisor
        sandbox = RemoteSandbox(helper, MADE, "", "auto", lines.append)
        sandbox.open_stream("stdin", timeout=30.0).close()
    assert attempts == [2.0]
    assert [op for op in helper.asked if op == "relay"] == ["relay", "relay"]
    said = "transport ray, for direct does not work: "
    assert [line.partition(said)[2] for line in lines] == [
        "timed out",
        "it did not reach this supervisor before",
    ]


def test_direct_does_not_fall_back(attempts: list[float]):
    sandbox = RemoteSandbox(Helper(), MADE, "", "direct", print)
    with pytest.raises(ExecutorError, match=r"at \('10.0.0.2', 4000\): timed out; open that port"):
        sandbox.open_stream("stdin", timeout=30.0)
    assert attempts == [30.0]


def test_no_connection_without_tls_where_ray_has_it(attempts: list[float]):
    sandbox = RemoteSandbox(Helper(), {**MADE, "tls": True}, "", "direct", print)
    with pytest.raises(ExecutorError, match="RAY_USE_TLS is not the same here and on the node"):
        sandbox.open_stream("stdin")
    assert attempts == []
