"""The one table of all benchmarks: floor, upstream and the fork of one run, and the goals.

A floor is the least that the same work takes on the same machine, measured in the same run. A
goal is data: the most, or the least, that a figure may be, as a share of the floor or of upstream's
figure, or in the unit of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["NOW", "Goal", "Row", "compared", "markdown", "shown", "verdict"]

#: Heading of the fork's figures; pages that quote a figure find it by this name.
NOW = "now"
HEADINGS = ("what", "floor", "upstream", NOW, "ratio to floor", "goal")
#: Sign of the side that a goal is a share of.
_SHARE_OF = {"floor": "of the floor", "upstream": "of upstream's"}


@dataclass(frozen=True)
class Row:
    """One measure of all sides.

    Args:
        what: is measured.
        now: the fork's figure, in seconds, bytes, or a number.
        unit: ``s``, ``MiB``, ``MB`` (of bytes), ``/s``, or nothing for a number.
        floor: its figure; ``None`` where nothing is comparable.
        upstream: its figure, or a word about why there is none.
    """

    what: str
    now: float
    unit: str = "s"
    floor: float | None = None
    upstream: float | str | None = None


@dataclass(frozen=True)
class Goal:
    """The limit of a row's figure.

    Args:
        limit: a share, or a figure in seconds, bytes, or as the row has it.
        of: ``floor`` or ``upstream`` for a share; nothing for a figure.
        at_least: whether more is better.
    """

    limit: float
    of: str = "floor"
    at_least: bool = False


def compared(rows: Iterable[Row], goals: Mapping[str, Goal]) -> tuple[str, bool]:
    """Draw the table; return it, and whether every goal was reached.

    Args:
        rows: of one run.
        goals: by :attr:`Row.what`.

    Raises:
        ValueError: a goal without a row, or without the figure that it is a share of.
    """
    lines, every, left = [], True, dict(goals)
    for row in rows:
        goal = left.pop(row.what, None)
        mark, reached = ("", True) if goal is None else _judged(row, goal)
        every = every and reached
        ratio = "" if not row.floor else _number(row.now / row.floor)
        sides = [
            "-" if row.floor is None else shown(row.floor, row.unit),
            _upstreams(row),
            shown(row.now, row.unit),
        ]
        lines.append([row.what, *sides, ratio, mark])
    if left:
        raise ValueError(f"goals without a row: {', '.join(left)}")
    return markdown(HEADINGS, lines), every


def markdown(headings: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Draw a Markdown table: the first column to the left, the others to the right.

    Args:
        headings: of the columns.
        lines: cells.
    """
    drawn = [f"| {' | '.join(headings)} |", "|---|" + "---:|" * (len(headings) - 1)]
    drawn += [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join(drawn) + "\n"


def verdict(reached: bool) -> str:
    """Return the word for a goal, as every page has it."""
    return "reached" if reached else "MISSED"


def shown(figure: float, unit: str) -> str:
    """Return a figure with its unit.

    Args:
        figure: in seconds, bytes, or a number.
        unit: as in :class:`Row`.
    """
    if unit == "s":
        return _time(figure)
    if unit in ("MiB", "MB"):
        return f"{figure / (1 << 20 if unit == 'MiB' else 1e6):.0f} {unit}"
    if unit == "/s":
        return f"{figure:,.0f}/s"
    return _count(figure)


def _judged(row: Row, goal: Goal) -> tuple[str, bool]:
    sign = ">=" if goal.at_least else "<="
    if not goal.of:
        limit, words = goal.limit, shown(goal.limit, row.unit)
    else:
        whole = row.floor if goal.of == "floor" else row.upstream
        if not isinstance(whole, int | float):
            raise ValueError(f"{row.what!r}: its goal is a share {_SHARE_OF[goal.of]}: {whole!r}")
        limit, words = goal.limit * whole, f"{goal.limit:.3g} {_SHARE_OF[goal.of]}"
    reached = row.now >= limit if goal.at_least else row.now <= limit
    return f"{sign} {words} {verdict(reached)}", reached


def _upstreams(row: Row) -> str:
    if row.upstream is None:
        return "none"
    return row.upstream if isinstance(row.upstream, str) else shown(row.upstream, row.unit)


def _time(seconds: float) -> str:
    if seconds >= 0.5:
        return f"{seconds:.2f} s"
    milliseconds = seconds * 1000
    digits = 1 if milliseconds >= 10 else 2 if milliseconds >= 1 else 3
    return f"{milliseconds:.{digits}f} ms"


def _number(figure: float) -> str:
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.2f}"


def _count(figure: float) -> str:
    return f"{figure:,.0f}" if figure == int(figure) else _number(figure)
