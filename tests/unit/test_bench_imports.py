"""The benchmark of the import compares both sides without the interpreter's own start."""

from __future__ import annotations

import sys

import pytest

from tools.bench.imports.__main__ import FLOOR, FORK, UPSTREAM, Cost, cost_of, ratio, table


def test_ratio_is_that_of_processor_times_beyond_the_floor():
    figures = {FLOOR: Cost(10, 99), UPSTREAM: Cost(110, 5), FORK: Cost(115, 7)}
    assert ratio(figures) == 1.05
    text = table(figures, 3)
    assert "| `import smolagents`, the fork's | 115.0 ms | 7.0 ms |" in text
    assert "1.050 times upstream's processor time; goal <= 1.02: MISSED." in text


def test_process_that_fails_is_no_figure():
    with pytest.raises(RuntimeError, match="ended with exit code 3"):
        cost_of([sys.executable, "-I", "-c", "raise SystemExit(3)"])
    assert cost_of([sys.executable, "-I", "-c", "pass"]).cpu > 0
