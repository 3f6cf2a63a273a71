"""``WasmExecutor`` beside Pyodide in a bare Deno, in turns, start by start and call by call."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from smolagents_fork.executors.wasm import WasmExecutor, WasmPool
from smolagents_fork.wasm.deno_binary import find_deno
from smolagents_fork.wasm.pyodide_files import cache_folder, pyodide_files

from ..companion import Companion
from ..runner import Measured
from ..table import Row, percentile
from ..timings import alternated, repeated, timed

__all__ = ["measure"]

_FLOOR = Path(__file__).with_name("floor.mjs")
_MANY = 1000


def measure(repeat: int) -> Measured:
    """Return the figures of all sides.

    Args:
        repeat: starts are half of it, calls 15 times as many.
    """
    WasmExecutor.setup()
    starts = max(2, repeat // 2)
    return Measured([*_start_rows(starts), *_call_rows(15 * repeat)], "medians")


def _start_rows(count: int) -> list[Row]:
    cleanups: list[float] = []

    def start() -> float:
        began = time.perf_counter()
        executor = WasmExecutor()
        executor("1+1")
        seconds = time.perf_counter() - began
        cleanups.append(timed(executor.cleanup))
        return seconds

    start()  # the first one loads what later ones share
    turns = alternated({"floor": _bare_start, "now": start}, count)
    with WasmPool(min_size=1, max_size=2) as pool:
        pooled = [_pooled_call(pool) for _ in range(count)]
    return [
        Row("start to first result, another one", turns["now"], turns["floor"], goal=1),
        Row("pool to first result", pooled, turns["floor"], goal=0.2),
        Row("cleanup", cleanups),
    ]


def _pooled_call(pool: WasmPool) -> float:
    """Return the seconds from a filled pool to the first result."""
    pool.wait_until_ready(timeout=120)
    began = time.perf_counter()
    with WasmExecutor(pool=pool) as executor:
        executor("1+1")
        return time.perf_counter() - began


def _call_rows(count: int) -> list[Row]:
    with WasmExecutor() as executor, _bare_pyodide() as bare:
        turns = alternated(
            {"floor": lambda: bare.ask() / 1000, "now": lambda: timed(lambda: executor("1+1"))},
            count,
        )
        executor.send_tools({"same": lambda value: value})
        tools = timed(lambda: executor(f"for i in range({_MANY}): same(i)")) / _MANY
        lines = timed(lambda: executor(f"for i in range({_MANY}): print(i)")) / _MANY
        text = repeated(lambda: executor("'x' * 1_000_000"), 5)
    floor = turns["floor"]
    return [
        Row("call of 1+1", turns["now"], floor, goal=2.5),
        Row("call of 1+1, p95", percentile(turns["now"], 0.95), percentile(floor, 0.95)),
        Row("call of a tool", tools, floor, goal=2),
        Row("a line of output", lines),
        Row("a text of 1 MB out", text),
    ]


def _bare_start() -> float:
    """Return the seconds until Pyodide in a bare Deno has run its first program."""
    began = time.perf_counter()
    with _bare_pyodide() as bare:
        bare.ask()
        return time.perf_counter() - began


@contextlib.contextmanager
def _bare_pyodide() -> Iterator[Companion]:
    """Yield Pyodide in a bare Deno, which answers with the milliseconds of ``1 + 1``."""
    deno = find_deno()
    folder = pyodide_files(cache_folder(), deno, 600, print)
    with tempfile.TemporaryDirectory() as scratch:
        # With its code cache, as anyone's Deno has one.
        command = [deno, "run", "--no-prompt", "--no-config", f"--allow-read={folder}"]
        with Companion([*command, _FLOOR, folder], {"DENO_DIR": scratch}) as companion:
            yield companion
