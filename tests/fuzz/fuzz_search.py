"""Runs the tests of generated examples with one seed after another, for as long as is given."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

#: The tests whose examples depend on the seed.
TESTS = [
    *("-k", "hypothesis or test_fuzz or test_generated"),
    *("tests/fuzz", "tests/cases/test_generated.py"),
    *("tests/unit/codec", "tests/unit/bridge", "tests/unit/process"),
]


def run_tests(seed: int) -> int:
    """Run the tests with one seed; return the exit status."""
    print(f"seed {seed}", flush=True)
    options = ["--hypothesis-profile=search", f"--hypothesis-seed={seed}"]
    command = [sys.executable, "-m", "pytest", "-q", *options, *TESTS]
    return subprocess.call(command, env={**os.environ, "FUZZ_SEED": str(seed)})


def search(
    seconds: float,
    seed: int,
    run: Callable[[int], int] = run_tests,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Run seeds until one fails, or the next would take longer than is left.

    Args:
        seconds: limit of the whole search; the first seed runs in any case.
        seed: the first seed.
        run: runs a seed and returns its exit status.
        clock: a monotonic clock, in seconds.

    Returns:
        The exit status of the last seed.
    """
    begin = now = clock()
    longest = 0.0
    while True:
        if status := run(seed):
            return status
        before, now = now, clock()
        longest = max(longest, now - before)
        if now + longest > begin + seconds:
            return 0
        seed += 1


if __name__ == "__main__":
    sys.exit(search(float(sys.argv[1]), int(sys.argv[2])))
