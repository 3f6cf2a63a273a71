"""Benchmarks of an executor's times: one command line, one table, one record for all of them."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from .machine import busy_words, machine, machine_words
from .record import write_section

__all__ = ["Summary", "run", "summary", "table", "timed"]


class Summary(TypedDict):
    """Median and 95th percentile of a measure."""

    p50: float
    p95: float
    unit: str


def timed(action: Callable[[], object]) -> float:
    """Milliseconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def summary(figures: list[float], unit: str = "ms") -> Summary:
    """Median and 95th percentile."""
    ordered = sorted(figures)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    return {"p50": statistics.median(ordered), "p95": p95, "unit": unit}


def table(found: Mapping[str, Summary], goals: Mapping[str, float]) -> tuple[str, bool]:
    """A Markdown table, and whether every goal was reached.

    Args:
        found: measures.
        goals: measure to the most that its median may be, in its unit.
    """
    lines = ["| measure | p50 | p95 | goal | |", "|---|---|---|---|---|"]
    reached = True
    for name, one in found.items():
        goal, unit = goals.get(name), one["unit"]
        verdict = "" if goal is None else "reached" if one["p50"] <= goal else "missed"
        reached = reached and verdict != "missed"
        shown = "-" if goal is None else f"{goal:g} {unit}"
        figures = f"{one['p50']:.3f} {unit} | {one['p95']:.3f} {unit}"
        lines.append(f"| {name} | {figures} | {shown} | {verdict} |")
    return "\n".join(lines) + "\n", reached


def run(
    name: str,
    description: str | None,
    goals: Mapping[str, float],
    measured: Callable[[int, int], Mapping[str, Summary]],
    *,
    calls: int,
    starts: int,
) -> int:
    """Run a benchmark by its command line; the exit code says whether every goal was reached.

    Args:
        name: of the package below ``tools.bench`` and of the page's section.
        description: shown by ``--help``.
        goals: as for :func:`table`.
        measured: takes the numbers of calls and of starts, and returns the measures.
        calls: of ``1+1``, by default.
        starts: of executors, by default.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tools.bench.{name}", description=description)
    parser.add_argument("--calls", type=int, default=calls, help="calls of 1+1")
    parser.add_argument("--starts", type=int, default=starts, help="starts of each kind")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    found = measured(options.calls, options.starts)
    options.output.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {"machine": where, "measures": found}
    (options.output / f"bench-{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    text, reached = table(found, goals)
    busy = busy_words(where)
    text = f"Measured on {machine_words(where)}.{' ' + busy if busy else ''}\n\n{text}"
    if options.record:
        write_section(name, text)
    print(text)
    return 0 if reached else 1
