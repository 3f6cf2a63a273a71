"""Measure ``import smolagents`` of the fork and of upstream; with ``--record`` also the page.

    python -m tools.bench.imports [--rounds 30] [--record]

Both packages are imported by the same interpreter with the same dependencies, each in a new
process, in alternating order; ``pass`` is the floor. The processor time is the process's own, and
moves less than the wall clock on a machine that does other work.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..comparison import Goal, Row
from ..pristine import pristine_python
from ..runner import Benchmark, Measured
from ..timings import median

BEYOND = "import smolagents beyond the floor, processor time"
#: What two runs of one side differ by is allowed for.
GOALS = {BEYOND: Goal(1.02, of="upstream")}
FLOOR, UPSTREAM, FORK = "pass", "upstream", "fork"
_PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; {}"


@dataclass(frozen=True)
class Cost:
    """Cost of one process, in seconds."""

    cpu: float
    wall: float


def measured(options: argparse.Namespace) -> Measured:
    """Measure both sides and the floor."""
    python = pristine_python((), (), say=BENCHMARK.say)
    with tempfile.TemporaryDirectory() as folder:
        upstream, fork = linked(Path(folder), python)
        found = costs(python, str(upstream), str(fork), options.rounds)
    return Measured(rows(found), about=f"medians of {options.rounds} processes each")


def rows(found: Mapping[str, Sequence[Cost]]) -> list[Row]:
    """Make the rows of the table.

    Args:
        found: costs by side.
    """
    cpu = {side: median([one.cpu for one in them]) for side, them in found.items()}
    wall = {side: median([one.wall for one in them]) for side, them in found.items()}
    return [
        Row("import smolagents, processor time", cpu[FORK], "s", cpu[FLOOR], cpu[UPSTREAM]),
        Row("import smolagents, wall clock", wall[FORK], "s", wall[FLOOR], wall[UPSTREAM]),
        Row(BEYOND, cpu[FORK] - cpu[FLOOR], "s", None, cpu[UPSTREAM] - cpu[FLOOR]),
    ]


def linked(folder: Path, pristine: Path) -> tuple[Path, Path]:
    """Link upstream's package and the fork's two into a folder each, and return the folders.

    Each import looks into every folder of the path. So both sides have the same number.

    Args:
        folder: that the folders are made in.
        pristine: interpreter that has upstream's package.
    """
    find = "import importlib.util; print(importlib.util.find_spec('smolagents').origin)"
    origin = subprocess.run(
        [str(pristine), "-I", "-c", find], capture_output=True, text=True, check=True, timeout=60
    ).stdout.strip()
    packages = {"upstream": {"smolagents": Path(origin)}, "fork": {}}
    for name in ("smolagents", "smolagents_fork"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed here: run make dev")
        packages["fork"][name] = Path(spec.origin)
    for side, found in packages.items():
        (folder / side).mkdir()
        for name, path in found.items():
            (folder / side / name).symlink_to(path.parent)
    return folder / "upstream", folder / "fork"


def costs(python: Path, upstream: str, fork: str, rounds: int) -> dict[str, list[Cost]]:
    """Return the costs of each side, after a round that writes bytecode.

    Args:
        python: interpreter with the dependencies of both.
        upstream: folder with upstream's package.
        fork: folder with the fork's two.
        rounds: imports of each side.
    """
    commands = {
        FLOOR: [_PROGRAM.format("pass")],
        UPSTREAM: [_PROGRAM.format("import smolagents"), upstream],
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
    return Cost(usage.ru_utime + usage.ru_stime, wall)


BENCHMARK = Benchmark("imports", __doc__, GOALS, measured, {"rounds": (30, "imports of each side")})

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.run())
