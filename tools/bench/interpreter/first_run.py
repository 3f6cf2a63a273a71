"""The first run of new code: the programs, and the figures beside CPython's own compile of them."""

from __future__ import annotations

import ast
import importlib.util
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FirstRun", "corpus", "imported", "new_text", "summary"]

_ROOT = Path(__file__).parents[3]
#: The everyday programs of the corpus of cases; see tests/cases.
EVERYDAY = _ROOT / "tests" / "cases" / "programs" / "everyday.py"
LONG_LINES = 1000
LONG = "1,000 lines"


@dataclass(frozen=True)
class FirstRun:
    """One program's seconds by engine, a measurement a round.

    Args:
        name: of the program.
        lines: of its text.
        seconds: of the engines, in the order of the rounds.
    """

    name: str
    lines: int
    seconds: dict[str, list[float]]

    def median(self, engine: str) -> float | None:
        """Median seconds of an engine; nothing if it was not measured."""
        measured = self.seconds.get(engine)
        return statistics.median(measured) if measured else None

    def ratio(self, engine: str) -> float | None:
        """Median over the rounds of the engine's time divided by CPython's in the same round."""
        measured = self.seconds.get(engine)
        if not measured:
            return None
        return statistics.median(
            one / base for one, base in zip(measured, self.seconds["cpython"], strict=True)
        )


def corpus(path: Path = EVERYDAY) -> dict[str, str]:
    """Text by name: the everyday programs, and one of 1,000 lines that is made of them.

    Programs that CPython's ``compile`` does not take behind another line are left out.
    """
    found: dict[str, str] = {}
    for chunk in re.split(r"^# case: *", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        name, _, text = chunk.partition("\n")
        if "from __future__" not in text and not _awaits(ast.parse(text)):
            found[name.strip()] = text
    lines: list[str] = []
    while len(lines) < LONG_LINES:
        before = len(lines)
        for text in found.values():
            if len(lines) + text.count("\n") <= LONG_LINES:
                lines += text.splitlines()
        if len(lines) == before:
            lines += ["pass"] * (LONG_LINES - before)
    found[LONG] = "\n".join(lines) + "\n"
    return found


def _awaits(node: ast.AST) -> bool:
    """Tell whether there is an ``await`` outside functions."""
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return False
    return any(_awaits(child) for child in ast.iter_child_nodes(node))


def new_text(text: str, mark: str) -> str:
    """``text`` as a program that ends at its first line and that no cache knows.

    Args:
        text: the program.
        mark: another one for each measurement.
    """
    return f"final_answer(None)  # {mark}\n{text}"


def imported(texts: Sequence[str]) -> list[str]:
    """Every installed module that one of the programs imports, to be authorised."""
    names: set[str] = set()
    for text in texts:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
    return sorted(name for name in names if importlib.util.find_spec(name.split(".")[0]))


def summary(runs: Sequence[FirstRun]) -> dict[str, Any]:
    """Seconds and ratios of the whole corpus and of the long program, by engine."""
    small = [run for run in runs if run.name != LONG]
    answer: dict[str, Any] = {"programs": len(small)}
    for engine in runs[0].seconds:
        ratios = [ratio for run in small if (ratio := run.ratio(engine)) is not None]
        long = next(run for run in runs if run.name == LONG)
        answer[engine] = {
            "everyday_seconds": sum(run.median(engine) or 0.0 for run in small),
            "everyday_ratio": statistics.geometric_mean(ratios) if ratios else None,
            "everyday_worst": max(ratios, default=None),
            "long_seconds": long.median(engine),
            "long_ratio": long.ratio(engine),
        }
    return answer
