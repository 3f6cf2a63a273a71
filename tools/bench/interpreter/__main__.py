"""``python -m tools.bench.interpreter``: run, print, write JSON; ``--record``: the page, too."""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import math
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ..machine import machine
from ..pristine import PristineError, checked_version, pristine_python
from ..record import write_section
from .first_run import FirstRun, corpus, imported, new_text, summary
from .page import section
from .programs import PROGRAMS, Program

ENGINES_FILE = Path(__file__).with_name("engines.py")
ROOT = Path(__file__).parents[3]
SLOW = ("upstream",)
#: What the environment of the other sides holds besides upstream's release.
OTHERS = ["numpy", "pandas", "pydantic-monty", "RestrictedPython"]
#: Engines whose first run of new code is measured, and what is timed.
FIRST = {"cpython": "CPython's compile()", "fork": "this fork", "upstream": "upstream"}
TITLES = {
    "fork": "this fork",
    "upstream": "upstream",
    "monty": "pydantic-monty",
    "restricted": "RestrictedPython",
}


class Engine:
    """One engine's process.

    Args:
        name: a key of ``engines.ENGINES``.
        python: the interpreter that has the engine installed.
        cap: seconds a request may take before the process is killed and replaced.
        checkout: the folder whose ``smolagents_fork`` the fork's engine takes.
    """

    def __init__(self, name: str, python: str, cap: float, checkout: Path = ROOT) -> None:
        self.name, self.python, self.cap, self.checkout = name, python, cap, checkout
        self.unavailable = ""
        self._process: subprocess.Popen[str] | None = None
        self._start()

    def _start(self) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.checkout) if self.name == "fork" else "",
        }
        self._process = subprocess.Popen(
            [self.python, "-B", "-W", "ignore", str(ENGINES_FILE), self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        answer = self._read(120)
        self.unavailable = answer.get("unavailable", answer.get("error", ""))

    def _read(self, seconds: float) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        if not ready:
            self.close()
            return {"error": f"over {seconds:g} s"}
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}

    def ask(self, **request: Any) -> dict[str, Any]:
        """One request; a process that was killed or has ended is replaced first."""
        if self.unavailable:
            return {"error": self.unavailable}
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read(self.cap)

    def close(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()
                process.wait(10)
            self._process = None


@dataclass
class Row:
    """One program's times in seconds by engine, a measurement a round.

    ``small`` and ``base_small`` are CPython's at the size that slow engines get.
    """

    name: str
    n: int
    small: int
    base: list[float] = field(default_factory=list)
    base_small: list[float] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)

    @property
    def cpython(self) -> float:
        """Median of CPython's seconds."""
        return statistics.median(self.base) if self.base else math.inf

    def ratio(self, engine: str) -> float | None:
        """Median over the rounds of the engine's time divided by CPython's in the same round.

        Nothing if the engine cannot run the program.
        """
        if engine in self.errors or engine not in self.seconds:
            return None
        base = self.base_small if engine in SLOW else self.base
        return statistics.median(
            one / reference for one, reference in zip(self.seconds[engine], base, strict=True)
        )


def measure(program: Program, engines: dict[str, Engine], rounds: int) -> Row:
    """Run a program ``rounds`` times, the engines taking turns within each round."""
    row = Row(program.name, program.n, program.small)
    for number in range(rounds):
        # Another text each time: an agent's code is new, so a cache of compiled code may not help.
        mark = f"# round {number} of process {os.getpid()}\n"
        full, small = mark + program.text(program.n), mark + program.text(program.small)
        for name, engine in engines.items():
            if name in row.errors:
                continue
            answer = engine.ask(source=small if name in SLOW else full)
            if "error" in answer:
                row.errors[name] = answer["error"]
            elif name == "cpython":
                row.base.append(sum(answer["seconds"]))
                row.results["full"] = answer["result"]
                answer = engine.ask(source=small)
                row.base_small.append(sum(answer["seconds"]))
                row.results["small"] = answer["result"]
            else:
                row.seconds.setdefault(name, []).append(sum(answer["seconds"]))
                expected = row.results["small" if name in SLOW else "full"]
                if answer["result"] != expected:
                    row.errors[name] = f"other result: {answer['result'][:60]}"
    return row


def measure_first_runs(engines: dict[str, Engine], rounds: int) -> list[FirstRun]:
    """Measure the first run of every program of the corpus, the engines taking turns."""
    texts = corpus()
    modules = imported(list(texts.values()))
    measured = [name for name in FIRST if name in engines and not engines[name].unavailable]
    runs = [FirstRun(name, text.count("\n"), {}) for name, text in texts.items()]
    for number in range(rounds):
        mark = f"round {number} of process {os.getpid()}"
        sources = [new_text(text, mark) for text in texts.values()]
        for engine in measured:
            answer = engines[engine].ask(first=sources, modules=modules)
            if "error" in answer:
                raise SystemExit(f"bench-interpreter: first run in {engine}: {answer['error']}")
            for run, seconds in zip(runs, answer["seconds"], strict=True):
                run.seconds.setdefault(engine, []).append(seconds)
    return runs


def geometric_mean(values: Iterable[float]) -> float:
    return statistics.geometric_mean(list(values))


def report(rows: list[Row], calls: dict[str, float], engines: dict[str, Engine]) -> Table:
    """The figures as a table: CPython's milliseconds, then ratios to it."""
    others = [name for name in engines if name != "cpython" and not engines[name].unavailable]
    table = Table(title="times CPython's own processor time, medians (lower is better)")
    table.add_column("program")
    table.add_column("CPython, ms", justify="right")
    for name in others:
        mark = " (small input)" if name in SLOW else ""
        table.add_column(TITLES[name] + mark, justify="right")
    for row in rows:
        cells = [_cell(row, name) for name in others]
        table.add_row(row.name, f"{row.cpython * 1000:.0f}", *cells)
    table.add_section()
    table.add_row("geometric mean", "", *[f"{mean_ratio(rows, n):.2f}" for n in others])
    table.add_row("programs run", str(len(rows)), *[str(_ran(rows, n)) for n in others])
    table.add_row("call 1+1, ms", _ms(calls.get("cpython")), *[_ms(calls.get(n)) for n in others])
    return table


def first_run_table(figures: dict[str, Any]) -> Table:
    """The first run of new code: milliseconds and ratios to CPython's compile, by engine."""
    table = Table(title="first run of new code, without running it, beside compile()")
    names = [name for name in FIRST if name in figures]
    table.add_column("program")
    for name in names:
        table.add_column(FIRST[name], justify="right")
    for title, key, small in (
        (f"{figures['programs']} everyday programs, ms", "everyday_seconds", False),
        ("ratio, geometric mean", "everyday_ratio", True),
        ("ratio, worst", "everyday_worst", True),
        ("a program of 1,000 lines, ms", "long_seconds", False),
        ("ratio", "long_ratio", True),
    ):
        values = [figures[name][key] for name in names]
        cells = [f"{value:.2f}" if small else f"{value * 1000:.2f}" for value in values]
        table.add_row(title, *cells)
    return table


def _cell(row: Row, name: str) -> str:
    ratio = row.ratio(name)
    return "cannot" if ratio is None else f"{ratio:.2f}"


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.3f}"


