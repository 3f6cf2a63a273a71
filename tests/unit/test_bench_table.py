"""The table of a benchmark: sides, multiples, goals, and pyperf's form of the figures."""

from __future__ import annotations

import json

import pytest

from tools.bench.table import Row, draw, percentile, suite

ROWS = [
    Row("call", [0.002, 0.003, 0.001], 0.001, [0.06, 0.05], goal=3),
    Row("memory", 40 << 20, 20 << 20, "none measured", unit="byte"),
    Row("cleanup", 0.001, None, 0.5),
]


def test_median_of_each_side_and_its_multiple_of_the_floor():
    text, reached = draw(ROWS)
    assert reached
    assert text.splitlines()[2:] == [
        "| call | 1.00 ms | 55.0 ms | 2.00 ms | 2.00 | <= 3 of floor reached |",
        "| memory | 20.0 MiB | none measured | 40.0 MiB | 2.00 |  |",
        "| cleanup | - | 500 ms | 1.00 ms |  |  |",
    ]


def test_missed_goal_is_reported():
    text, reached = draw([Row("call", 0.004, 0.001, goal=3), *ROWS])
    assert not reached
    assert text.count("MISSED") == 1


def test_goal_without_a_floor_is_an_error():
    with pytest.raises(ValueError, match="'call': its goal is a multiple of a floor"):
        draw([Row("call", 1.0, goal=3)])


def test_all_figures_are_kept_as_pyperf_has_them(tmp_path):
    suite(ROWS).dump(str(tmp_path / "figures.json"))
    found = json.loads((tmp_path / "figures.json").read_text())["benchmarks"]
    names = [one["metadata"]["name"] for one in found]
    assert names[:3] == ["call (floor)", "call (upstream)", "call (now)"]
    assert found[2]["runs"][0]["values"] == [0.002, 0.003, 0.001]


def test_percentile():
    assert percentile(list(range(100)), 0.95) == 95
    assert percentile([1.0], 0.99) == 1.0
