"""Run one benchmark: ``python -m tools.bench NAME [--record] [--repeat 20]``.

A benchmark is a folder here with a module ``bench``, whose ``measure(repeat)`` returns the figures.
``--record`` writes docs/benchmarks.md, and the rows of times in docs/executors/index.md.

The exit status is 0 when every goal was reached, 1 when one was missed, and 2 when there was
nothing to compare.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from smolagents_fork.errors import ForkError

from .. import contract_table
from ..errors import ToolError
from .runner import collect_metadata, record, say

__all__ = ["benchmarks", "main"]


def benchmarks() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/bench.py"))


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the command line names; return the exit status.

    Args:
        argv: arguments; ``None``: the process's.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("name", choices=benchmarks())
    parser.add_argument("--record", action="store_true", help="write the pages, too")
    parser.add_argument("--repeat", type=int, default=20, help="repetitions of a measure")
    options = parser.parse_args(argv)
    metadata = collect_metadata()
    try:
        module = importlib.import_module(f"tools.bench.{options.name}.bench")
        measured = module.measure(options.repeat)
    except (ForkError, ToolError) as error:
        say(f"{options.name} did not run: {error}")
        return 2
    reached = record(options.name, metadata, measured, options.record)
    if options.record:
        contract_table.main()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
