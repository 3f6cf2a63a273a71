"""``ProcessExecutor`` beside ``os.fork``, a pipe, and a copy into shared memory.

Floor and executor take turns, call by call, so all see the same machine.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy

from smolagents_fork.executors.local import LocalPythonExecutor
from smolagents_fork.executors.process import ProcessExecutor
from smolagents_fork.process.spawn import stop_fork_servers

from ..floor_program import FloorProgram
from ..runner import Measured
from ..table import Row, percentile
from ..timings import time_action, time_repeatedly, time_turns

__all__ = ["FLOOR_PROGRAM", "measure"]

FLOATS = 1_000_000
TOOL_CALLS = 10_000
FLOOR_PROGRAM = Path(__file__).with_name("floor.py")


def measure(repeat: int) -> Measured:
    """Return the figures of all sides.

    Args:
        repeat: warm starts are twice as many, calls 25 times.
    """
    with FloorProgram([sys.executable, "-I", FLOOR_PROGRAM]) as floor:
        rows = _start_rows(floor, 2 * repeat)
        # Ten thousand tool calls in one program take minutes on a busy machine.
        with ProcessExecutor(["numpy"], None, timeout_seconds=600) as executor:
            rows += [*_call_rows(executor, floor, 25 * repeat), *_value_rows(executor, floor)]
    return Measured(rows, "medians; goals are what this executor reaches on an idle machine")


def _start_rows(floor: FloorProgram, count: int) -> list[Row]:
    stop_fork_servers()
    cold = _start()
    turns = time_turns({"floor": lambda: floor.ask("fork"), "warm": _start}, count)
    return [
        Row("start to first result, cold", cold),
        Row("start to first result, warm", turns["warm"], turns["floor"], goal=12),
    ]


def _start() -> float:
    """Return the seconds of one executor to its first result, without its cleanup."""
    began = time.perf_counter()
    with ProcessExecutor([], None) as executor:
        executor("1+1")
        return time.perf_counter() - began


def _call_rows(executor: ProcessExecutor, floor: FloorProgram, count: int) -> list[Row]:
    local = LocalPythonExecutor(["numpy"])
    turns = time_turns(
        {
            "floor": lambda: floor.ask("pipe"),
            "here": lambda: time_action(lambda: local("1+1")),
            "now": lambda: time_action(lambda: executor("1+1")),
        },
        count,
    )
    executor.send_tools({"same": lambda value: value})
    many = time_action(lambda: executor(f"for i in range({TOOL_CALLS}): same(i)")) / TOOL_CALLS
    return [
        Row("call of 1+1, in this process", turns["here"]),
        Row("call of 1+1", turns["now"], turns["floor"], goal=25),
        Row("call of 1+1, p95", percentile(turns["now"], 0.95), percentile(turns["floor"], 0.95)),
        Row("call of a tool", many, turns["floor"], goal=20),
    ]


def _value_rows(executor: ProcessExecutor, floor: FloorProgram) -> list[Row]:
    array = numpy.random.default_rng(0).random(FLOATS)
    turns = time_turns(
        {
            "floor": lambda: floor.ask(f"copy {array.nbytes}"),
            "in": lambda: time_action(lambda: executor.send_variables({"array": array})),
            "out": lambda: time_action(lambda: executor("array")),
        },
        9,
    )
    return [
        Row("a million floats in", turns["in"], turns["floor"], goal=3.5),
        Row("a million floats out", turns["out"], turns["floor"], goal=3.5),
        Row("a text of 1 MB out", time_repeatedly(lambda: executor("'x' * 1_000_000"), 5)),
        Row("cleanup", time_repeatedly(ProcessExecutor([], None).cleanup, 1)),
    ]
