"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.process [--calls 500] [--starts 40] [--record]

The interpreter in this process and the one in a child take turns, call by call, so both see the
same machine; figures of different runs are not compared with one another.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.interpreter import Interpreter
from smolagents_fork.process.spawn import stop_fork_servers

from ..machine import busy_words, machine, machine_words
from ..record import write_section

# Measure -> most milliseconds, from the executor's specification.
GOALS = {
    "start to first result, warm": 150.0,
    "call beyond the interpreter's own": 1.0,
    "call of a tool": 0.3,
}


def main() -> int:
    """Run it; the exit code says whether every goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.process", description=__doc__)
    parser.add_argument("--calls", type=int, default=500, help="calls of 1+1")
    parser.add_argument("--starts", type=int, default=40, help="warm starts")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    results: dict[str, Any] = {
        "machine": where,
        "milliseconds": measured(options.calls, options.starts),
    }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench-process.json").write_text(json.dumps(results, indent=1) + "\n")
    text, reached = table(results["milliseconds"])
    text = f"{measured_on(where)}\n\n{text}"
    if options.record:
        write_section("process", text)
    print(text)
    return 0 if reached else 1


def measured_on(where: dict[str, Any]) -> str:
    """The machine, and what else it did."""
    words = f"Measured on {machine_words(where)}."
    busy = busy_words(where)
    return f"{words} {busy}" if busy else words


def measured(calls: int, starts: int) -> dict[str, dict[str, float]]:
    """Median and 95th percentile of each measure, in milliseconds."""
    stop_fork_servers()
    found = {"start to first result, cold": summary([timed(started)])}
    runs = [timed(started) for _ in range(starts)]
    found["start to first result, warm"] = summary(runs)
    with ProcessExecutor(["numpy"], None) as executor:
        own, beyond = turns(executor, calls)
        found["call of 1+1, in this process"] = summary(own)
        found["call of 1+1"] = summary([sum(pair) for pair in zip(own, beyond, strict=True)])
        found["call beyond the interpreter's own"] = summary(beyond)
        executor.send_tools({"same": lambda value: value})
        many = timed(lambda: executor("for i in range(10_000): same(i)"))
        found["call of a tool"] = summary([many / 10_000])
        array = numpy.random.default_rng(0).random(1_000_000)
        found["a million floats in"] = summary(
            [timed(lambda: executor.send_variables({"array": array})) for _ in range(5)]
        )
        found["a million floats out"] = summary(
            [timed(lambda: executor("array")) for _ in range(5)]
        )
        found["a text of 1 MB out"] = summary(
            [timed(lambda: executor("'x' * 1_000_000")) for _ in range(5)]
        )
    cleaned = ProcessExecutor([], None)
    found["cleanup"] = summary([timed(cleaned.cleanup)])
    return found


def started() -> None:
    """One executor from nothing to its first result; its cleanup is not what is measured."""
    executor = ProcessExecutor([], None)
    executor("1+1")
    _kept.append(executor)
    if len(_kept) > 1:
        _kept.pop(0).cleanup()


_kept: list[ProcessExecutor] = []


def turns(executor: ProcessExecutor, calls: int) -> tuple[list[float], list[float]]:
    """Times of ``1+1`` here, and what it takes more in the child, call by call."""
    interpreter = Interpreter(["numpy"])
    own, beyond = [], []
    for _ in range(calls):
        here = timed(lambda: interpreter.run("1+1"))
        there = timed(lambda: executor("1+1"))
        own.append(here)
        beyond.append(there - here)
    return own, beyond


def timed(action: Callable[[], object]) -> float:
    """Milliseconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def summary(times: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    ordered = sorted(times)
    return {"p50": statistics.median(ordered), "p95": ordered[int(0.95 * (len(ordered) - 1))]}


def table(found: dict[str, dict[str, float]]) -> tuple[str, bool]:
    """A Markdown table, and whether every goal was reached."""
    lines = ["| measure | p50, ms | p95, ms | goal, ms | |", "|---|---|---|---|---|"]
    reached = True
    for name, times in found.items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else "reached" if times["p50"] <= goal else "missed"
        reached = reached and verdict != "missed"
        shown = "-" if goal is None else f"{goal:g}"
        lines.append(f"| {name} | {times['p50']:.3f} | {times['p95']:.3f} | {shown} | {verdict} |")
    return "\n".join(lines) + "\n", reached


if __name__ == "__main__":
    raise SystemExit(main())
