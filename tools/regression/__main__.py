"""Runs upstream's tests on upstream and on the fork. Exit: 0 no difference, 1 some, 2 no run."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tools.regression.constraints import relock
from tools.regression.errors import SuiteError
from tools.regression.settings import DEVIATIONS, REPORTS, SCRATCH
from tools.regression.suite import run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.regression", description=__doc__)
    parser.add_argument("tests", nargs="*", help="upstream test files or ids (default: all)")
    parser.add_argument("--fork-wheel", type=Path, help="wheel under test (default: build one)")
    parser.add_argument("--release", help="upstream release (default: the locked one)")
    parser.add_argument("--sdist-sha256", help="sha256 that the release's sdist must have")
    parser.add_argument(
        "--unlocked",
        action="store_true",
        help="accept a release the lock does not hold, unverified",
    )
    parser.add_argument("--network", action="store_true", help="let tests reach the network")
    parser.add_argument(
        "--run-all", action="store_true", help="run what upstream marks require_run_all"
    )
    parser.add_argument("--deviations", type=Path, default=DEVIATIONS)
    parser.add_argument("--folder", type=Path, default=SCRATCH, help="scratch folder")
    parser.add_argument("--reports", type=Path, default=REPORTS, help="folder for the reports")
    parser.add_argument(
        "--relock", action="store_true", help="only write constraints.txt anew, for all Pythons"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite as the command line says; returns the exit status."""
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        if options.relock:
            console.print(f"{relock()} packages pinned")
            return 0
        report = run(
            fork_wheel=options.fork_wheel,
            release=options.release,
            tests=options.tests,
            unlocked=options.unlocked,
            sdist_sha256=options.sdist_sha256,
            network=options.network,
            run_all=options.run_all,
            deviations=options.deviations,
            folder=options.folder,
            reports=options.reports,
            console=console,
        )
    except SuiteError as error:
        console.print(f"the suite could not run: {error}", style="bold red", markup=False)
        return 2
    return report.exit_status


if __name__ == "__main__":
    # As an interrupt at the terminal: what was started is ended on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    raise SystemExit(main())
