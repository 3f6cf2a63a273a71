"""``DockerExecutor`` beside upstream's own, and beside the bare parts that it is made of.

All sides run in one go, on the same base image. Upstream's environment is made from the lock.
"""

from __future__ import annotations

import collections
import contextlib
import io
import json
import os
import statistics
import tarfile
import time
from pathlib import Path
from typing import Any

import docker
from smolagents import FinalAnswerTool

from smolagents_fork.executors.docker import DockerExecutor, DockerPool
from smolagents_fork.sandboxes.docker.images.image_plans import (
    BASE_IMAGE_VARIABLE,
    DEFAULT_BASE_IMAGE,
)

from ...command import run
from ...errors import CommandError, ToolError, last_lines
from ...paths import ROOT
from ..pristine import pristine_python
from ..runner import Measured, say
from ..table import Row, percentile
from ..timings import time_action, time_repeatedly, time_turns
from . import upstream_side
from .floor import answering_run, driver, echo, kernel_memory, socket_copies, start_kernel
from .sides import FLOATS, ONE, array_times, memory

__all__ = ["measure"]

IMPORTS = ["numpy"]
TOOL_CALLS = 10_000
#: Seconds upstream's half may take: it has no deadlines of its own.
_UPSTREAM_SECONDS = 600.0
# What .ci/run makes on a machine that reaches no registry.
_LOCAL_BASE = "smolagents-fork-base:bookworm"


