"""Starts and calls, on the cluster and on this machine in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from smolagents_fork import DockerExecutor, ProcessExecutor

from ..timings import alternated, median, timed
from .bench_cluster import BenchCluster

__all__ = ["calls", "start"]

_TOOL_CALLS = 100


class OpenExecutor(Protocol):
    """Methods of every executor, upstream's local one included."""

    def __call__(self, code_action: str, /) -> Any:
        """Run code."""

    def send_tools(self, tools: dict[str, Any], /) -> None:
        """Give the code tools."""

    def cleanup(self) -> None:
        """Close it."""


def start(bench: BenchCluster, count: int) -> dict[str, Any]:
    """Seconds of starts with the first call, on both sides.

    Args:
        bench: the cluster.
        count: of starts.
    """
    lease = bench.new_lease()

    def started(here: bool) -> float:
        made: list[ProcessExecutor] = []

        def first_call() -> None:
            made.append(ProcessExecutor(["time"]) if here else bench.process(lease))
            made[0]("1+1")

        seconds = timed(first_call)
        made[0].cleanup()
        return seconds

    # Both sides have made what is made once: fork server, placer process, supervisor.
    with ProcessExecutor(["time"]), bench.process(lease):
        return alternated({"local": lambda: started(True), "ray": lambda: started(False)}, count)


def calls(bench: BenchCluster, count: int) -> dict[str, Any]:
    """Seconds of a call and of a tool call in a container, on both sides.

    Args:
        bench: the cluster.
        count: of calls.
    """
    lease = bench.new_lease()
    with DockerExecutor() as local, bench.container(lease) as ray:
        sides: dict[str, OpenExecutor] = {"local": local, "ray": ray}
        for one in sides.values():
            one.send_tools({"same": lambda value: value})
            one("same(1)")
        rounds = max(1, count // 20)
        many = f"for i in range({_TOOL_CALLS}): same(i)"
        call = alternated({name: _timed(one, "1+1") for name, one in sides.items()}, count)
        tool = alternated({name: _timed(one, many) for name, one in sides.items()}, rounds)
    found: dict[str, Any] = {"kind": "docker"}
    for name in sides:
        found[name] = {"call": median(call[name]), "tool": median(tool[name]) / _TOOL_CALLS}
    return found


def _timed(executor: OpenExecutor, code: str) -> Callable[[], float]:
    """Return a function that runs code and returns its seconds."""
    return lambda: timed(lambda: executor(code))
