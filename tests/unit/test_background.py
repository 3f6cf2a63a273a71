"""Threads started by a test are awaited, and their errors are raised in that test."""

from __future__ import annotations

import threading

import pytest
from background import acting, at_once, running


def fail() -> None:
    raise ValueError("from the thread")


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "test-background"]


def test_result_and_error_of_a_call_are_returned():
    with running(divmod, 7, 2) as call:
        assert call.result() == (3, 1)
        assert call.error() is None
    with running(fail) as call:
        assert str(call.error()) == "from the thread"
        with pytest.raises(ValueError, match="from the thread"):
            call.result()


def test_unrequested_error_is_raised_in_the_test():
    with pytest.raises(ValueError, match="from the thread"), running(fail):
        pass


def test_failing_block_stops_the_call_and_raises_its_error(capsys):
    stop = threading.Event()

    def work() -> None:
        assert stop.wait(60)
        fail()

    with pytest.raises(KeyError, match="the test"), running(work, stop=stop.set):
        raise KeyError("the test")
    assert threads() == []
    assert "ValueError: from the thread" in capsys.readouterr().err


def test_endless_call_is_reported_with_its_line():
    begun, release = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set() or release.wait(60)  # one line, whichever of them it is at

    words = r"(?s)still running after 0.1 s:.*line.*release.wait"
    with running(hang, stop=release.set) as call:
        call.until(begun.is_set)
        with pytest.raises(AssertionError, match=words):
            call.result(0.1)
        release.set()
    assert threads() == []


def test_waiting_for_a_condition_ends_with_the_call():
    begun, release = threading.Event(), threading.Event()
    with running(lambda: (begun.set(), release.wait(60)), stop=release.set) as call:
        call.until(begun.is_set)
        assert not call.ended
        release.set()
    with running(fail) as call, pytest.raises(ValueError, match="from the thread"):
        call.until(lambda: False)
    with running(int) as call, pytest.raises(AssertionError, match="ended before, with 0"):
        call.until(lambda: False)


def test_action_runs_when_its_condition_is_true_or_the_block_fails():
    begun, ended = threading.Event(), threading.Event()
    with acting(begun.is_set, ended.set):
        assert not ended.wait(0.05)
        begun.set()
        assert ended.wait(60)
    words = "the block ended before its moment"
    with pytest.raises(AssertionError, match=words), acting(lambda: False, ended.set):
        pass
    with pytest.raises(KeyError, match="the block's"), acting(lambda: False, ended.set):
        raise KeyError("the block's")
    assert threads() == []


def test_simultaneous_calls_are_all_awaited():
    together = threading.Barrier(3, timeout=60)
    assert at_once(*[lambda n=n: (together.wait(), n)[1] for n in range(3)]) == [0, 1, 2]
    ended: list[int] = []
    with pytest.raises(ValueError, match="from the thread"):
        at_once(fail, lambda: ended.append(1), lambda: ended.append(2))
    assert sorted(ended) == [1, 2]
