"""Record every benchmark, one after another, each on an idle machine.

    python -m tools.bench [NAME ...] [--idle-seconds 180]

Without names: every one but those that cannot run here, which are skipped with the reason. Each
runs in a process of its own with ``--record``, after the load of the one before has gone. The table
of times in docs/executors/index.md is drawn again at the end. The exit status is the largest.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from .. import contract_table
from ..ray_cluster import network
from .machine import busy_note, machine

__all__ = ["benchmarks", "main"]

#: Name -> why it cannot run here, or nothing.
NEEDS = {"ray": network.missing}
#: For one benchmark, whose own waits have shorter deadlines.
_LONGEST_SECONDS = 7200


def benchmarks() -> list[str]:
    """Names of all benchmarks: the folders here that have a command."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/__main__.py"))


def main(argv: Sequence[str] | None = None) -> int:
    """Record what the command line names.

    Args:
        argv: arguments; ``None``: the process's.
    """
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(benchmarks())}")
    parser.add_argument(
        "--idle-seconds", type=float, default=180.0, help="wait for an idle machine at most so long"
    )
    options = parser.parse_args(argv)
    if unknown := sorted(set(options.names) - set(benchmarks())):
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(benchmarks())}")
    names = options.names or usual()
    results: dict[str, int] = {}
    for name in names:
        wait_until_idle(options.idle_seconds)
        began = time.monotonic()
        command = [sys.executable, "-m", f"tools.bench.{name}", "--record"]
        results[name] = subprocess.run(command, check=False, timeout=_LONGEST_SECONDS).returncode
        say(f"{name}: exit status {results[name]} after {time.monotonic() - began:.0f} s")
    contract_table.write_times()
    say(", ".join(f"{name}: {_words(code)}" for name, code in results.items()))
    return max(results.values())


def usual() -> list[str]:
    """Names of those that run without names; says why one of them cannot."""
    names = benchmarks()
    for name in [one for one in names if one in NEEDS]:
        if reason := NEEDS[name]():
            say(f"{name}: skipped: {reason}")
            names.remove(name)
    return names


def wait_until_idle(seconds: float) -> None:
    """Wait until the machine's load is that of an idle one, for ``seconds`` at most."""
    end = time.monotonic() + seconds
    while busy_note(machine()) and time.monotonic() < end:
        time.sleep(1)


def say(line: str) -> None:
    """Print a line about what is being done."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


def _words(code: int) -> str:
    words = {0: "every goal reached", 1: "a goal MISSED", 2: "did not run"}
    return words.get(code, f"failed ({code})")


if __name__ == "__main__":
    sys.exit(main())
