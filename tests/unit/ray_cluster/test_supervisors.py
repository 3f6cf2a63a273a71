"""Supervisors in the helper process: heartbeats of a node that answers what it may not."""

from __future__ import annotations

import threading
from typing import Any
from unittest.mock import MagicMock

import pytest

from smolagents_fork.deadline import Deadline
from smolagents_fork.errors import ExecutorStartError, ProtocolError
from smolagents_fork.ray_cluster.reservation import Reservation

pytestmark = pytest.mark.ray

PLACE: dict[str, Any] = {
    "supervisor": "s", "node": "n", "address": "10.0.0.1", "port": None,
    "why_no_port": "", "tls": False, "pid": 1,
}  # fmt: skip


@pytest.fixture
def supervisors():
    return pytest.importorskip("smolagents_fork.ray_cluster.helper.supervisors")


@pytest.mark.parametrize("answer", [["text"], {"in_use": "1"}, {1: 1}, None])
def test_heartbeat_without_figures_is_refused(supervisors, answer: Any):
    with pytest.raises(ProtocolError, match="a heartbeat answers with figures"):
        supervisors.counts_of(answer)


@pytest.mark.parametrize("error", [ValueError("odd"), ProtocolError("odd")])
def test_failed_heartbeat_gives_the_supervisor_up(
    supervisors, monkeypatch: pytest.MonkeyPatch, error: Exception
):
    def failed(*_arguments: Any) -> Any:
        raise error

    monkeypatch.setattr(supervisors, "answer_of", failed)
    monkeypatch.setattr(supervisors.ray, "kill", lambda _actor: None)
    lost: list[Any] = []
    made = supervisors.Supervisors("cluster", lost.append)
    remote = supervisors.Remote(None, PLACE, Reservation("process", 1, 1.0, 0, 15.0))
    monkeypatch.setattr(remote, "begin", lambda *_arguments: object())
    made._watch(remote)
    assert lost == [remote]
    assert "odd" in remote.lost


def test_head_that_does_not_list_its_nodes_keeps_nobody_waiting(
    supervisors, monkeypatch: pytest.MonkeyPatch
):
    from smolagents_fork.ray_cluster.helper import cluster_capacity

    answered = threading.Event()
    monkeypatch.setattr(cluster_capacity.ray, "nodes", lambda: answered.wait(60) and [])
    for name in ("_NODES_SECONDS", "_SHOWN_SECONDS"):
        monkeypatch.setattr(cluster_capacity, name, 0.01)
    made = supervisors.Supervisors("cluster", print)
    monkeypatch.setattr(made, "_create_missing", lambda _reservation: None)
    reservation = Reservation("process", 1, 1.0, 0, 15.0)
    cluster_capacity.check_fits(reservation)
    assert cluster_capacity.unusable_nodes({}) == []
    with pytest.raises(ExecutorStartError, match=r"became free in 0 s: .* the head did not say"):
        made.acquire(reservation, "", Deadline(0.01))
    answered.set()


@pytest.mark.parametrize(("lease", "silent"), [(5.0, 9.0), (15.0, 9.0), (60.0, 36.0)])
def test_silence_that_is_borne_follows_the_lease(supervisors, lease: float, silent: float):
    remote = supervisors.Remote(None, PLACE, Reservation("process", 1, 1.0, 0, lease))
    assert remote.silent_seconds == silent


def test_heartbeats_carry_the_times_of_calls(supervisors, monkeypatch: pytest.MonkeyPatch):
    made = supervisors.Supervisors("cluster", print)
    reservation = Reservation("process", 1, 1.0, 0, 15.0)
    one, other = (
        supervisors.Remote(None, {**PLACE, "supervisor": name}, reservation) for name in "ab"
    )
    made._remotes[reservation] = [one, other]
    made.record_calls([("a", "tenant1", 1.0), ("lost", "", 2.0), ("a", "", 3.0), ("b", "", 4.0)])
    begun: list[Any] = []
    for remote in (one, other):
        monkeypatch.setattr(remote, "begin", lambda *arguments: begun.append(arguments))
    for remote in (one, one, other):
        remote.begin_beat()
    assert begun == [
        ("beat", [("tenant1", 1.0), ("", 3.0)]),
        ("beat", []),
        ("beat", [("", 4.0)]),
    ]


def test_supervisor_is_made_once_and_spread_with_all_its_slots_reserved(
    supervisors, monkeypatch: pytest.MonkeyPatch
):
    made: list[dict[str, Any]] = []

    def create(_class: Any, args: Any, kwargs: Any, **options: Any) -> Any:
        """Take Ray's place behind its own options, with which it would make the actor."""
        made.append(options)
        return MagicMock()

    monkeypatch.setattr(supervisors.ray.actor.ActorClass, "_remote", create)
    monkeypatch.setattr(supervisors, "check_fits", lambda _reservation: None)
    monkeypatch.setattr(supervisors, "answer_of", lambda *_arguments: PLACE)
    reservation = Reservation("process", 4, 0.5, 1 << 30, 15.0)
    remote = supervisors.Supervisors("cluster", print)._created(reservation)
    assert remote is not None
    (options,) = made
    assert options["scheduling_strategy"] == "SPREAD"
    assert options["max_restarts"] == 0
    assert not options.get("max_task_retries")
    assert (options["num_cpus"], options["memory"]) == (4 * 0.5, 4 << 30)
