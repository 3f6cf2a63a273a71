"""Placer's connection to Ray: what Ray starts with it and the placer has no use for."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from smolagents_fork.errors import EngineUnavailableError

pytestmark = pytest.mark.ray


class _Subscriber:
    """Subscriber of errors. Once the head is lost, Ray's one returns from every poll at once."""

    def subscribe(self) -> None:
        """Subscribe; the head is there."""

    def poll(self) -> NoReturn:
        """Fail the test: a thread that has been ended asks no more."""
        raise AssertionError("the thread goes on")


def test_thread_that_prints_errors_ends_at_its_next_wakeup(monkeypatch: pytest.MonkeyPatch):
    ray = pytest.importorskip("ray")
    from ray._private import worker as ray_worker

    from smolagents_fork.ray_cluster import ray_calls

    worker: Any = SimpleNamespace(
        threads_stopped=threading.Event(),
        gcs_error_subscriber=_Subscriber(),
        current_job_id=ray.JobID.nil(),
    )
    context = SimpleNamespace(address_info={"gcs_address": "10.0.0.1:6379"})
    monkeypatch.setattr(ray_worker, "global_worker", worker)
    monkeypatch.setattr(ray, "init", lambda **_arguments: context)
    monkeypatch.setattr(ray_calls, "_own_address", lambda _address: "")
    head = ray_calls.connect_to_ray("10.0.0.1:6379")
    assert head == "10.0.0.1:6379"
    ray_worker.listen_error_messages(worker, worker.threads_stopped)  # Ray's own loop


def test_head_that_does_not_answer_is_said(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("ray")
    from smolagents_fork.ray_cluster import ray_calls

    ended = threading.Event()
    monkeypatch.setattr(ray_calls, "_own_address", lambda _address: ended.wait(60))
    monkeypatch.setattr(ray_calls, "_ANSWER_SECONDS", 0.05)
    with pytest.raises(EngineUnavailableError, match="connections and did not answer within 0 s"):
        ray_calls.connect_to_ray("10.0.0.1:6379")
    ended.set()


def test_refused_token_is_said(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("ray")
    from smolagents_fork.ray_cluster import ray_calls

    def refuse(_address: str) -> NoReturn:
        raise RuntimeError("rpc: InvalidAuthToken")

    monkeypatch.setattr(ray_calls, "_own_address", refuse)
    with pytest.raises(EngineUnavailableError, match=r"10\.0\.0\.1:6379 refused the token"):
        ray_calls.connect_to_ray("10.0.0.1:6379")
