"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.process [--calls 500] [--starts 40] [--record]

The floor, the interpreter in this process and the one in a child take turns, call by call, so all
see the same machine; figures of different runs are not compared with one another.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy

from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.interpreter.guarded import Interpreter
from smolagents_fork.process.spawn import stop_fork_servers

from ..companion import Companion, local_companion
from ..comparison import Goal, Row
from ..runner import Benchmark, Measured
from ..timings import alternated, median, percentile, repeated, timed

#: Issue 16's table; the call beyond the interpreter's own is the executor's specification's.
GOALS = {
    "start to first result, warm": Goal(0.005, of=""),
    "call of 1+1": Goal(0.00005, of=""),
    "call beyond the interpreter's own": Goal(0.001, of=""),
    "call of a tool": Goal(0.0001, of=""),
    "a million floats in": Goal(0.005, of=""),
    "a million floats out": Goal(0.005, of=""),
}
FLOATS = 1_000_000
TOOL_CALLS = 10_000
#: Pause before a start for which the spare is ready; its preparation takes some ten milliseconds.
SPARE_SECONDS = 0.1
FLOOR_PROGRAM = Path(__file__).with_name("floor.py")


def measured(options: argparse.Namespace) -> Measured:
    """Return the figures of all rows."""
    with local_companion([sys.executable, "-I", FLOOR_PROGRAM]) as floor:
        rows = [*starts(floor, options.starts)]
        with ProcessExecutor(["numpy"], None) as executor:
            rows += [*calls(executor, floor, options.calls), tool(executor, floor)]
            rows += transfers(executor, floor)
    cleaned = ProcessExecutor([], None)
    rows.append(Row("cleanup", timed(cleaned.cleanup)))
    return Measured(rows, about=f"medians of {options.calls} calls and {options.starts} starts")


def starts(floor: Companion, count: int) -> list[Row]:
    """Rows about starts."""
    stop_fork_servers()
    cold = started()
    found = alternated(
        {
            "floor": lambda: floor.ask("fork"),
            "warm": started_with_spare,
            "again": started,  # at once: the fork server has just begun to prepare its next spare
        },
        count,
    )
    forked = median(found["floor"])
    return [
        Row("start to first result, cold", cold),
        Row("start to first result, warm", median(found["warm"]), "s", forked),
        Row("start to first result, straight after another", median(found["again"]), "s", forked),
    ]


def started_with_spare() -> float:
    """Seconds of a start for which the fork server had the time to prepare its spare process."""
    time.sleep(SPARE_SECONDS)
    return started()


def started() -> float:
    """Seconds of one executor from nothing to its first result, without its cleanup."""
    made: list[ProcessExecutor] = []

    def start() -> None:
        made.append(ProcessExecutor([], None))
        made[0]("1+1")

    seconds = timed(start)
    made[0].cleanup()
    return seconds


def calls(executor: ProcessExecutor, floor: Companion, count: int) -> list[Row]:
    """Rows about calls of ``1+1``."""
    interpreter = Interpreter(["numpy"])
    found = alternated(
        {
            "floor": lambda: floor.ask("pipe"),
            "here": lambda: timed(lambda: interpreter.run("1+1")),
            "there": lambda: timed(lambda: executor("1+1")),
        },
        count,
    )
    pipe = median(found["floor"])
    beyond = [there - here for there, here in zip(found["there"], found["here"], strict=True)]
    return [
        Row("call of 1+1, in this process", median(found["here"])),
        Row("call of 1+1", median(found["there"]), "s", pipe),
        Row("call of 1+1, p95", percentile(found["there"], 0.95), "s",
            percentile(found["floor"], 0.95)),
        Row("call beyond the interpreter's own", median(beyond), "s", pipe),
    ]  # fmt: skip


def tool(executor: ProcessExecutor, floor: Companion) -> Row:
    """Return the row about calls of a tool."""
    pipe = median([floor.ask("pipe") for _ in range(1000)])
    executor.send_tools({"same": lambda value: value})
    many = timed(lambda: executor(f"for i in range({TOOL_CALLS}): same(i)"))
    return Row("call of a tool", many / TOOL_CALLS, "s", pipe)


def transfers(executor: ProcessExecutor, floor: Companion) -> list[Row]:
    """Rows about large values."""
    array = numpy.random.default_rng(0).random(FLOATS)
    found = alternated(
        {
            "floor": lambda: floor.ask(f"copy {array.nbytes}"),
            "in": lambda: timed(lambda: executor.send_variables({"array": array})),
            "out": lambda: timed(lambda: executor("array")),
        },
        9,
    )
    copy = median(found["floor"])
    return [
        Row("a million floats in", median(found["in"]), "s", copy),
        Row("a million floats out", median(found["out"]), "s", copy),
        Row("a text of 1 MB out", median(repeated(lambda: executor("'x' * 1_000_000"), 5))),
    ]


BENCHMARK = Benchmark(
    "process",
    __doc__,
    GOALS,
    measured,
    {"calls": (500, "calls of 1+1"), "starts": (40, "warm starts")},
)

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.run())
