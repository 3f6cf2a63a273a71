"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.wasm [--calls 300] [--starts 10] [--record]

The executor and Pyodide in a bare Deno take turns, start by start and call by call, so both see the
same machine; figures of different runs are not compared with one another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from smolagents_fork.executors.wasm import WasmExecutor
from smolagents_fork.wasm.deno_binary import find_deno
from smolagents_fork.wasm.pyodide_files import cache_folder, pyodide_files

from ..machine import busy_words, machine, machine_words
from ..record import write_section

# Measure -> most milliseconds, from the executor's specification.
GOALS = {"start to first result, in a new process of the host's": 3000.0, "call of 1+1": 2.0}
_FLOOR = Path(__file__).with_name("floor.mjs")
_COLD = (
    "import time; begun = time.perf_counter()\n"
    "from smolagents_fork import WasmExecutor\n"
    "executor = WasmExecutor(); executor('1+1')\n"
    "print((time.perf_counter() - begun) * 1000); executor.cleanup()"
)


def main() -> int:
    """Run it; the exit code says whether every goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.wasm", description=__doc__)
    parser.add_argument("--calls", type=int, default=300, help="calls of 1+1")
    parser.add_argument("--starts", type=int, default=10, help="starts of each kind")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    found = measured(options.calls, options.starts)
    options.output.mkdir(parents=True, exist_ok=True)
    results = {"machine": where, "milliseconds": found}
    (options.output / "bench-wasm.json").write_text(json.dumps(results, indent=1) + "\n")
    text, reached = table(found)
    busy = busy_words(where)
    text = f"Measured on {machine_words(where)}.{' ' + busy if busy else ''}\n\n{text}"
    if options.record:
        write_section("wasm", text)
    print(text)
    return 0 if reached else 1


def measured(calls: int, starts: int) -> dict[str, dict[str, float]]:
    """Median and 95th percentile of each measure, in milliseconds."""
    WasmExecutor.setup()
    floors, colds, warms, cleanups = [], [], [], []
    for _ in range(starts):
        begun = time.perf_counter()
        with floor() as ask:
            floors.append((time.perf_counter() - begun) * 1000)
            assert ask() >= 0
        colds.append(cold_start())
        executor = WasmExecutor()
        warms.append(timed(lambda: restarted(executor)))  # noqa: B023
        cleanups.append(timed(executor.cleanup))
    found = {
        "Pyodide in a bare Deno: start to first result": summary(floors),
        "start to first result, in a new process of the host's": summary(colds),
        "start to first result, another one": summary(warms),
    }
    with WasmExecutor() as executor, floor() as ask:
        both = [(ask(), timed(lambda: executor("1+1"))) for _ in range(calls)]
        found["Pyodide in a bare Deno: call of 1+1"] = summary([bare for bare, _ in both])
        found["call of 1+1"] = summary([ours for _, ours in both])
        executor.send_tools({"same": lambda value: value})
        many = timed(lambda: executor("for i in range(1_000): same(i)"))
        found["call of a tool"] = summary([many / 1_000])
        lines = timed(lambda: executor("for i in range(1_000): print(i)"))
        found["a line of output"] = summary([lines / 1_000])
        found["a text of 1 MB out"] = summary(
            [timed(lambda: executor("'x' * 1_000_000")) for _ in range(5)]
        )
    found["cleanup"] = summary(cleanups)
    return found


def restarted(executor: WasmExecutor) -> None:
    """Start another guest, and get its first result."""
    executor.restart()
    executor("1+1")


def cold_start() -> float:
    """Milliseconds from nothing to the first result, the import of the package included."""
    done = subprocess.run(
        [sys.executable, "-c", _COLD], stdout=subprocess.PIPE, text=True, timeout=300, check=True
    )
    return float(done.stdout)


@contextlib.contextmanager
def floor() -> Iterator[Callable[[], float]]:
    """Pyodide in a bare Deno; gives a function that runs ``1 + 1`` and returns milliseconds."""
    deno = find_deno()
    folder = pyodide_files(cache_folder(), deno, 600)
    with tempfile.TemporaryDirectory() as scratch:
        # With its code cache, as anyone's Deno has one.
        process = subprocess.Popen(
            [deno, "run", "--no-prompt", "--no-config", f"--allow-read={folder}", _FLOOR, folder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"DENO_DIR": scratch},
        )  # fmt: skip
        out, into = _stream(process.stdout), _stream(process.stdin)
        try:
            if out.readline() != b"ready\n":
                raise RuntimeError("Pyodide did not start in a bare Deno")

            def ask() -> float:
                into.write(b"\n")
                into.flush()
                return float(out.readline())

            yield ask
        finally:
            into.close()
            process.wait(60)
            out.close()


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def timed(action: Callable[[], Any]) -> float:
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
