"""Rows and goals of the benchmark of the Ray engine, from the figures of its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..comparison import Goal, Row, compared
from ..timings import median

__all__ = ["PARTS", "Part", "drawn"]

Figures = Mapping[str, Any]

_NONE = Goal(0, of="")


@dataclass(frozen=True)
class Part:
    """A part of the benchmark that can be measured alone.

    Args:
        rows: takes the part's figures.
        goals: by row; the limits of issue 14.
    """

    rows: Callable[[Figures], list[Row]]
    goals: Mapping[str, Goal]


def drawn(found: Mapping[str, Figures]) -> tuple[str, bool]:
    """Draw the table of the parts that were measured; return it, and whether goals were reached.

    Args:
        found: part -> its figures.

    Raises:
        ValueError: a goal of such a part has no row.
    """
    rows = [row for name, figures in found.items() for row in PARTS[name].rows(figures)]
    goals = {what: goal for name in found for what, goal in PARTS[name].goals.items()}
    return compared(rows, goals)


def _start(figures: Figures) -> list[Row]:
    local, ray = median(figures["local"]), median(figures["ray"])
    return [Row("process: start and first call", ray, "s", local)]


def _calls(figures: Figures) -> list[Row]:
    return [
        Row(f"{figures['kind']}: {what}", figures["ray"][key], "s", figures["local"][key])
        for key, what in (("call", "call of 1+1"), ("tool", "call of a tool"))
    ]  # fmt: skip


def _processes(figures: Figures) -> list[Row]:
    return [
        *_many("process", figures),
        Row("process: memory of a sandbox", figures["bytes_each"], "MB"),
        Row("process: actors", figures["actors"], ""),
        Row("process: memory of a supervisor", figures["supervisor_bytes"], "MB"),
    ]


def _containers(figures: Figures) -> list[Row]:
    local = median(figures["local_bytes"])
    return [
        *_many("docker", figures),
        Row("docker: memory of a container", median(figures["bytes"]), "MB", local),
    ]


def _many(kind: str, figures: Figures) -> list[Row]:
    """Rows of sandboxes that are open at once."""
    return [
        Row(f"{kind}: sandboxes at once", figures["count"], ""),
        Row(f"{kind}: of these without an answer", figures["count"] - figures["answered"], ""),
        Row(f"{kind}: seconds for each start, many at once", figures["seconds"] / figures["count"]),
    ]


def _scaling(figures: Figures) -> list[Row]:
    rates: Sequence[float] = figures["rates"]
    return [
        Row(f"calls that sleep 0.5 s, {_nodes(number)}", rate, "/s", number * rates[0])
        for number, rate in enumerate(rates, 1)
    ]


def _nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"


#: Name -> part, in the order of the table and of the run.
PARTS: Mapping[str, Part] = {
    "start": Part(_start, {"process: start and first call": Goal(2.0)}),
    "calls": Part(
        _calls,
        {
            "docker: call of 1+1": Goal(1.3),
            "docker: call of a tool": Goal(1.5),
        },
    ),
    "processes": Part(
        _processes,
        {
            "process: of these without an answer": _NONE,
            "process: memory of a sandbox": Goal(12e6, of=""),
            "process: actors": Goal(3, of=""),
        },
    ),
    "containers": Part(
        _containers,
        {
            "docker: of these without an answer": _NONE,
            "docker: memory of a container": Goal(1.15),
        },
    ),
    "scaling": Part(
        _scaling,
        {
            "calls that sleep 0.5 s, 2 nodes": Goal(0.9, at_least=True),
            "calls that sleep 0.5 s, 3 nodes": Goal(0.9, at_least=True),
        },
    ),
}
