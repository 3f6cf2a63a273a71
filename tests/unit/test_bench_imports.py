"""The benchmark of the import compares both sides without the interpreter's own start."""

from __future__ import annotations

import sys

import pytest

from tools.bench.comparison import compared
from tools.bench.imports.__main__ import FLOOR, FORK, GOALS, UPSTREAM, Cost, cost_of, rows


def test_processor_times_beyond_the_floor_are_compared():
    costs = {FLOOR: [Cost(0.01, 0.1)], UPSTREAM: [Cost(0.11, 0.2)], FORK: [Cost(0.115, 0.3)]}
    text, reached = compared(rows(costs), GOALS)
    assert not reached
    assert "| import smolagents, processor time | 10.0 ms | 110.0 ms | 115.0 ms | 11.50 |" in text
    assert "| - | 100.0 ms | 105.0 ms |  | <= 1.02 of upstream's MISSED |" in text
    assert compared(rows({**costs, FORK: [Cost(0.111, 0.3)]}), GOALS)[1]


def test_process_that_fails_is_no_figure():
    with pytest.raises(RuntimeError, match="ended with exit code 3"):
        cost_of([sys.executable, "-I", "-c", "raise SystemExit(3)"])
    assert cost_of([sys.executable, "-I", "-c", "pass"]).cpu > 0
