"""Checks: their limit of time, their order, and errors inside them."""

from __future__ import annotations

import threading

from smolagents_fork.errors import ExecutorStartError
from smolagents_fork.system.checks import (
    FAILED,
    OK,
    SKIPPED,
    Check,
    Finding,
    fail,
    ok,
    run_checks,
)


def raising(error: Exception) -> Finding:
    raise error


def test_late_check_fails_and_the_next_one_runs():
    never = threading.Event()

    def wait() -> Finding:
        never.wait()
        return ok("late")

    try:
        late, after = run_checks([Check("late", wait, 0.05), Check("after", lambda: ok("here"))])
    finally:
        never.set()
    assert (late.finding.state, late.finding.text) == (FAILED, "no result within 0.05 s")
    assert late.finding.todo
    assert after.finding == ok("here")


def test_check_without_what_it_needs_is_skipped():
    results = run_checks(
        [
            Check("engine", lambda: fail("none answers", "start one")),
            Check("image", lambda: raising(AssertionError()), needs="engine"),
            Check("run", lambda: raising(AssertionError()), needs="image"),
            Check("index", lambda: ok("answers")),
        ]
    )
    assert [result.finding.state for result in results] == [FAILED, SKIPPED, SKIPPED, OK]
    assert results[2].finding.text == "needs: image"


def test_error_of_the_fork_is_the_finding():
    (result,) = run_checks([Check("a", lambda: raising(ExecutorStartError("start it")))])
    assert result.finding == fail("start it", "")


def test_other_error_is_a_bug_of_the_check():
    (result,) = run_checks([Check("a", lambda: raising(KeyError("IPAM")))])
    assert result.finding == fail("KeyError: 'IPAM'", "report this as a bug of the check")
