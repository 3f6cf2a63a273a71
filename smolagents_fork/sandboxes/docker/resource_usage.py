"""The engine's statistics of a container as the fork's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...results import ExecutorStats

__all__ = ["usage"]


def usage(raw: Mapping[str, Any], *, limited: bool) -> ExecutorStats:
    """Return a container's resource use without the files that the kernel keeps in memory.

    Args:
        raw: the engine's answer.
        limited: whether the container has a limit of memory; the engine names one in any case.
    """
    memory = raw.get("memory_stats", {})
    details = memory.get("stats", {})
    cache = details.get("total_inactive_file", details.get("inactive_file", 0))
    limit = memory.get("limit")
    return ExecutorStats(
        memory_bytes=max(0, memory.get("usage", 0) - cache),
        memory_limit_bytes=limit if limited else None,
        cpu_seconds=raw.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage", 0) / 1e9,
        pids=raw.get("pids_stats", {}).get("current"),
    )
