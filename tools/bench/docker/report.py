"""The benchmark's figures as rows of the table, and the goals."""

from __future__ import annotations

from typing import Any

from ..comparison import Goal, Row
from ..timings import median, percentile

__all__ = ["GOALS", "notes", "rows"]

#: Issue 16's table. Rows without a floor are measured against upstream, or have no goal.
GOALS = {
    "start to first result, cold": Goal(1.5),
    "pool to first result": Goal(2),
    "later call, p50": Goal(1.4),
    "p95 / p50, 8 executors at once": Goal(2),
    "calls a second, 8 executors at once": Goal(0.7, at_least=True),
    "tool call through the bridge, 1": Goal(0.0006, of=""),
    "tool call through the bridge, 10,000, a call": Goal(0.0006, of=""),
    "20 MB of floats in and out": Goal(3),
    "memory a container": Goal(1.2),
    "cleanup, blocking": Goal(0.1, of="upstream"),
}


def rows(results: dict[str, Any]) -> list[Row]:
    """Rows of one run.

    Args:
        results: as ``bench-docker.json`` holds them: ``floor``, ``upstream``, ``fork``, machine.
    """
    floor, up, own = results["floor"], results["upstream"], results["fork"]
    call = median(own["calls"])
    crossing = median(floor["crossing"])
    possible = results["machine"]["cores"] / median(floor["calls"])
    array = median(up["array"]) if up["array"] else f"fails ({up['array_error']})"
    return [
        Row("start to first result, cold", median(own["cold"]), "s", median(floor["cold"]),
            median(up["cold"])),
        Row("pool to first result", median(own["pool"]), "s", call),
        Row("later call, p50", call, "s", median(floor["calls"]), median(up["calls"])),
        Row("later call, p95", percentile(own["calls"], 0.95), "s",
            percentile(floor["calls"], 0.95), percentile(up["calls"], 0.95)),
        Row("p95 / p50, 8 executors at once", _spread(own), "", 1.0, _spread(up)),
        Row("calls a second, 8 executors at once", own["load"]["rate"], "/s", possible,
            up["load"]["rate"]),
        Row("tool call through the bridge, 1", median(own["tool_once"]), "s",
            crossing + median(floor["input_once"])),
        Row("tool call through the bridge, 10,000, a call", own["tool_many"], "s",
            crossing + floor["input_many"]),
        Row("call that returns a 1 MB string", median(own["megabyte"]), "s", None,
            median(up["megabyte"])),
        Row("20 MB of floats in and out", median(own["array"]), "s", median(floor["array"]), array),
        Row("memory a container", own["memory"], "MiB", floor["memory"], up["memory"]),
        Row("cleanup, blocking", median(own["cleanup"]), "s", None, median(up["cleanup"])),
    ]  # fmt: skip


def notes(results: dict[str, Any]) -> list[str]:
    """Lines below the table."""
    failed = results["upstream"]["failed_starts"]
    crossing = median(results["floor"]["crossing"])
    lines = [
        f"Upstream's starts that failed and are not counted: {failed}. A byte into the container "
        f"and back takes {crossing * 1000:.3f} ms."
    ]
    if results["fork"]["tool_calls"] != 10_000:
        lines.append(f"Tool calls in one program: {results['fork']['tool_calls']}, not 10,000.")
    return lines


def _spread(side: dict[str, Any]) -> float:
    times = side["load"]["times"]
    return percentile(times, 0.95) / median(times)
