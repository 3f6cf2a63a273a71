"""One table a benchmark: the fork's figures beside a floor and upstream's, all of one run.

A floor is the least that the same work takes on the same machine. A goal is the most that the
fork's figure may be, as a multiple of the floor's: an absolute figure would say something about the
machine.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pyperf

__all__ = ["NOW", "Row", "draw", "figure", "markdown", "percentile", "suite"]

#: Heading of the fork's figures; pages that quote a figure find it by this name.
NOW = "now"
HEADINGS = ("what", "floor", "upstream", NOW, "ratio to floor", "goal")

#: One figure, or the figures of several runs, whose median is shown.
Values = float | Sequence[float]


@dataclass(frozen=True)
class Row:
    """One measure of all sides.

    Args:
        what: is measured.
        now: the fork's.
        floor: its figures; ``None`` where nothing is comparable.
        upstream: its figures, or a word about why there are none.
        unit: as pyperf has it: ``second``, ``byte`` or ``integer``.
        goal: the most that ``now`` may be, as a multiple of the floor.
    """

    what: str
    now: Values
    floor: Values | None = None
    upstream: Values | str | None = None
    unit: Literal["second", "byte", "integer"] = "second"
    goal: float | None = None

    def sides(self) -> Iterator[tuple[str, Values]]:
        """Yield the sides that have figures, each with its name."""
        for name in ("floor", "upstream", "now"):
            values = getattr(self, name)
            if values is not None and not isinstance(values, str):
                yield name, values


def figure(values: Values) -> float:
    """Return the median of figures, or the one figure."""
    return values if isinstance(values, int | float) else statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that ``share`` of all values, from 0 to 1, do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def draw(rows: Iterable[Row]) -> tuple[str, bool]:
    """Draw the table; return it, and whether every goal was reached.

    Raises:
        ValueError: a row has a goal and no floor.
    """
    lines, every = [], True
    for row in rows:
        mark, reached = _judge(row)
        every = every and reached
        ratio = "" if row.floor is None else f"{figure(row.now) / figure(row.floor):.2f}"
        lines.append([row.what, *_cells(row), ratio, mark])
    return markdown(HEADINGS, lines), every


def _judge(row: Row) -> tuple[str, bool]:
    if row.goal is None:
        return "", True
    if row.floor is None:
        raise ValueError(f"{row.what!r}: its goal is a multiple of a floor, and it has none")
    reached = figure(row.now) <= row.goal * figure(row.floor)
    return f"<= {row.goal:g} of floor {'reached' if reached else 'MISSED'}", reached


def _cells(row: Row) -> Iterator[str]:
    figures = dict(row.sides())
    yield _format(row, figures["floor"]) if "floor" in figures else "-"
    words = row.upstream if isinstance(row.upstream, str) else "none"
    yield _format(row, figures["upstream"]) if "upstream" in figures else words
    yield _format(row, row.now)


def _format(row: Row, values: Values) -> str:
    text: str = _benchmark(row, "now", row.now).format_value(figure(values))
    return text


def markdown(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table: the first column to the left, the others to the right."""
    drawn = [f"| {' | '.join(headings)} |", "|---|" + "---:|" * (len(headings) - 1)]
    drawn += [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join(drawn) + "\n"


def suite(rows: Iterable[Row]) -> pyperf.BenchmarkSuite:
    """Return all figures as pyperf keeps them; ``python -m pyperf compare_to`` compares two."""
    return pyperf.BenchmarkSuite(
        [_benchmark(row, side, values) for row in rows for side, values in row.sides()]
    )


def _benchmark(row: Row, side: str, values: Values) -> pyperf.Benchmark:
    every = [values] if isinstance(values, int | float) else list(values)
    metadata = {"name": f"{row.what} ({side})", "unit": row.unit}
    return pyperf.Benchmark([pyperf.Run(every, metadata=metadata, collect_metadata=False)])
