"""The fork's half of the benchmark, and the floor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from smolagents_fork.executors.docker import DockerExecutor, DockerPool

__all__ = ["IMPORTS", "bare_run", "repeated", "run_fork"]

IMPORTS = ["numpy"]


def repeated(action: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of ``count`` runs."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return times


def bare_run(client: Any, image: str) -> None:
    """The floor: a container that does one sum and ends."""
    client.containers.run(image, ["python3", "-c", "1+1"], network_mode="none", remove=True)


def run_fork(calls: int, starts: int, tool_calls: int) -> dict[str, Any]:
    """The fork's figures.

    Args:
        calls: of ``1+1``.
        starts: cold ones.
        tool_calls: through the bridge, in one program.
    """
    found: dict[str, Any] = {"cold": [], "cleanup": []}
    for _ in range(starts):
        started = time.perf_counter()
        executor = DockerExecutor(IMPORTS)
        executor("1+1")
        found["cold"].append(time.perf_counter() - started)
        found["cleanup"] += repeated(executor.cleanup, 1)
        time.sleep(0.5)  # the removal goes on behind it, and is not to be measured with the next
    with DockerExecutor(IMPORTS) as executor:
        executor("1+1")
        found["calls"] = repeated(lambda: executor("1+1"), calls)
        megabyte = max(5, calls // 10)
        found["megabyte"] = repeated(lambda: executor("'x' * 1_000_000"), megabyte)
        found["memory_bytes"] = executor.stats().memory_bytes
        found["array"] = array_times(executor)
        found |= tool_times(executor, tool_calls)
    found["pool"] = pool_times(starts)
    found["throughput"] = throughput()
    return found


def tool_times(executor: DockerExecutor, count: int) -> dict[str, Any]:
    """Seconds of a tool's call, seen from the program: one a program, and ``count`` in one."""
    executor.send_tools({"add_one": lambda number: number + 1})
    one = "import time\nt = time.perf_counter()\nadd_one(1)\ntime.perf_counter() - t"
    many = (
        "import time\nt = time.perf_counter()\nn = 0\n"
        f"for _ in range({count}): n = add_one(n)\n(n, time.perf_counter() - t)"
    )
    executor(one)
    single = [executor(one).output for _ in range(20)]
    total, seconds = executor(many).output
    assert total == count
    return {"tool_once": single, "tool_many": seconds / count, "tool_calls": count}


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
    try:
        for executor in made:
            executor("1+1")
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
    finally:
        for executor in made:
            executor.cleanup()
    return sum(counts) / seconds