def _ran(rows: list[Row], name: str) -> int:
    return sum(row.ratio(name) is not None for row in rows)


def mean_ratio(rows: list[Row], name: str) -> float:
    """Geometric mean over the programs that the engine can run."""
    ratios = [ratio for row in rows if (ratio := row.ratio(name)) is not None]
    return geometric_mean(ratios) if ratios else math.nan


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.interpreter", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="measurements a program and engine")
    parser.add_argument("--cap", type=float, default=20.0, help="seconds one program may take")
    parser.add_argument("--calls", type=int, default=300, help='calls of "1+1"')
    parser.add_argument("--only", default="", help="part of the programs' names")
    parser.add_argument(
        "--engines",
        default=",".join(TITLES),
        help="engines beside CPython, by comma: %(default)s",
    )
    parser.add_argument(
        "--upstream-python",
        default=os.environ.get("UPSTREAM_PYTHON"),
        help="a Python with the pristine release installed (or UPSTREAM_PYTHON); without one it "
        "is made in build/bench",
    )
    parser.add_argument(
        "--peers-python",
        default=os.environ.get("PEERS_PYTHON"),
        help="a Python with pydantic-monty and RestrictedPython (or PEERS_PYTHON); without one "
        "they are installed beside upstream's release",
    )
    parser.add_argument(
        "--checkout", type=Path, default=ROOT, help="the folder whose smolagents_fork is measured"
    )
    parser.add_argument("--output", type=Path, default=Path("reports/bench-interpreter.json"))
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    return parser.parse_args()


