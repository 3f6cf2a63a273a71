"""Run the benchmark, print its table, write JSON; with ``--record`` also the page.

    python -m tools.bench.docker --upstream-python PYTHON [--calls 200] [--starts 5] [--record]

Both sides and the floor run in one go, on the same base image; figures of different runs are not
compared with one another.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from smolagents_fork.containers.engine import connect
from smolagents_fork.containers.images import BASE_IMAGE_VARIABLE, DEFAULT_BASE_IMAGE
from smolagents_fork.executors.docker import DockerExecutor
from smolagents_fork.executors.pool import DockerPool

from ..record import write_section
from . import upstream_side
from .report import table

HERE = Path(__file__).parent
IMPORTS = ["numpy"]


def main() -> int:
    """Run it; the exit code says whether every goal was reached."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.docker", description=__doc__)
    parser.add_argument(
        "--upstream-python",
        default=os.environ.get("UPSTREAM_PYTHON", sys.executable),
        help="interpreter of an environment with the pristine release (or UPSTREAM_PYTHON)",
    )
    parser.add_argument("--calls", type=int, default=200, help="calls of 1+1")
    parser.add_argument("--starts", type=int, default=5, help="cold starts")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="folder for results")
    parser.add_argument("--record", action="store_true", help="write it to docs/benchmarks.md")
    options = parser.parse_args()
    base = os.environ.get(BASE_IMAGE_VARIABLE) or DEFAULT_BASE_IMAGE

    results: dict[str, Any] = {"machine": machine(), "base_image": base}
    client = connect()
    try:
        print("building both images", file=sys.stderr)
        build_upstream_image(client, base)
        image = DockerExecutor.setup(IMPORTS, progress=lambda _line: None)
        print("bare container", file=sys.stderr)
        results["bare"] = {"cold": repeated(lambda: bare_run(client, image), options.starts)}
        print("upstream", file=sys.stderr)
        results["upstream"] = run_upstream(options)
        print("fork", file=sys.stderr)
        results["fork"] = run_fork(options)
    finally:
        client.close()
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "bench-docker.json").write_text(json.dumps(results, indent=1) + "\n")
    text, reached = table(results)
    if options.record:
        write_section("docker", text)
    print(text)
    return 0 if reached else 1


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor()
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {
        "system": platform.platform(),
        "processor": model,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
    }


def build_upstream_image(client: Any, base: str) -> None:
    """Upstream's image on the same base, so that the bases do not make the difference."""
    ca = b""
    for variable in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        if os.environ.get(variable):
            ca = Path(os.environ[variable]).read_bytes()
            break
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        content = {"Dockerfile": upstream_side.dockerfile(base).encode(), "ca.pem": ca}
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    context.seek(0)
    tag = "smolagents-fork-bench-upstream"
    for event in client.api.build(
        fileobj=context, custom_context=True, tag=tag, decode=True, rm=True
    ):
        if "error" in event:
            raise SystemExit(f"upstream's image could not be built: {event['error']}")


def run_upstream(options: argparse.Namespace) -> Any:
    """Upstream's figures, from its own interpreter."""
    command = [
        options.upstream_python,
        str(HERE / "upstream_side.py"),
        str(options.calls),
        str(options.starts),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd="/")
    if done.returncode:
        raise SystemExit(f"upstream's side failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def bare_run(client: Any, image: str) -> None:
    """The floor: a container that does one sum and ends."""
    client.containers.run(image, ["python3", "-c", "1+1"], network_mode="none", remove=True)


def repeated(action: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of ``count`` runs."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return times


def run_fork(options: argparse.Namespace) -> dict[str, Any]:
    """The fork's figures."""
    found: dict[str, Any] = {"cold": [], "cleanup": []}
    for _ in range(options.starts):
        started = time.perf_counter()
        executor = DockerExecutor(IMPORTS)
        executor("1+1")
        found["cold"].append(time.perf_counter() - started)
        found["cleanup"] += repeated(executor.cleanup, 1)
        time.sleep(0.5)  # the removal goes on behind it, and is not to be measured with the next
    with DockerExecutor(IMPORTS) as executor:
        executor("1+1")
        found["calls"] = repeated(lambda: executor("1+1"), options.calls)
        megabyte = max(5, options.calls // 10)
        found["megabyte"] = repeated(lambda: executor("'x' * 1_000_000"), megabyte)
        found["memory_bytes"] = executor.stats().memory_bytes
        found["array"] = array_times(executor)
    found["pool"] = pool_times(options.starts)
    found["throughput"] = throughput()
    return found


def array_times(executor: DockerExecutor) -> list[float]:
    """Seconds for a million floats in and out again."""
    import numpy as np
    from smolagents import FinalAnswerTool

    array = np.random.default_rng(1).random(1_000_000)
    executor.send_tools({"final_answer": FinalAnswerTool()})

    def both_ways() -> None:
        executor.send_variables({"array": array})
        back = executor("final_answer(array)").output
        assert len(back) == 1_000_000

    return repeated(both_ways, 3)


def pool_times(count: int) -> list[float]:
    """Seconds from a filled pool to the first result."""
    times = []
    with DockerPool(min_size=1, max_size=2, additional_imports=IMPORTS) as pool:
        for _ in range(count):
            pool.wait_until_ready(1, timeout=120)
            time.sleep(0.5)
            started = time.perf_counter()
            executor = DockerExecutor(pool=pool)
            executor("1+1")
            times.append(time.perf_counter() - started)
            executor.cleanup()
    return times


def throughput(executors: int = 8, seconds: float = 5.0) -> float:
    """Calls a second of several executors at once."""
    made = [DockerExecutor(IMPORTS) for _ in range(executors)]
    counts = [0] * executors
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
    for executor in made:
        executor.cleanup()
    return sum(counts) / seconds


if __name__ == "__main__":
    sys.exit(main())
