"""A pool whose process has no thread left to start a container in."""

from __future__ import annotations

import threading

import pytest

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.executors.docker import DockerPool
from smolagents_fork.executors.pools import sandbox_pool


def test_thread_that_cannot_be_started_is_a_failed_start_and_no_end_of_the_pool(monkeypatch):
    with DockerPool(min_size=0, max_size=1) as pool:
        start = threading.Thread.start

        def refused(thread):
            if thread.name == "smolagents-fork-pool-start":
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(sandbox_pool, "_FIRST_PAUSE_SECONDS", 0.01)
        monkeypatch.setattr(threading.Thread, "start", refused)
        for _ in range(2):
            with pytest.raises(ExecutorStartError, match="can't start new thread"):
                pool.acquire(timeout=30)
        stats = pool.stats()
        assert (stats.starting, stats.failed, stats.waiting) == (0, 2, 0)
