"""``python -m tools.bench.interpreter``: run, print, write JSON; ``--record``: the page, too."""

from __future__ import annotations

import argparse
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

from ..pristine import PristineError, checked_version, pristine_python
from ..runner import record, started_document
from .first_run import FirstRun, corpus, imported, new_text, summary
from .page import section
from .programs import PROGRAMS, Program

ENGINES_FILE = Path(__file__).with_name("engines.py")
ROOT = Path(__file__).parents[3]
SLOW = ("upstream",)
#: What the environment of the other sides holds besides upstream's release.
OTHERS = ["numpy", "pandas", "pydantic-monty", "RestrictedPython"]
#: Engines whose first run of new code is measured; CPython's is compile().
FIRST = ("cpython", "fork", "upstream")
#: Engines beside CPython.
ENGINES = ("fork", "upstream", "monty", "restricted")


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
        default=",".join(ENGINES),
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
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for JSON")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    return parser.parse_args()


def interpreters(options: argparse.Namespace) -> dict[str, str]:
    """Return the Python of each engine; those that are not named are made.

    Raises:
        PristineError: one cannot be had.
    """
    if options.upstream_python:
        checked_version(options.upstream_python)
    beside = functools.cache(lambda: str(pristine_python([], OTHERS, say=say)))
    peers = options.peers_python or beside()
    return {
        "cpython": sys.executable,
        "fork": sys.executable,
        "upstream": options.upstream_python or beside(),
        "monty": peers,
        "restricted": peers,
    }


def measured(
    engines: dict[str, Engine], options: argparse.Namespace
) -> tuple[list[Row], dict[str, Any]]:
    """Programs' times, and the document's parts about calls and first runs."""
    rows = []
    for program in PROGRAMS:
        if options.only in program.name:
            rows.append(measure(program, engines, options.rounds))
            ratio = rows[-1].ratio("fork")
            say(f"{program.name}: " + ("error" if ratio is None else f"{ratio:.2f}"))
    calls: dict[str, dict[str, float]] = {"call_seconds": {}, "new_call_seconds": {}}
    for name, engine in engines.items():
        for key, new in (("call_seconds", False), ("new_call_seconds", True)):
            answer = engine.ask(calls=options.calls, new=new)
            if "seconds" in answer:
                calls[key][name] = statistics.median(answer["seconds"])
    return rows, {**calls, "first_run": summary(measure_first_runs(engines, options.rounds))}


def document_of(rows: list[Row], engines: dict[str, Engine]) -> dict[str, Any]:
    """Return the document's parts about programs."""
    others = [name for name in engines if name != "cpython"]
    means = {name: mean_ratio(rows, name) for name in others}
    return {
        "geometric_means": {name: mean for name, mean in means.items() if not math.isnan(mean)},
        "programs": [
            {
                **asdict(row),
                "cpython": row.cpython,
                "ratios": {name: row.ratio(name) for name in others},
            }
            for row in rows
        ],
    }


def main() -> int:
    """Measure, print and write.

    Returns:
        0; 1 when a goal was missed or a result of the fork differed from CPython's; 2 when there
        is nothing to compare with.
    """
    options = arguments()
    wanted = wanted_engines(options)
    try:
        pythons = interpreters(options)
    except PristineError as problem:
        say(str(problem))
        return 2
    checkout = options.checkout.resolve()
    if not (checkout / "smolagents_fork" / "interpreter").is_dir():
        say(f"no smolagents_fork/interpreter in {checkout}")
        return 2
    document = started_document()
    began = time.monotonic()
    engines = {
        name: Engine(name, python, options.cap, checkout)
        for name, python in pythons.items()
        if name in ("cpython", *wanted)
    }
    absent = {name: one.unavailable for name, one in engines.items() if one.unavailable}
    for name, reason in absent.items():
        say(f"{name}: left out, {reason}")
    try:
        rows, figures = measured(engines, options)
    finally:
        for engine in engines.values():
            engine.close()
    document |= {"rounds": options.rounds, **figures, **document_of(rows, engines)}
    document["seconds"] = round(time.monotonic() - began, 1)
    text, reached = section(document)
    if options.record and absent:
        say(f"not recorded in docs/benchmarks.md: {', '.join(absent)} did not run")
    record("interpreter", document, text, options.output, options.record and not absent)
    return 0 if reached and not any("fork" in row.errors for row in rows) else 1


def wanted_engines(options: argparse.Namespace) -> list[str]:
    """Return the engines that the command line names.

    Raises:
        SystemExit: an unknown one, none of the fork's, or less than --record writes.
    """
    wanted: list[str] = options.engines.split(",")
    if unknown := sorted(set(wanted) - set(ENGINES)):
        raise SystemExit(f"--engines: no {', '.join(unknown)}; there are {', '.join(ENGINES)}")
    if "fork" not in wanted:
        raise SystemExit("--engines: fork is what is measured; name it, too")
    if options.record and (options.only or set(wanted) != set(ENGINES)):
        raise SystemExit("--record writes whole runs; leave --only and --engines out")
    return wanted


def say(line: str) -> None:
    """Print a line about what is being done, beside the table."""
    print(f"bench-interpreter: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
