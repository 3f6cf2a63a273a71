"""The Docker benchmark's rows: every goal of issue 16 is measured against its floor."""

from __future__ import annotations

import pytest

from tools.bench.comparison import compared
from tools.bench.docker.report import GOALS, notes, rows


def results(**fork):
    load = {"rate": 50.0, "times": [0.01, 0.012]}
    up = {
        "cold": [2.8],
        "calls": [0.06],
        "megabyte": [0.1],
        "array": [1.0],
        "cleanup": [0.7],
        "memory": 150 << 20,
        "load": load,
        "failed_starts": 0,
    }
    own = {
        **up,
        "cold": [0.4],
        "calls": [0.002],
        "array": [0.05],
        "cleanup": [0.001],
        "memory": 55 << 20,
        "load": {"rate": 800.0, "times": [0.01, 0.012]},
        "pool": [0.003],
        "tool_once": [0.0005],
        "tool_many": 0.0004,
        "tool_calls": 10_000,
    }
    floor = {
        "cold": [0.3],
        "calls": [0.002],
        "crossing": [0.0001],
        "input_once": [0.0003],
        "input_many": 0.0002,
        "array": [0.02],
        "memory": 50 << 20,
    }
    return {"machine": {"cores": 2}, "floor": floor, "upstream": up, "fork": own | fork}


def test_goals_reached():
    text, reached = compared(rows(results()), GOALS)
    assert reached
    assert "MISSED" not in text
    assert "| later call, p50 | 2.00 ms | 60.0 ms | 2.00 ms | 1.00 | <= 1.4 of the floor" in text


@pytest.mark.parametrize(
    "fork",
    [
        {"calls": [0.003]},
        {"cold": [0.5]},
        {"cleanup": [0.5]},
        {"pool": [0.5]},
        {"tool_many": 0.004},
        {"tool_once": [0.01, 0.0002, 0.01]},
        {"array": [0.07]},
        {"memory": 61 << 20},
        {"load": {"rate": 699.0, "times": [0.01]}},
        {"load": {"rate": 800.0, "times": [0.01] * 10 + [0.03]}},
    ],
)
def test_missed_goal_is_reported(fork):
    text, reached = compared(rows(results(**fork)), GOALS)
    assert not reached
    assert text.count("MISSED") == 1 or "calls" in fork


def test_calls_a_second_are_compared_with_the_cores_divided_by_the_floors_call():
    row = next(one for one in rows(results()) if one.what.startswith("calls a second"))
    assert (row.floor, row.now) == (1000.0, 800.0)


def test_a_tool_call_is_compared_with_an_input_request_and_a_crossing():
    row = next(one for one in rows(results()) if one.what.endswith("a call"))
    assert row.floor == pytest.approx(0.0003)


def test_upstream_failure_has_no_figure():
    given = results()
    given["upstream"] |= {"array": [], "array_error": "BrokenPipeError"}
    text, reached = compared(rows(given), GOALS)
    assert reached
    assert "fails (BrokenPipeError)" in text


def test_notes_say_what_a_shorter_run_left_out():
    assert len(notes(results())) == 1
    assert notes(results(tool_calls=500))[-1] == "Tool calls in one program: 500, not 10,000."
