"""Run benchmarks: ``python -m tools.bench [NAME ...] [--record] [--repeat 20]``.

Without names: every one, each in a process of its own and on an idle machine where that comes. A
benchmark is a folder here with a module ``bench``, whose ``measure(repeat)`` returns the figures.
``--record`` writes docs/benchmarks.md, and the rows of times in docs/executors/index.md.

The exit status is 0 when every goal was reached, 1 when one was missed, and 2 when there was
nothing to compare.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from smolagents_fork.errors import ForkError

from .. import contract_table
from ..errors import ToolError
from .runner import collect_metadata, record, say

__all__ = ["benchmarks", "main"]

#: For one benchmark, whose own waits have shorter deadlines.
_LONGEST_SECONDS = 7200
#: Longest wait for an idle machine before each of several benchmarks.
_IDLE_SECONDS = 180.0


def benchmarks() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/bench.py"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the command line names; return the exit status.

    Args:
        argv: arguments; ``None``: the process's.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(benchmarks())}")
    parser.add_argument("--record", action="store_true", help="write the pages, too")
    parser.add_argument("--repeat", type=int, default=20, help="repetitions of a measure")
    options = parser.parse_args(argv)
    names = options.names or benchmarks()
    if unknown := sorted(set(names) - set(benchmarks())):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(benchmarks())}")
    if len(names) == 1:
        return _run(names[0], options)
    flags = [f"--repeat={options.repeat}", *(["--record"] if options.record else [])]
    return max(_run_apart(name, flags) for name in names)


def _run(name: str, options: argparse.Namespace) -> int:
    metadata = collect_metadata()
    try:
        measured = importlib.import_module(f"tools.bench.{name}.bench").measure(options.repeat)
    except (ForkError, ToolError) as error:
        say(f"{name} did not run: {error}")
        return 2
    reached = record(name, metadata, measured, options.record)
    if options.record:
        contract_table.write_times()
    return 0 if reached else 1


def _run_apart(name: str, flags: Sequence[str]) -> int:
    end = time.monotonic() + _IDLE_SECONDS
    while "BUSY" in _load() and time.monotonic() < end:
        time.sleep(1)
    command = [sys.executable, "-m", "tools.bench", name, *flags]
    return subprocess.run(command, check=False, timeout=_LONGEST_SECONDS).returncode


def _load() -> str:
    from .runner import machine_text

    return machine_text(collect_metadata())


if __name__ == "__main__":
    sys.exit(main())
