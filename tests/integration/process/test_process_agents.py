"""Tools of the host called from a child: the log, threads, and a tool that ends it."""

from __future__ import annotations

from functools import partial

import pytest
from background import at_once
from process_harness import executor

from smolagents_fork.errors import (
    ExecutorClosedError,
)


def test_executors_in_threads_are_independent():
    def work(number: int) -> int:
        with executor() as ex:
            ex.send_tools({"add": lambda a, b: a + b})
            return sum(ex(f"add({number}, {n})").output for n in range(20))

    calls = [partial(work, number) for number in range(8)]
    assert at_once(*calls) == [20 * n + 190 for n in range(8)]


def test_code_that_sees_the_end_before_the_kill_ends_the_same(monkeypatch):
    """Another process kills the child, possibly late."""
    with executor(timeout_seconds=30) as ex:
        ex.send_tools({"finish": ex.cleanup})
        monkeypatch.setattr(ex._session.guest, "kill", lambda: None)
        with pytest.raises(ExecutorClosedError, match="ended by cleanup"):
            ex("finish()\nfor i in range(10**12): pass")
        monkeypatch.undo()
