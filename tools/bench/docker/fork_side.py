"""The fork's half of the benchmark, which takes turns with the floor."""

from __future__ import annotations

import time
from typing import Any

from smolagents_fork.executors.docker import DockerExecutor, DockerPool

from ..timings import alternated, repeated, timed
from .floor import answering_run, crossings, driven_kernel, kernel_memory, socket_copies
from .sides import AT_ONCE, FLOATS, ONE, array_times, load, memory

__all__ = ["IMPORTS", "run_fork"]

IMPORTS = ["numpy"]
ARRAYS = 11


def run_fork(
    client: Any, image: str, calls: int, starts: int, tool_calls: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the floor's figures and the fork's.

    Args:
        client: docker-py's.
        image: the fork's, with numpy.
        calls: of ``1+1``.
        starts: cold ones.
        tool_calls: through the bridge, in one program.
    """
    floor: dict[str, Any] = {"memory": kernel_memory(client, image)}
    found: dict[str, Any] = {"cleanup": []}
    turns = alternated(
        {
            "floor": lambda: answering_run(client, image),
            "fork": lambda: cold_start(found["cleanup"]),
        },
        starts,
    )
    floor["cold"], found["cold"] = turns["floor"], turns["fork"]
    with DockerExecutor(IMPORTS) as executor:
        executor(ONE)
        container = executor.container.id
        found["memory"] = memory(client, container)
        with driven_kernel(client, container) as kernel:
            turns = alternated(
                {"floor": lambda: kernel.ask("call"), "fork": lambda: timed(lambda: executor(ONE))},
                calls,
            )
            floor["calls"], found["calls"] = turns["floor"], turns["fork"]
            with crossings(client, container) as echo:
                crossing = repeated(lambda: echo.ask("1"), calls)
            floor["crossing"] = crossing
            floor |= {
                "input_once": [kernel.ask("input 1") for _ in range(20)],
                "input_many": kernel.ask(f"input {tool_calls}"),
            }
        found |= tool_times(executor, tool_calls)
        megabyte = max(5, calls // 10)
        found["megabyte"] = repeated(lambda: executor("'x' * 1_000_000"), megabyte)
        floor["array"] = socket_copies(8 * FLOATS, ARRAYS)
        found["array"] = arrays(executor)
    found["pool"] = pool_times(starts)
    found["load"] = loaded()
    return floor, found


def cold_start(cleanups: list[float]) -> float:
    """Seconds from nothing to the first result; those of the cleanup are added to a list."""
    started = time.perf_counter()
    executor = DockerExecutor(IMPORTS)
    executor(ONE)
    seconds = time.perf_counter() - started
    cleanups.append(timed(executor.cleanup))
    time.sleep(0.5)  # the removal goes on behind it, and is not to be measured with the next
    return seconds


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


def arrays(executor: DockerExecutor) -> list[float]:
    """Seconds for 20 MB of floats in and out again."""
    from smolagents import FinalAnswerTool

    executor.send_tools({"final_answer": FinalAnswerTool()})
    return array_times(executor, ARRAYS)


def pool_times(count: int) -> list[float]:
    """Seconds from a filled pool to the first result."""
    times = []
    with DockerPool(min_size=1, max_size=2, additional_imports=IMPORTS) as pool:
        for _ in range(count):
            pool.wait_until_ready(1, timeout=120)
            time.sleep(0.5)
            started = time.perf_counter()
            executor = DockerExecutor(pool=pool)
            executor(ONE)
            times.append(time.perf_counter() - started)
            executor.cleanup()
    return times


def loaded() -> dict[str, Any]:
    """Measure calls of several executors at once."""
    made: list[DockerExecutor] = []
    try:
        for _ in range(AT_ONCE):
            made.append(DockerExecutor(IMPORTS))
            made[-1](ONE)
        return load(made)
    finally:
        for executor in made:
            executor.cleanup()
