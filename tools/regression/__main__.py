"""Runs upstream's tests on upstream and on the fork. Exit: 0 no difference, 1 some, 2 no run."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tools.errors import ToolError
from tools.regression.environments import relock
from tools.regression.settings import SCRATCH
from tools.regression.suite import run


def _parser() -> argparse.ArgumentParser:
    """Every option but ``--relock`` is an argument of :func:`tools.regression.suite.run`."""
    parser = argparse.ArgumentParser(prog="python -m tools.regression", description=__doc__)
    add = parser.add_argument
    add("tests", nargs="*", help="upstream test files or ids (default: all)")
    add("--fork-wheel", type=Path, help="wheel under test (default: build one)")
    add("--release", help="upstream release (default: the locked one)")
    add("--unlocked", action="store_true", help="accept another release, unverified")
    add("--network", action="store_true", help="let tests reach the network")
    add("--run-all", action="store_true", help="run what upstream marks require_run_all")
    add("--recorded", action="store_true", help="take pristine's outcomes from the repository")
    add("--record", action="store_true", help="record pristine's outcomes in the repository")
    add("--folder", type=Path, default=SCRATCH, help="for environments, logs and JUnit files")
    add("--relock", action="store_true", help="only write constraints.txt anew, for all Pythons")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite as the command line says; returns the exit status."""
    options = vars(_parser().parse_args(arguments))
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        if options.pop("relock"):
            console.print(f"{relock()} packages pinned")
            return 0
        return run(**options, console=console).exit_status
    except ToolError as error:
        console.print(f"the suite could not run: {error}", style="bold red", markup=False)
        return 2


if __name__ == "__main__":
    # As an interrupt at the terminal: what was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    raise SystemExit(main())
