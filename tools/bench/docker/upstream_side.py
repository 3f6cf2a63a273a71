"""Upstream's half of the benchmark; runs in the environment that has the pristine release.

    python -m tools.bench.docker.upstream_side CALLS STARTS

Prints one JSON object. Nothing of the fork is imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from typing import Any

from ..timings import time_action, time_repeatedly
from .sides import ONE, array_times, memory

__all__ = ["IMAGE", "dockerfile"]

IMAGE = "smolagents-fork-bench-upstream"
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
    """Measure, and print the figures."""
    calls, starts = int(sys.argv[1]), int(sys.argv[2])
    with contextlib.redirect_stdout(io.StringIO()):
        figures = measured(calls, starts)
    print(json.dumps(figures))


def measured(calls: int, starts: int) -> dict[str, Any]:
    """Upstream's figures.

    Args:
        calls: of ``1+1``.
        starts: cold ones.
    """
    from smolagents import FinalAnswerTool

    figures: dict[str, Any] = {"cold": [], "cleanup": [], "failed_starts": 0}
    for _ in range(starts):
        executor, started = started_executor(figures)
        figures["cold"].append(time.perf_counter() - started)
        figures["cleanup"].append(time_action(executor.cleanup))
    executor, _ = started_executor(figures)
    try:
        figures["memory"] = memory(executor.client, executor.container.id)
        figures["calls"] = time_repeatedly(lambda: executor(ONE), calls)
        large_calls = max(5, calls // 10)
        figures["megabyte"] = time_repeatedly(lambda: executor("'x' * 1_000_000"), large_calls)
        executor.send_tools({"final_answer": FinalAnswerTool()})
        try:
            figures["array"] = array_times(executor, 3)
        except Exception as error:
            # Its array travels as text, and its gateway's limit is 10 MiB a message.
            figures["array"], figures["array_error"] = [], f"{type(error).__name__}: {error}"
    finally:
        executor.cleanup()
    return figures


def executor() -> Any:
    """One of upstream's, on the image that is there."""
    from smolagents.monitoring import AgentLogger, LogLevel
    from smolagents.remote_executors import DockerExecutor

    logger = AgentLogger(LogLevel.OFF)
    return DockerExecutor([], logger=logger, image_name=IMAGE, build_new_image=False, port=18888)


def started_executor(found: dict[str, Any]) -> tuple[Any, float]:
    """Return an executor that has given its first result, and when its start began.

    Upstream gives its gateway ten seconds and goes on without it; on a busy machine a start then
    fails. Those are counted and left out of the times.
    """
    while True:
        started = time.perf_counter()
        try:
            docker_executor = executor()
            docker_executor(ONE)
            return docker_executor, started
        except RuntimeError:
            found["failed_starts"] += 1
            if found["failed_starts"] > 10:
                raise


if __name__ == "__main__":
    main()
