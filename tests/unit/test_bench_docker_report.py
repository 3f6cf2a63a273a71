"""The benchmark's table: its goals can be missed, and it says so."""

from __future__ import annotations

import pytest

from tools.bench.docker.report import table


def results(**fork):
    side = {
        "cold": [2.8],
        "calls": [0.062],
        "megabyte": [0.1],
        "array": [1.0],
        "cleanup": [0.7],
        "memory_bytes": 100 << 20,
    }
    own = {**side, "cold": [0.7], "calls": [0.006], "cleanup": [0.001], "pool": [0.01]} | fork
    return {
        "machine": {
            "cores": 2,
            "processor": "p",
            "system": "s",
            "python": "3.11",
            "load_before": 0.1,
        },
        "base_image": "base",
        "bare": {"cold": [0.3]},
        "upstream": {**side, "failed_starts": 0},
        "fork": {**own, "throughput": 300.0},
    }


def test_goals_reached():
    text, reached = table(results())
    assert reached
    assert "| later call, p50 | 62.0 ms | 6.0 ms | 0.097 | <= 0.125 reached |" in text


@pytest.mark.parametrize(
    "fork", [{"calls": [0.02]}, {"cold": [2.5]}, {"cleanup": [0.5]}, {"pool": [0.5]}]
)
def test_missed_goal_is_said(fork):
    text, reached = table(results(**fork))
    assert not reached
    assert "MISSED" in text


def test_upstream_that_cannot_is_no_figure():
    given = results()
    given["upstream"] |= {"array": [], "array_error": "BrokenPipeError"}
    text, reached = table(given)
    assert reached
    assert "fails (BrokenPipeError)" in text
