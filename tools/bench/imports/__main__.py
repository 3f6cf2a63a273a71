"""Measure ``import smolagents`` of the fork and of upstream; with ``--record`` also the page.

    python -m tools.bench.imports [--rounds 30] [--record]

Both packages are imported by the same interpreter with the same dependencies, each in a new
process, in alternating order; ``pass`` is the floor. The processor time is the process's own, and
moves less than the wall clock on a machine that does other work.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ..machine import busy_words, machine, machine_words
from ..pristine import pristine_python
from ..record import write_section

#: Most times upstream's processor time that the fork's import may take; what two runs of one side
#: differ by is allowed for.
GOAL = 1.02
FLOOR, UPSTREAM, FORK = "pass", "upstream", "fork"
_PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; {}"


@dataclass(frozen=True)
class Cost:
    """Cost of one process, in milliseconds."""

    cpu: float
    wall: float


def main() -> int:
    """Run the benchmark; the exit code says whether the goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.imports", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="imports of each side")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    python = pristine_python((), (), say=print)
    with tempfile.TemporaryDirectory() as folder:
        link_packages(Path(folder))
        found = measured(python, folder, options.rounds)
    figures = {
        side: Cost(
            statistics.median(one.cpu for one in costs),
            statistics.median(one.wall for one in costs),
        )
        for side, costs in found.items()
    }
    busy = busy_words(where)
    text = f"Measured on {machine_words(where)}.{' ' + busy if busy else ''}\n\n"
    text += table(figures, options.rounds)
    options.output.mkdir(parents=True, exist_ok=True)
    results = {"machine": where, "measures": {side: vars(one) for side, one in figures.items()}}
    (options.output / "bench-imports.json").write_text(json.dumps(results, indent=1) + "\n")
    if options.record:
        write_section("imports", text)
    print(text)
    return 0 if ratio(figures) <= GOAL else 1


def link_packages(folder: Path) -> None:
    """Link the fork's two packages as they are installed here, for another interpreter."""
    for name in ("smolagents", "smolagents_fork"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed here: run make dev")
        (folder / name).symlink_to(Path(spec.origin).parent)


def measured(python: Path, fork: str, rounds: int) -> dict[str, list[Cost]]:
    """Return the costs of each side, after a round that writes bytecode."""
    commands = {
        FLOOR: [_PROGRAM.format("pass")],
        UPSTREAM: [_PROGRAM.format("import smolagents")],
        FORK: [_PROGRAM.format("import smolagents"), fork],
    }
    found: dict[str, list[Cost]] = {side: [] for side in commands}
    for number in range(rounds + 1):
        order = list(commands.items())
        for side, arguments in order if number % 2 else reversed(order):
            cost = cost_of([str(python), "-I", "-c", *arguments])
            if number:
                found[side].append(cost)
    return found


def cost_of(command: list[str]) -> Cost:
    """Return the cost of a process.

    Raises:
        RuntimeError: it failed.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with exit code {process.returncode}")
    return Cost((usage.ru_utime + usage.ru_stime) * 1000, wall * 1000)


def ratio(figures: dict[str, Cost]) -> float:
    """Return the fork's processor time in upstream's, both without the floor."""
    floor = figures[FLOOR].cpu
    return (figures[FORK].cpu - floor) / (figures[UPSTREAM].cpu - floor)


def table(figures: dict[str, Cost], rounds: int) -> str:
    """Return the table of medians."""
    lines = ["| process | processor time | wall clock |", "|---|---|---|"]
    names = {
        FLOOR: "`pass`",
        UPSTREAM: "`import smolagents`, upstream's",
        FORK: "`import smolagents`, the fork's",
    }
    for side, name in names.items():
        one = figures[side]
        lines.append(f"| {name} | {one.cpu:.1f} ms | {one.wall:.1f} ms |")
    share = ratio(figures)
    verdict = "reached" if share <= GOAL else "MISSED"
    lines += [
        "",
        f"Medians of {rounds} processes each. Beyond `pass`, the fork's import takes {share:.3f} "
        f"times upstream's processor time; goal <= {GOAL:g}: {verdict}.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
