"""The local interpreter beside CPython and upstream's walker.

Every program of :mod:`.programs` runs in each engine, interleaved. Each engine lives in a process
of its own (:mod:`.engines`), so that upstream can come from another environment.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...paths import ROOT
from ..floor_program import FloorError, FloorProgram
from ..pristine import pristine_python
from ..runner import Measured, say
from ..table import NOW, Row, markdown
from .programs import PROGRAMS, Program

__all__ = ["MEAN_GOAL", "PROGRAM_GOAL", "Engine", "ProgramTimes", "draw_programs", "measure"]

#: Most times CPython's own time: the geometric mean, and one program.
MEAN_GOAL = 1.3
PROGRAM_GOAL = 2.2
ENGINES_FILE = Path(__file__).with_name("engines.py")
#: Engines that get a program's small size, at which CPython is timed, too.
SLOW = ("upstream",)
#: Engines beside CPython, with their headings.
TITLES = {"upstream": "upstream", "fork": NOW}
#: Seconds that a start or one program may take.
_CAP_SECONDS = 60.0


class Engine:
    """One engine's process, replaced when a program ends it or takes too long.

    Args:
        name: a key of ``engines.ENGINES``.
        python: the interpreter that has the engine installed.
    """

    def __init__(self, name: str, python: str | Path) -> None:
        self._command = [str(python), "-B", "-W", "ignore", str(ENGINES_FILE), name]
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT) if name == "fork" else ""}
        self._process: FloorProgram | None = None

    def ask(self, **request: Any) -> dict[str, Any]:
        """Make one request; return the answer, or the error."""
        try:
            if self._process is None:
                self._process = FloorProgram(self._command, self._environment, _CAP_SECONDS)
            answer: dict[str, Any] = json.loads(self._process.answer(json.dumps(request)))
        except FloorError as error:
            self.close()
            return {"error": str(error)}
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None


@dataclass
class ProgramTimes:
    """One program's seconds by engine, a measurement a round.

    Args:
        name: of the program.
        floor: CPython's.
        small_floor: CPython's at the size that slow engines get.
        seconds: of the others.
        errors: why an engine cannot run it.
    """

    name: str
    floor: list[float] = field(default_factory=list)
    small_floor: list[float] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def ratio(self, engine: str) -> float | None:
        """Return the median over the rounds of the engine's time divided by CPython's."""
        if engine in self.errors or engine not in self.seconds:
            return None
        floor = self.small_floor if engine in SLOW else self.floor
        pairs = zip(self.seconds[engine], floor, strict=True)
        return statistics.median(seconds / reference for seconds, reference in pairs)


def measure(repeat: int) -> Measured:
    """Return the figures of all engines.

    Args:
        repeat: rounds are a quarter of it, calls 15 times as many.

    Raises:
        ToolError: there is nothing to compare with.
    """
    others = pristine_python([], ["numpy", "pandas"])
    own = {"cpython": sys.executable, "fork": sys.executable}
    engines = {name: Engine(name, own.get(name, others)) for name in ("cpython", *TITLES)}
    try:
        times = [_measure_program(program, engines, max(2, repeat // 4)) for program in PROGRAMS]
        calls = {
            title: {
                name: answer["seconds"]
                for name, engine in engines.items()
                if "seconds" in (answer := engine.ask(calls=15 * repeat, new=new))
            }
            for title, new in (("call of `1+1` after the first", False), ("call of `1+n`", True))
        }
    finally:
        for engine in engines.values():
            engine.close()
    own_times = [program for program in times if "fork" in program.seconds]
    rows = [
        *(Row(program.name, program.seconds["fork"], program.floor) for program in own_times),
        *(Row(title, sides["fork"], sides["cpython"]) for title, sides in calls.items()),
    ]
    return Measured(rows, "medians", _refusals(times), draw_programs(times, calls))


def _measure_program(program: Program, engines: dict[str, Engine], rounds: int) -> ProgramTimes:
    """Run a program in the engines, which take turns within each round."""
    times, results = ProgramTimes(program.name), dict[bool, str]()
    for number in range(rounds):
        # Another text each time: an agent's code is new, so a cache of compiled code may not help.
        mark = f"# round {number} of process {os.getpid()}\n"
        texts = {slow: mark + program.text(program.small if slow else program.n)
                 for slow in (False, True)}  # fmt: skip
        for slow, floor in ((False, times.floor), (True, times.small_floor)):
            answer = engines["cpython"].ask(source=texts[slow])
            floor.append(sum(answer["seconds"]))
            results[slow] = answer["result"]
        for name in TITLES:
            if name in times.errors:
                continue
            answer = engines[name].ask(source=texts[name in SLOW])
            if "error" in answer:
                times.errors[name] = answer["error"]
            elif answer["result"] != results[name in SLOW]:
                times.errors[name] = f"other result: {answer['result'][:60]}"
            else:
                times.seconds.setdefault(name, []).append(sum(answer["seconds"]))
    ratio = times.ratio("fork")
    say(f"{program.name}: " + ("error" if ratio is None else f"{ratio:.2f}"))
    return times


def draw_programs(
    times: list[ProgramTimes], calls: dict[str, dict[str, list[float]]]
) -> tuple[str, bool]:
    """Draw the table of multiples of CPython's time; return it, and whether goals were reached.

    Args:
        times: of the programs.
        calls: seconds of calls by title and engine.
    """
    lines, every = [], True
    for program in times:
        ratios = {name: program.ratio(name) for name in TITLES}
        mark, reached = _judge(ratios["fork"], PROGRAM_GOAL)
        every = every and reached
        floor = f"{statistics.median(program.floor) * 1000:.0f} ms"
        cells = [_ratio(ratios[name], "cannot") for name in TITLES]
        lines.append([program.name, floor, *cells, mark])
    means = {
        name: statistics.geometric_mean(medians)
        for name in TITLES
        if (medians := [ratio for program in times if (ratio := program.ratio(name)) is not None])
    }
    mark, reached = _judge(means.get("fork"), MEAN_GOAL)
    lines.append(["**geometric mean**", "", *(_ratio(means.get(name)) for name in TITLES), mark])
    for title, sides in calls.items():
        floor_seconds = statistics.median(sides["cpython"])
        multiples = {k: statistics.median(v) / floor_seconds for k, v in sides.items()}
        cells = [_ratio(multiples.get(name)) for name in TITLES]
        lines.append([title, f"{floor_seconds * 1000:.3f} ms", *cells, ""])
    return markdown(["program", "floor", *TITLES.values(), "goal"], lines), every and reached


def _judge(ratio: float | None, goal: float) -> tuple[str, bool]:
    reached = ratio is not None and ratio <= goal
    return f"<= {goal:g} {'reached' if reached else 'MISSED'}", reached


def _ratio(ratio: float | None, missing: str = "-") -> str:
    return missing if ratio is None else f"{ratio:.2f}"


def _refusals(times: list[ProgramTimes]) -> list[str]:
    lines = [
        f"- {program.name}, {TITLES[name]}: `{' '.join(error.split())[:160].replace('`', chr(39))}`"
        for name in TITLES
        for program in times
        if (error := program.errors.get(name))
    ]
    return ["Programs an engine cannot run:", "\n".join(lines)] if lines else []
