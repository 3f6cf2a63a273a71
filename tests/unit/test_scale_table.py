"""docs/scale.md: its tables are drawn from the recorded figures, or say that there are none."""

from __future__ import annotations

import pytest

from tools import scale_table
from tools.contract_table import BENCHMARKS

ROWS = {
    "process: sandboxes at once": "120",
    "process: memory of a sandbox": "7 MB",
    "process: memory of a supervisor": "80 MB",
    "process: seconds for each start, many at once": "40.0 ms",
    "docker: sandboxes at once": "2,000",
    "docker: memory of a container": "55 MB",
    "docker: seconds for each start, many at once": "0.50 s",
}


def page(rows: dict[str, str]) -> str:
    lines = [f"| {name} | - | none | {value} |  |  |" for name, value in rows.items()]
    table = "\n".join(["| what | floor | upstream | now | ratio | goal |", "|---|---:|", *lines])
    return f"<!-- bench ray -->\n\n{table}\n\n<!-- end bench ray -->\n"


def test_the_page_is_what_the_tool_draws():
    text = scale_table.PAGE.read_text("utf-8")
    drawn = scale_table.written(text, BENCHMARKS.read_text("utf-8"))
    assert text == drawn, "run: python -m tools.scale_table"


def test_what_follows_from_recorded_figures_says_that_it_is_extrapolated():
    lines = scale_table.draw(page(ROWS)).splitlines()
    assert "| memory of an idle sandbox | 7 MB | 55 MB |" in lines
    process = next(line for line in lines if line.startswith("| process | 1,000 |"))
    # 1,000 times 7 MB and 64 MiB, and 25 supervisors, need 2 nodes of 51 GiB; cores need 4.
    assert process == (
        "| process | 1,000 | 4 | 71 GiB | 100/s | 10 s | 25 | 1,000 | 1 | extrapolated from 120 |"
    )
    docker = next(line for line in lines if line.startswith("| docker | 1,000 |"))
    assert docker.endswith("| measured |")
    assert next(one for one in lines if one.startswith("| docker | 10,000")).endswith(
        "| extrapolated from 2,000 |"
    )


def test_without_figures_the_page_says_that_none_are_recorded():
    for text in (page({}), "<!-- bench ray -->\n\nNot recorded yet.\n\n<!-- end bench ray -->\n"):
        drawn = scale_table.draw(text)
        assert "| process | 1,000 | not recorded | not recorded | not recorded |" in drawn
        assert "extrapolated" not in drawn
        assert "measured" not in drawn


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("13.6 ms", 0.0136),
        ("0.91 s", 0.91),
        ("7 MB", 7e6),
        ("86 MiB", 86 << 20),
        ("1,200/s", 1200.0),
        ("120", 120.0),
        ("not recorded", None),
        ("none", None),
    ],
)
def test_figures_of_the_page_are_read(text, figure):
    read = scale_table.parsed(text)
    assert read == (None if figure is None else pytest.approx(figure))


def test_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="once each, in this order"):
        scale_table.written("text", page({}))
