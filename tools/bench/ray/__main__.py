"""Run the benchmark of the Ray engine, print its table, write JSON; with ``--record`` the page.

    python -m tools.bench.ray [--only start,calls] [--record]

A cluster with a head and three nodes is started in network namespaces of this machine, which needs
root. The floor is the same executor without a cluster, in turns in the same run; that of calls on
several nodes is one node's rate times their number.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from smolagents_fork.errors import ConfigurationError, EngineUnavailableError

from ...ray_cluster import network
from ..runner import Benchmark, Measured
from .bench_cluster import BenchCluster, using_bench_cluster
from .numbers import containers, processes, scaling
from .report import PARTS, drawn
from .speed import calls, start

__all__ = ["chosen"]

Options = argparse.Namespace
Measure = Callable[[BenchCluster, Options], Mapping[str, Any]]


#: Part -> what measures it.
MEASURES: Mapping[str, Measure] = {
    "start": lambda bench, options: start(bench, options.starts),
    "calls": lambda bench, options: calls(bench, options.calls),
    "processes": lambda bench, options: processes(bench, options.processes),
    "containers": lambda bench, options: containers(bench, options.containers),
    "scaling": lambda bench, _: scaling(bench),
}


def chosen(only: str) -> list[str]:
    """Names of the parts to measure, in their order.

    Args:
        only: their names with commas between; empty for all.

    Raises:
        ConfigurationError: there is no such part.
    """
    wanted = [name.strip() for name in only.split(",") if name.strip()] or list(PARTS)
    if unknown := sorted(set(wanted) - set(PARTS)):
        raise ConfigurationError(
            f"--only: no part {', '.join(unknown)}; there are {', '.join(PARTS)}"
        )
    return [name for name in PARTS if name in wanted]


def measured(options: Options) -> Measured:
    """Return the figures of all parts."""
    names = chosen(options.only)
    if reason := network.missing():
        raise EngineUnavailableError(f"a cluster with three nodes cannot be made: {reason}")
    found: dict[str, Mapping[str, Any]] = {}
    failed: dict[str, str] = {}
    with using_bench_cluster() as bench:
        for name in names:
            began = time.monotonic()
            try:
                figures = MEASURES[name](bench, options)
                drawn({name: figures})
                found[name], words = figures, str(figures)
            except Exception as error:
                # The other parts' figures took minutes.
                traceback.print_exc()
                words = (f"{type(error).__name__}: {error}").splitlines()[0]
                failed[name] = words
            BENCHMARK.say(f"{name}: {time.monotonic() - began:.0f} s: {words}")
    return _document(found, failed, options)


def _document(
    found: Mapping[str, Mapping[str, Any]], failed: Mapping[str, str], options: Options
) -> Measured:
    """Return the table of the parts that were measured, and why others failed."""
    table, reached = drawn(found)
    without = [name for name in PARTS if name not in found and name not in failed]
    notes = [f"FAILED, without figures: {name}: {why}" for name, why in failed.items()]
    notes += [f"Not in this run: {', '.join(without)}."] if without else []
    return Measured(
        drawn=(table, reached and not failed),
        about=f"medians of {options.starts} starts and {options.calls} calls; the three nodes "
        "share this machine",
        notes=notes,
        raw={"parts": found, "failed": failed},
    )


BENCHMARK = Benchmark(
    "ray",
    __doc__,
    {},
    measured,
    {
        "only": ("", f"parts to measure, of: {', '.join(PARTS)}; empty: all"),
        "starts": (20, "starts of a process sandbox on each side"),
        "calls": (200, "calls of 1+1 in Docker on each side"),
        "processes": (120, "process sandboxes at once"),
        "containers": (30, "containers at once"),
    },
)

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.run())
