"""Upstream's half of the benchmark; runs in the environment that has the pristine release.

    python upstream_side.py CALLS STARTS

Prints one JSON object. Stands alone: nothing of the fork is importable there.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

# numpy for the array; upstream's final_answer imports PIL wherever numpy is.
NEEDED = "jupyter_kernel_gateway jupyter_client ipykernel numpy pillow"


def dockerfile(base: str) -> str:
    """Upstream's own recipe on the benchmark's base image, with what the array needs."""
    return f"""\
FROM {base}
COPY ca.pem /ca.pem
RUN if [ -s /ca.pem ]; then export PIP_CERT=/ca.pem; fi \\
    && python3 -m venv /opt/venv && /opt/venv/bin/pip install --no-cache-dir {NEEDED}
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin
EXPOSE 8888
CMD ["jupyter", "kernelgateway", "--KernelGatewayApp.ip=0.0.0.0", "--KernelGatewayApp.port=8888"]
"""


def main() -> None:
    calls, starts = int(sys.argv[1]), int(sys.argv[2])
    from smolagents import FinalAnswerTool
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import DockerExecutor

    image = "smolagents-fork-bench-upstream"
    logger = AgentLogger(LogLevel.OFF)

    def executor(port: int = 18888) -> Any:
        return DockerExecutor([], logger, image_name=image, build_new_image=False, port=port)

    found: dict[str, Any] = {"cold": [], "cleanup": [], "failed_starts": 0}
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(starts):
            made, started = started_executor(executor, found)
            found["cold"].append(time.perf_counter() - started)
            started = time.perf_counter()
            made.cleanup()
            found["cleanup"].append(time.perf_counter() - started)
        made, _ = started_executor(executor, found)
        try:
            found["calls"] = timed(lambda: made("1+1"), calls)
            found["megabyte"] = timed(lambda: made("'x' * 1_000_000"), max(5, calls // 10))
            found["memory_bytes"] = memory(made.container.id)
            try:
                found["array"] = array_times(made, FinalAnswerTool)
            except Exception as error:
                # Its array travels as text of 20 MB, and its gateway's limit is 10 MiB a message.
                found["array"], found["array_error"] = [], f"{type(error).__name__}: {error}"
        finally:
            made.cleanup()
        found["throughput"] = throughput(executor, found)
    print(json.dumps(found))


def started_executor(make: Any, found: dict[str, Any]) -> tuple[Any, float]:
    """An executor that has given its first result, and when its start began.

    Upstream gives its gateway ten seconds and goes on without it; on a busy machine a start then
    fails. Those are counted and left out of the times.
    """
    while True:
        started = time.perf_counter()
        try:
            made = make()
            made("1+1")
            return made, started
        except RuntimeError:
            found["failed_starts"] += 1
            if found["failed_starts"] > 20:
                raise


def throughput(
    make: Callable[[int], Any], found: dict[str, Any], executors: int = 8, seconds: float = 5.0
) -> float:
    """Calls a second of several executors at once, each with a port of its own."""
    made: list[Any] = []
    counts = [0] * executors
    try:
        for number in range(executors):
            made.append(started_executor(functools.partial(make, 18890 + number), found)[0])
        end = time.perf_counter() + seconds

        def work(number: int) -> None:
            while time.perf_counter() < end:
                made[number]("1+1")
                counts[number] += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(executors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        for each in made:
            each.cleanup()
    return sum(counts) / seconds


def timed(action: Any, count: int) -> list[float]:
    times = []
    for _ in range(count):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return times


def array_times(executor: Any, final_answer: Any) -> list[float]:
    """Seconds for a million floats in and out again."""
    import numpy as np

    array = np.random.default_rng(1).random(1_000_000)
    executor.send_tools({"final_answer": final_answer()})

    def both_ways() -> None:
        executor.send_variables({"array": array})
        back = executor("final_answer(array)").output
        assert len(back) == 1_000_000

    return timed(both_ways, 3)


def memory(container: str) -> int:
    """Bytes the container uses, page cache left out, as the engine reports them."""
    command = ["docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", container]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    number = float(text.rstrip("BKMGi"))
    return int(number * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-3:-2], 1))


if __name__ == "__main__":
    main()
