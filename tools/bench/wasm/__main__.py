"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.wasm [--calls 300] [--starts 10] [--record]

The executor and Pyodide in a bare Deno take turns, start by start and call by call, so both see the
same machine; figures of different runs are not compared with one another.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from smolagents_fork.executors.wasm import WasmExecutor, WasmPool
from smolagents_fork.wasm.deno_binary import find_deno
from smolagents_fork.wasm.pyodide_files import cache_folder, pyodide_files

from ..companion import Companion, local_companion
from ..comparison import Goal, Row
from ..runner import Benchmark, Measured
from ..timings import alternated, median, percentile, repeated, timed

#: From the executor's specification, in seconds.
GOALS = {
    "start to first result, in a new process of the host's": Goal(3.0, of=""),
    "call of 1+1": Goal(0.002, of=""),
}
_FLOOR = Path(__file__).with_name("floor.mjs")
_COLD = (
    "import time; begun = time.perf_counter()\n"
    "from smolagents_fork import WasmExecutor\n"
    "executor = WasmExecutor(); executor('1+1')\n"
    "print(time.perf_counter() - begun); executor.cleanup()"
)
_MANY = 1000


def measured(options: argparse.Namespace) -> Measured:
    """Return the figures of all rows."""
    WasmExecutor.setup()
    rows = [*starts(options.starts), *pooled(options.starts), *calls(options.calls)]
    return Measured(rows, about=f"medians of {options.calls} calls and {options.starts} starts")


def starts(count: int) -> list[Row]:
    """Rows about starts and their cleanup."""
    cleanups: list[float] = []

    def warm() -> float:
        executor = WasmExecutor()
        seconds = timed(lambda: restarted(executor))
        cleanups.append(timed(executor.cleanup))
        return seconds

    found = alternated({"floor": bare_start, "cold": cold_start, "warm": warm}, count)
    bare = median(found["floor"])
    return [
        Row(
            "start to first result, in a new process of the host's",
            median(found["cold"]), "s", bare,
        ),
        Row("start to first result, another one", median(found["warm"]), "s", bare),
        Row("cleanup", median(cleanups)),
    ]  # fmt: skip


def calls(count: int) -> list[Row]:
    """Rows about calls."""
    with WasmExecutor() as executor, bare_pyodide() as bare:
        found = alternated(
            {"floor": lambda: bare.ask() / 1000, "call": lambda: timed(lambda: executor("1+1"))},
            count,
        )
        executor.send_tools({"same": lambda value: value})
        tools = timed(lambda: executor(f"for i in range({_MANY}): same(i)")) / _MANY
        lines = timed(lambda: executor(f"for i in range({_MANY}): print(i)")) / _MANY
        text = median(repeated(lambda: executor("'x' * 1_000_000"), 5))
    floor = found["floor"]
    return [
        Row("call of 1+1", median(found["call"]), "s", median(floor)),
        Row("call of 1+1, p95", percentile(found["call"], 0.95), "s", percentile(floor, 0.95)),
        Row("call of a tool", tools),
        Row("a line of output", lines),
        Row("a text of 1 MB out", text),
    ]


def restarted(executor: WasmExecutor) -> None:
    """Start another guest, and get its first result."""
    executor.restart()
    executor("1+1")


def pooled(count: int) -> list[Row]:
    """Rows about a pool: time from a filled one to the first result, memory of a waiting guest."""
    times, memory = [], []
    with WasmPool(min_size=1, max_size=2) as pool:
        for _ in range(count):
            pool.wait_until_ready(timeout=120)
            guest = pool.acquire()
            memory.append(private_bytes(guest.pid))
            guest.close()
            pool.release(guest)
            pool.wait_until_ready(timeout=120)
            times.append(timed(lambda: one_call(pool)))
    return [
        Row("pool to first result", median(times)),
        Row("memory of a guest that waits in a pool", median(memory), "MiB"),
    ]


def one_call(pool: WasmPool) -> None:
    """Take a guest of a pool and get its first result."""
    with WasmExecutor(pool=pool) as executor:
        executor("1+1")


def private_bytes(pid: int) -> int:
    """Memory that only this process has."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def cold_start() -> float:
    """Seconds from nothing to the first result, the import of the package included."""
    done = subprocess.run(
        [sys.executable, "-c", _COLD], stdout=subprocess.PIPE, text=True, timeout=300, check=True
    )
    return float(done.stdout)


def bare_start() -> float:
    """Seconds until Pyodide in a bare Deno has run its first program."""

    def start() -> None:
        made.append(stack.enter_context(bare_pyodide()))

    made: list[Companion] = []
    with contextlib.ExitStack() as stack:
        seconds = timed(start)
        made[0].ask()
    return seconds


@contextlib.contextmanager
def bare_pyodide() -> Iterator[Companion]:
    """Pyodide in a bare Deno, which answers with the milliseconds of ``1 + 1``."""
    deno = find_deno()
    folder = pyodide_files(cache_folder(), deno, 600, print)
    with tempfile.TemporaryDirectory() as scratch:
        # With its code cache, as anyone's Deno has one.
        command = [deno, "run", "--no-prompt", "--no-config", f"--allow-read={folder}"]
        arguments = [str(_FLOOR), str(folder)]
        with local_companion([*command, *arguments], {"DENO_DIR": scratch}) as companion:
            yield companion


BENCHMARK = Benchmark(
    "wasm",
    __doc__,
    GOALS,
    measured,
    {"calls": (300, "calls of 1+1"), "starts": (10, "starts of each kind")},
)

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.run())
