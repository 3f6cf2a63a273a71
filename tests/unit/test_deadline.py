"""Deadlines on a monotonic clock."""

from __future__ import annotations

import threading

import pytest

from smolagents_fork.deadline import Deadline, within
from smolagents_fork.errors import ExecutorError


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_deadline_runs_down_and_stays_at_zero():
    clock = Clock()
    deadline = Deadline(5, clock=clock)
    clock.now += 3
    assert (deadline.remaining(), deadline.elapsed(), deadline.expired()) == (2, 3, False)
    assert deadline.at_most(1) == 1
    clock.now += 30
    assert (deadline.remaining(), deadline.expired()) == (0, True)


def test_pause_stops_the_clock_and_nests():
    clock = Clock()
    deadline = Deadline(5, clock=clock)
    with deadline.paused():
        clock.now += 100
        with deadline.paused():
            clock.now += 100
        assert deadline.remaining() == 5
    assert (deadline.remaining(), deadline.elapsed()) == (5, 0)


def test_no_limit():
    deadline = Deadline(None)
    assert deadline.remaining() is None
    assert not deadline.expired()
    assert deadline.at_most(7) == 7


def test_result_that_comes_too_late_is_undone():
    begun, undone = threading.Event(), threading.Event()
    with pytest.raises(ExecutorError, match="too late"):
        within(0.01, lambda: begun.wait(60), ExecutorError("too late"), lambda _: undone.set())
    begun.set()
    assert undone.wait(60)


def test_result_in_time_is_returned_and_not_undone():
    undone: list[int] = []
    assert within(60, lambda: 5, ExecutorError("too late"), undone.append) == 5
    assert not undone
