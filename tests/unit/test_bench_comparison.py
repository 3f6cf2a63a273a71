"""The table of all benchmarks: floor, upstream, now, ratio and goal."""

from __future__ import annotations

import pytest

from tools.bench.comparison import Goal, Row, compared, markdown, shown


def test_table_has_all_sides_and_the_ratio_to_the_floor():
    text, reached = compared([Row("call", 0.003, "s", 0.002, 0.06)], {"call": Goal(1.5)})
    assert reached
    assert text == (
        "| what | floor | upstream | now | ratio to floor | goal |\n"
        "|---|---:|---:|---:|---:|---:|\n"
        "| call | 2.00 ms | 60.0 ms | 3.00 ms | 1.50 | <= 1.5 of the floor reached |\n"
    )


@pytest.mark.parametrize(
    ("row", "goal", "mark"),
    [
        (Row("x", 4.0, "", 2.0), Goal(1.9), "<= 1.9 of the floor MISSED"),
        (Row("x", 4.0, "", 2.0, 50.0), Goal(0.1, of="upstream"), "<= 0.1 of upstream's reached"),
        (Row("x", 0.004), Goal(0.005, of=""), "<= 5.00 ms reached"),
        (Row("x", 69.0, "/s", 100.0), Goal(0.7, at_least=True), ">= 0.7 of the floor MISSED"),
        (Row("x", 70.0, "/s", 100.0), Goal(0.7, at_least=True), ">= 0.7 of the floor reached"),
    ],
)
def test_goal_is_a_share_or_a_figure(row, goal, mark):
    text, reached = compared([row], {"x": goal})
    assert f"| {mark} |" in text
    assert reached == mark.endswith("reached")


def test_row_without_sides_has_none_and_no_ratio():
    text, reached = compared([Row("x", 1.0), Row("y", 1.0, "s", None, "fails (E)")], {})
    assert reached
    assert "| x | - | none | 1.00 s |  |  |" in text
    assert "| y | - | fails (E) | 1.00 s |  |  |" in text


def test_goal_that_cannot_be_judged_is_an_error():
    with pytest.raises(ValueError, match="goals without a row: z"):
        compared([Row("x", 1.0)], {"z": Goal(1)})
    with pytest.raises(ValueError, match="'x': its goal is a share of the floor: None"):
        compared([Row("x", 1.0)], {"x": Goal(1)})


@pytest.mark.parametrize(
    ("figure", "unit", "text"),
    [
        (2.5, "s", "2.50 s"),
        (0.0132, "s", "13.2 ms"),
        (0.00132, "s", "1.32 ms"),
        (0.000056, "s", "0.056 ms"),
        (86 << 20, "MiB", "86 MiB"),
        (62e6, "MB", "62 MB"),
        (1234.4, "/s", "1,234/s"),
        (25, "", "25"),
        (1.256, "", "1.26"),
    ],
)
def test_figures_have_units(figure, unit, text):
    assert shown(figure, unit) == text


def test_markdown_is_aligned_by_its_headings():
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n|---|---:|\n| 1 | 2 |\n"
