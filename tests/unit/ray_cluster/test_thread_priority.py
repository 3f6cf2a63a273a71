"""Threads that relay messages do not wait behind the node's computing processes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

import pytest

from smolagents_fork.ray_cluster.node_link import use_normal_priority

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="priorities of threads: Linux only")


def _niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def _in_low_thread(work: Callable[[], None]) -> int:
    """Return the niceness of a thread with a low priority after it has done ``work``."""
    found: list[int] = []

    def run() -> None:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 15)
        work()
        found.append(_niceness())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_one_thread_gets_the_normal_priority_if_that_is_allowed() -> None:
    before = _niceness()
    found = _in_low_thread(use_normal_priority)
    assert found == 0 if os.geteuid() == 0 else found in (0, 15)
    assert _niceness() == before


def test_refused_priority_keeps_the_thread_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: int) -> None:
        raise PermissionError(13, "Permission denied")

    original = os.setpriority

    def work() -> None:
        monkeypatch.setattr(os, "setpriority", refused)
        use_normal_priority()
        monkeypatch.setattr(os, "setpriority", original)

    assert _in_low_thread(work) == 15
