"""The measured figures as a section of the page of benchmarks, and the goals."""

from __future__ import annotations

from typing import Any

from ..comparison import NOW, markdown, verdict
from ..runner import heading

__all__ = ["FIRST_RUN_GOAL", "MEAN_GOAL", "PROGRAM_GOAL", "section"]

#: Most times CPython's own time: the geometric mean, one program, and the first run of new code.
MEAN_GOAL = 1.3
PROGRAM_GOAL = 2.2
FIRST_RUN_GOAL = 8.0
_TITLES = {
    "upstream": "upstream",
    "fork": NOW,
    "monty": "pydantic-monty",
    "restricted": "RestrictedPython",
}


class _Table:
    """Rows of the table, as multiples of the floor.

    Args:
        engines: columns, behind the floor's.
    """

    def __init__(self, engines: list[str]) -> None:
        self.engines, self.reached = engines, True
        self.lines: list[list[str]] = []

    def add(
        self,
        what: str,
        floor: str,
        ratios: dict[str, float | None],
        goal: float | None = None,
        missing: str = "-",
    ) -> None:
        """Add a row.

        Args:
            what: is measured.
            floor: CPython's own figure.
            ratios: of the engines to it.
            goal: the most that the fork's may be.
            missing: stands for an engine without a figure.
        """
        cells = [_ratio(ratios.get(name), missing) for name in self.engines]
        mark, ours = "", ratios.get("fork")
        if goal is not None:
            good = ours is not None and ours <= goal
            self.reached = self.reached and good
            mark = f"<= {goal:g} {verdict(good)}"
        self.lines.append([what, floor, *cells, mark])


def section(document: dict[str, Any]) -> tuple[str, bool]:
    """Draw one run; return Markdown, and whether every goal was reached.

    Args:
        document: of the run, as ``bench-interpreter.json`` holds it.
    """
    programs, means = document["programs"], document["geometric_means"]
    table = _Table([name for name in _TITLES if name in means])
    for row in programs:
        floor = f"{row['cpython'] * 1000:.0f} ms"
        table.add(row["name"], floor, row["ratios"], PROGRAM_GOAL, missing="cannot")
    table.add("**geometric mean**", "", means, MEAN_GOAL)
    for title, key in (
        ('call `ex("1+1")` after the first', "call_seconds"),
        ("call of new code `1+n`", "new_call_seconds"),
    ):
        _add_times(table, title, document[key])
    _add_first_runs(table, document["first_run"])
    headings = ["program", "floor", *(_TITLES[name] for name in table.engines), "goal"]
    about = f"medians of {document['rounds']} runs"
    parts = [heading(document, about), markdown(headings, table.lines).rstrip("\n")]
    parts += _refusals(programs, table.engines)
    return "\n\n".join(parts) + "\n", table.reached


def _add_times(table: _Table, title: str, seconds: dict[str, float]) -> None:
    floor = seconds.get("cpython")
    if floor:
        ratios: dict[str, float | None] = {name: one / floor for name, one in seconds.items()}
        table.add(title, f"{floor * 1000:.3f} ms", ratios)


def _add_first_runs(table: _Table, figures: dict[str, Any]) -> None:
    """Add the first run of new code, whose floor is CPython's ``compile()``."""
    for title, floor, ratio, goal in (
        (f"first run, {figures['programs']} everyday programs", "everyday_seconds",
         "everyday_ratio", FIRST_RUN_GOAL),
        ("first run, the worst of them", None, "everyday_worst", None),
        ("first run, one of 1,000 lines", "long_seconds", "long_ratio", FIRST_RUN_GOAL),
    ):  # fmt: skip
        shown = f"{figures['cpython'][floor] * 1000:.1f} ms" if floor else ""
        ratios = {name: figures[name][ratio] for name in table.engines if name in figures}
        table.add(title, shown, ratios, goal)


def _refusals(programs: list[dict[str, Any]], engines: list[str]) -> list[str]:
    found = []
    for name in engines:
        for row in programs:
            if name in row["errors"]:
                reason = " ".join(row["errors"][name].split())[:160].replace("`", "'")
                found.append(f"- {row['name']}, {_TITLES[name]}: `{reason}`")
    return ["Programs an engine cannot run:", "\n".join(found)] if found else []


def _ratio(ratio: float | None, missing: str) -> str:
    return missing if ratio is None else f"{ratio:.2f}"
