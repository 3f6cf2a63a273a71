"""The interpreter's benchmark: programs, ratios, and the table of multiples."""

from __future__ import annotations

import sys

import pytest

from tools.bench.interpreter.bench import Engine, ProgramTimes, draw_programs
from tools.bench.interpreter.programs import PROGRAMS

CALLS = {"call": {"cpython": [0.001], "fork": [0.003], "upstream": [0.01]}}


def test_program_names_are_unique():
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["cpython", "fork"])
def test_engine_runs_a_program_and_tells_of_an_error(name):
    engine = Engine(name, sys.executable)
    try:
        answer = engine.ask(source="x = 20\nx + 1")
        assert answer["result"] == "21"
        assert answer["seconds"][0] >= 0
        assert "ZeroDivisionError" in engine.ask(source="1 / 0")["error"]
        assert len(engine.ask(calls=3, new=True)["seconds"]) == 3
    finally:
        engine.close()


def test_upstreams_engine_is_not_the_fork():
    engine = Engine("upstream", sys.executable)
    assert "has ended" in engine.ask(source="1")["error"]


def times(ratio: float = 1.2) -> ProgramTimes:
    seconds = {"fork": [ratio / 10] * 2}
    return ProgramTimes("p", [0.1, 0.1], [0.01, 0.01], seconds, {"upstream": "`no` such thing"})


def test_ratio_is_the_median_over_the_rounds_at_the_size_that_the_engine_got():
    measured = ProgramTimes("x", [1.0, 2.0, 4.0], [0.5, 0.5, 0.5])
    measured.seconds = {"fork": [3.0, 2.0, 8.0], "upstream": [5.0, 6.0, 7.0]}
    assert measured.ratio("fork") == 2.0
    assert measured.ratio("upstream") == 12.0
    assert measured.ratio("another") is None


def test_page_is_one_table_of_multiples_of_the_floor():
    text, reached = draw_programs([times()], CALLS)
    assert reached
    assert text.splitlines() == [
        "| program | floor | upstream | now | goal |",
        "|---|---:|---:|---:|---:|",
        "| p | 100 ms | cannot | 1.20 | <= 2.2 reached |",
        "| **geometric mean** |  | - | 1.20 | <= 1.3 reached |",
        "| call | 1.000 ms | 10.00 | 3.00 |  |",
    ]


@pytest.mark.parametrize("ratio", [1.4, 2.3])
def test_slower_than_a_goal_is_missed(ratio):
    text, reached = draw_programs([times(ratio)], CALLS)
    assert not reached
    assert "MISSED" in text