def interpreters(options: argparse.Namespace, console: Console) -> dict[str, str]:
    """The Python of each engine; those that are not named are made.

    Raises:
        PristineError: one cannot be had.
    """
    if options.upstream_python:
        checked_version(options.upstream_python)
    beside = functools.cache(lambda: str(pristine_python([], OTHERS, say=console.print)))
    peers = options.peers_python or beside()
    return {
        "cpython": sys.executable,
        "fork": sys.executable,
        "upstream": options.upstream_python or beside(),
        "monty": peers,
        "restricted": peers,
    }


def main() -> int:
    """Measure, print and write.

    Returns:
        0; 1 when a result of the fork differed from CPython's; 2 when there is nothing to compare
        with.
    """
    options = arguments()
    wanted = options.engines.split(",")
    if unknown := sorted(set(wanted) - set(TITLES)):
        raise SystemExit(f"--engines: no {', '.join(unknown)}; there are {', '.join(TITLES)}")
    if "fork" not in wanted:
        raise SystemExit("--engines: fork is what is measured; name it, too")
    if options.record and (options.only or set(wanted) != set(TITLES)):
        raise SystemExit("--record writes whole runs; leave --only and --engines out")
    console = Console(width=max(110, Console().width))
    try:
        pythons = interpreters(options, console)
    except PristineError as problem:
        print(f"bench-interpreter: {problem}", file=sys.stderr)
        return 2
    checkout = options.checkout.resolve()
    if not (checkout / "smolagents_fork" / "interpreter").is_dir():
        print(f"bench-interpreter: no smolagents_fork/interpreter in {checkout}", file=sys.stderr)
        return 2
    engines = {
        name: Engine(name, python, options.cap, checkout)
        for name, python in pythons.items()
        if name in ("cpython", *wanted)
    }
    for name, engine in engines.items():
        if engine.unavailable:
            console.print(f"{name}: left out, {engine.unavailable}")
    where = machine()
    started = time.monotonic()
    try:
        rows = []
        for program in PROGRAMS:
            if options.only in program.name:
                rows.append(measure(program, engines, options.rounds))
                ratio = rows[-1].ratio("fork")
                said = "error" if ratio is None else f"{ratio:.2f}"
                console.print(f"[dim]{program.name}: {said}[/dim]")
        calls: dict[str, float] = {}
        new_calls: dict[str, float] = {}
        for name, engine in engines.items():
            for kept, new in ((calls, False), (new_calls, True)):
                answer = engine.ask(calls=options.calls, new=new)
                if "seconds" in answer:
                    kept[name] = statistics.median(answer["seconds"])
        first = summary(measure_first_runs(engines, options.rounds))
    finally:
        for engine in engines.values():
            engine.close()
    console.print(report(rows, calls, engines))
    console.print(first_run_table(first))
    console.print(
        f"{where['processor']}, {where['cores']} cores, {where['system']}, "
        f"Python {where['python']}; medians of {options.rounds}, engines interleaved; "
        f"{time.monotonic() - started:.0f} s"
    )
    for row in rows:
        for name, error in row.errors.items():
            console.print(f"[dim]{row.name} in {name}: {error}[/dim]", highlight=False)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    means = {name: mean_ratio(rows, name) for name in engines if name != "cpython"}
    document = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": where,
        "rounds": options.rounds,
        "geometric_means": {k: v for k, v in means.items() if not math.isnan(v)},
        "call_seconds": calls,
        "new_call_seconds": new_calls,
        "first_run": first,
        "programs": [
            {
                **asdict(row),
                "cpython": row.cpython,
                "ratios": {n: row.ratio(n) for n in engines if n != "cpython"},
            }
            for row in rows
        ],
    }
    options.output.write_text(json.dumps(document, indent=2) + "\n")
    absent = [TITLES[name] for name, engine in engines.items() if engine.unavailable]
    if options.record and absent:
        console.print(f"not recorded in docs/benchmarks.md: {', '.join(absent)} did not run")
    elif options.record:
        write_section("interpreter", section(document))
    return 1 if any("fork" in row.errors for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
