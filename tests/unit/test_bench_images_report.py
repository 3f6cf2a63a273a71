"""The images benchmark's rows: seconds and sizes beside pip alone."""

from __future__ import annotations

import argparse

from tools.bench.comparison import compared
from tools.bench.images import __main__ as bench
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


def test_sides_take_turns_after_a_round_that_fills_the_cache(monkeypatch):
    class Client:
        def close(self):
            order.append("closed")

    def build(_client, base, plans):
        order.append(plans.__name__)
        return builds(10, 60) | {"base_bytes": 289e6}

    order: list[str] = []
    monkeypatch.setattr(bench, "connect", Client)
    monkeypatch.setattr(bench, "base_image", lambda _client: "base")
    monkeypatch.setattr(bench, "build_all", build)
    found = bench.measured(argparse.Namespace(rounds=2))
    assert order == ["floor_plans", *["floor_plans", "fork_plans"] * 2, "closed"]
    assert len(found.rows) == 6
    assert found.about.startswith("base image `base`, 289 MB; best of 2; five packages: mat")
    assert found.about.endswith("one more: scipy")
