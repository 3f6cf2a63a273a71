"""The benchmark's figures as a table, and whether they reach the goals."""

from __future__ import annotations

import statistics
from typing import Any

from ..machine import busy_words, machine_words

__all__ = ["table"]

# What, and the largest share of upstream's figure in the same run that is good enough.
GOALS = {
    "later call, p50": 1 / 8,
    "start to first result, cold": 0.7,
    "pool to first result": 1 / 40,
    "cleanup, blocking": 1 / 10,
}
# Most seconds of the fork's own figure: upstream has nothing beside it.
TOOL_CALL_GOAL = 0.003


def table(results: dict[str, Any]) -> tuple[str, bool]:
    """Markdown, and whether every goal was reached.

    Args:
        results: of one run, as ``bench-docker.json`` holds them.
    """
    up, own, bare = results["upstream"], results["fork"], results["bare"]
    rows = [
        _row("start to first result, cold", up["cold"], own["cold"]),
        _row("pool to first result", up["cold"], own["pool"], shown_upstream="-"),
        _row("later call, p50", up["calls"], own["calls"]),
        _row("later call, p95", [_p95(up["calls"])], [_p95(own["calls"])]),
        _row("call that returns a 1 MB string", up["megabyte"], own["megabyte"]),
        _array_row(up, own),
        _row("cleanup, blocking", up["cleanup"], own["cleanup"]),
    ]
    machine = results["machine"]
    lines = [
        f"Measured {results['date'][:10]} on {machine_words(machine)}; "
        f"base image `{results['base_image']}`; upstream "
        f"{results['upstream_version']}. Medians of one run.",
        "",
    ]
    busy = busy_words(machine)
    if busy:
        lines += [busy, ""]
    lines += [
        "| what | upstream | fork | share of upstream's | goal |",
        "|---|---|---|---|---|",
    ]
    reached = True
    for what, shown, ours, share in rows:
        goal = GOALS.get(what)
        good = goal is None or (share is not None and share <= goal)
        reached = reached and good
        part = "" if share is None else f"{share:.3f}"
        mark = "" if goal is None else f"<= {goal:.3f} {_verdict(good)}"
        lines.append(f"| {what} | {shown} | {ours} | {part} | {mark} |")
    calls_a_second = own["throughput"] / up["throughput"] if up["throughput"] else None
    lines += [
        f"| memory a container | {_mib(up['memory_bytes'])} | {_mib(own['memory_bytes'])} "
        f"| {own['memory_bytes'] / up['memory_bytes']:.3f} | |",
        f"| calls a second, 8 executors at once | {up['throughput']:.0f} "
        f"| {own['throughput']:.0f} | {_number(calls_a_second)} | |",
    ]
    for what, seconds in (
        ("tool call through the bridge, 1", _median(own["tool_once"])),
        (f"tool call through the bridge, {own['tool_calls']:,}, a call", own["tool_many"]),
    ):
        good = seconds <= TOOL_CALL_GOAL
        reached = reached and good
        mark = f"<= {TOOL_CALL_GOAL * 1000:.1f} ms {_verdict(good)}"
        lines.append(f"| {what} | none | {seconds * 1000:.2f} ms | | {mark} |")
    lines += [
        "",
        f"Upstream's starts that failed and are not counted: {up['failed_starts']}.",
        "",
        f"Floor: a bare `docker run` of `python3 -c 1+1` takes {_time(_median(bare['cold']))}.",
    ]
    return "\n".join(lines) + "\n", reached


def _verdict(good: bool) -> str:
    return "reached" if good else "MISSED"


def _number(share: float | None) -> str:
    return "" if share is None else f"{share:.1f}"


def _array_row(up: dict[str, Any], own: dict[str, Any]) -> tuple[str, str, str, float | None]:
    what = "1,000,000 floats in and out"
    if up["array"]:
        return _row(what, up["array"], own["array"])
    return what, f"fails ({up['array_error']})", _time(_median(own["array"])), None


def _row(
    what: str, upstream: list[float], fork: list[float], shown_upstream: str | None = None
) -> tuple[str, str, str, float | None]:
    theirs, ours = _median(upstream), _median(fork)
    return what, shown_upstream or _time(theirs), _time(ours), ours / theirs


def _median(values: list[float]) -> float:
    return statistics.median(values)


def _p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.5 else f"{seconds * 1000:.1f} ms"


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"
