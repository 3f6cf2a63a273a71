"""The images benchmark's rows: seconds and sizes beside pip alone."""

from __future__ import annotations

from tools.bench.comparison import compared
from tools.bench.images.report import GOALS, rows


def builds(seconds: float, megabytes: float) -> dict[str, dict[str, float]]:
    return {
        name: {"seconds": seconds, "bytes": megabytes * 1e6 * factor}
        for name, factor in (("core", 1), ("five", 2), ("more", 3), ("by name", 2))
    }


def test_best_round_is_compared_with_pips():
    text, reached = compared(
        rows([builds(10, 60), builds(12, 60)], [builds(14, 60), builds(11, 60)]), GOALS
    )
    assert reached
    assert "| the core: build | 10.00 s | none | 11.00 s | 1.10 | <= 1.2 of the floor" in text
    assert "| the core: size on the base | 120 MB | none | 60 MB | 0.50 |" in text
    assert "| one more package: size added | 60 MB | none | 60 MB | 1.00 |  |" in text


def test_slow_or_large_core_misses_its_goal():
    assert not compared(rows([builds(10, 60)], [builds(13, 60)]), GOALS)[1]
    assert not compared(rows([builds(10, 60)], [builds(10, 90)]), GOALS)[1]
