"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.process [--calls 500] [--starts 40] [--record]

The interpreter in this process and the one in a child take turns, call by call, so both see the
same machine; figures of different runs are not compared with one another.
"""

from __future__ import annotations

import numpy

from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.interpreter import Interpreter
from smolagents_fork.process.spawn import stop_fork_servers

from ..timings import Summary, run, summary, timed

# Measure -> most milliseconds, from the executor's specification.
GOALS = {
    "start to first result, warm": 150.0,
    "call beyond the interpreter's own": 1.0,
    "call of a tool": 0.3,
}


def measured(calls: int, starts: int) -> dict[str, Summary]:
    """Median and 95th percentile of each measure."""
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


if __name__ == "__main__":
    raise SystemExit(run("process", __doc__, GOALS, measured, calls=500, starts=40))
