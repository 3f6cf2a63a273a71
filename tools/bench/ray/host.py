"""A host process of its own, which the benchmark kills, or whose cluster loses its head.

    python -m tools.bench.ray.host ADDRESS LEASE

Starts a process sandbox and a container, prints ``begun`` from a running call, and ends that call.
On the next line of its input it starts another sandbox and prints its error as JSON; on the one
after that it prints ``alive``.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from smolagents_fork import DockerExecutor, ProcessExecutor, RayEngine
from smolagents_fork.errors import ForkError

__all__ = ["main"]

_SECONDS = 240.0


def main() -> None:
    """Follow the lines of the input."""
    address, lease = sys.argv[1], float(sys.argv[2])

    def process(lease: float) -> ProcessExecutor:
        engine = RayEngine(address, "process", slots_per_node=2, lease_seconds=lease,
                           cpus_per_slot=0.02, memory_per_slot="4m")  # fmt: skip
        return ProcessExecutor(
            ["time"],
            engine=engine,
            startup_timeout_seconds=_SECONDS,
            timeout_seconds=2 * _SECONDS,
        )

    containers = RayEngine(
        address, slots_per_node=2, lease_seconds=lease, cpus_per_slot=0.02, memory_per_slot="4m"
    )
    container = DockerExecutor(engine=containers, startup_timeout_seconds=_SECONDS)
    container("1")
    executor = process(lease)
    executor.send_tools({"begin": lambda: print("begun", flush=True)})
    code = f"import time\nbegin()\ntime.sleep({_SECONDS})"
    threading.Thread(target=_run, args=(executor, code), daemon=True).start()
    sys.stdin.readline()
    began, error = time.perf_counter(), ""
    try:
        process(lease + 1)("1")
    except ForkError as caught:
        error = str(caught)
    print(json.dumps({"seconds": time.perf_counter() - began, "error": error}), flush=True)
    sys.stdin.readline()
    print("alive", flush=True)


def _run(executor: ProcessExecutor, code: str) -> None:
    try:
        executor(code)
    except ForkError as error:
        print(f"the running call: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