def measure(repeat: int) -> Measured:
    """Return the figures of all sides.

    Args:
        repeat: cold starts are a quarter of it, calls ten times as many.

    Raises:
        ForkError: no engine, no image.
        ToolError: no upstream to compare with.
    """
    starts, calls = max(2, repeat // 4), 10 * repeat
    client = docker.from_env()
    try:
        base = _base_image(client)
        python = pristine_python(["docker"], ["numpy"])
        say("building both images, where they are missing")
        _build_upstream_image(client, base)
        image = DockerExecutor.setup(IMPORTS, progress=lambda _line: None)
        say("upstream's half")
        _remove_upstream_containers(client)  # of a run that was killed: they have the ports
        try:
            upstream = _run_upstream(python, calls, starts)
        finally:
            _remove_upstream_containers(client)
        say("the floor's and the fork's")
        rows = [
            *_start_rows(client, image, starts, upstream),
            *_call_rows(client, image, calls, upstream),
        ]
    finally:
        client.close()
    failed = f"Upstream's starts that failed and are not counted: {upstream['failed_starts']}."
    return Measured(rows, f"base image `{base}`; medians", [failed])


def _base_image(client: Any) -> str:
    """Return the base's name; the environment is set so that the fork's images are built on it."""
    if not os.environ.get(BASE_IMAGE_VARIABLE):
        with contextlib.suppress(docker.errors.ImageNotFound):
            client.images.get(_LOCAL_BASE)
            os.environ[BASE_IMAGE_VARIABLE] = _LOCAL_BASE
    return os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE


def _start_rows(client: Any, image: str, count: int, upstream: dict[str, Any]) -> list[Row]:
    cleanups: list[float] = []

    def cold_start() -> float:
        began = time.perf_counter()
        executor = DockerExecutor(IMPORTS)
        executor(ONE)
        seconds = time.perf_counter() - began
        cleanups.append(time_action(executor.cleanup))
        time.sleep(0.5)  # the removal goes on behind it, and is not to be measured with the next
        return seconds

    turns = time_turns({"floor": lambda: answering_run(client, image), "fork": cold_start}, count)
    return [
        Row("start to first result, cold", turns["fork"], turns["floor"], upstream["cold"],
            goal=1.5),
        # The engine's work goes on behind it, so it is a small part of a start.
        Row("cleanup, blocking", cleanups, turns["floor"], upstream["cleanup"], goal=0.1),
    ]  # fmt: skip


def _call_rows(client: Any, image: str, calls: int, upstream: dict[str, Any]) -> list[Row]:
    # Ten thousand tool calls in one program take minutes on a busy machine.
    with DockerExecutor(IMPORTS, timeout_seconds=600) as executor:
        executor(ONE)
        container = executor.container.id
        used = memory(client, container)
        start_kernel(client, container)
        with driver(container) as kernel, echo(container) as bare:
            turns = time_turns(
                {
                    "floor": lambda: kernel.ask("call"),
                    "fork": lambda: time_action(lambda: executor(ONE)),
                },
                calls,
            )
            crossing = statistics.median(time_repeatedly(lambda: bare.ask("1"), calls))
            once = [crossing + kernel.ask("input 1") for _ in range(20)]
            many = crossing + kernel.ask(f"input {TOOL_CALLS}")
        tool_once, tool_many = _tool_times(executor)
        text = time_repeatedly(lambda: executor("'x' * 1_000_000"), max(5, calls // 10))
        executor.send_tools({"final_answer": FinalAnswerTool()})
        array = array_times(executor, 11)
    return [
        Row("later call, p50", turns["fork"], turns["floor"], upstream["calls"], goal=1.4),
        Row("later call, p95", percentile(turns["fork"], 0.95), percentile(turns["floor"], 0.95),
            upstream["calls_p95"]),
        Row("pool to first result", _pool_times(max(2, calls // 40)), turns["fork"], goal=2),
        Row("tool call through the bridge, 1", tool_once, once, goal=1),
        Row("tool call through the bridge, 10,000, a call", tool_many, many, goal=1),
        Row("call that returns a 1 MB string", text, None, upstream["megabyte"]),
        Row("20 MB of floats in and out", array, socket_copies(8 * FLOATS, 11), upstream["array"],
            goal=3),
        Row("memory a container", used, kernel_memory(client, image), upstream["memory"],
            unit="byte", goal=1.2),
    ]  # fmt: skip


def _tool_times(executor: DockerExecutor) -> tuple[list[float], float]:
    """Return the seconds of a tool's call, seen from the program: one a program, many in one."""
    executor.send_tools({"add_one": lambda number: number + 1})
    timer = "import time\nt = time.perf_counter()\n"
    single_call = f"{timer}add_one(1)\ntime.perf_counter() - t"
    many = f"{timer}for i in range({TOOL_CALLS}): add_one(i)\ntime.perf_counter() - t"
    executor(single_call)
    return [executor(single_call).output for _ in range(20)], executor(many).output / TOOL_CALLS


def _pool_times(count: int) -> list[float]:
    """Return the seconds from a filled pool to the first result."""
    times = []
    with DockerPool(min_size=1, max_size=2, additional_imports=IMPORTS) as pool:
        for _ in range(count):
            pool.wait_until_ready(1, timeout=120)
            time.sleep(0.5)
            began = time.perf_counter()
            executor = DockerExecutor(pool=pool)
            executor(ONE)
            times.append(time.perf_counter() - began)
            executor.cleanup()
    return times


def _build_upstream_image(client: Any, base: str) -> None:
    """Build upstream's image on the same base, so that bases do not make the difference.

    Raises:
        ToolError: it could not be built.
    """
    named = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
    certificates = [Path(os.environ[name]).read_bytes() for name in named if os.environ.get(name)]
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        content = {"Dockerfile": upstream_side.dockerfile(base).encode()}
        for name, data in {**content, "ca.pem": (certificates or [b""])[0]}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    context.seek(0)
    try:
        client.images.build(fileobj=context, custom_context=True, tag=upstream_side.IMAGE, rm=True)
    except docker.errors.BuildError as error:
        raise ToolError(f"upstream's image could not be built: {error}") from None


def _remove_upstream_containers(client: Any) -> None:
    """Remove what upstream's half has left; it has no lease, and its ports are fixed."""
    for container in client.containers.list(all=True, filters={"ancestor": upstream_side.IMAGE}):
        with contextlib.suppress(docker.errors.APIError):  # it is going already
            container.remove(force=True)


def _run_upstream(python: str | Path, calls: int, starts: int) -> dict[str, Any]:
    """Return upstream's figures, from its own interpreter, or words about why there are none.

    Upstream gives its gateway ten seconds, so on a busy machine its half fails; the others' figures
    are worth having all the same.
    """
    command = [str(python), "-m", "tools.bench.docker.upstream_side", str(calls), str(starts)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    try:
        output = run(command, timeout_seconds=_UPSTREAM_SECONDS, cwd=Path("/"), env=environment)
    except CommandError as error:
        say(f"upstream's half failed: {error}")
        reason = last_lines(str(error), lines=1)
        return collections.defaultdict(lambda: "failed", failed_starts=f"all ({reason})")
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    figures["calls_p95"] = percentile(figures["calls"], 0.95)
    figures["array"] = figures["array"] or f"fails ({figures['array_error']})"
    return figures
