"""Fields of the engine's answers: its lists, whose types no engine guarantees, and statistics."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from ...results import ExecutorStats

__all__ = [
    "container_name",
    "container_names",
    "created_at",
    "entry_id",
    "labels_of",
    "usage",
]

# Parts of addresses of the engine's API: nothing else may be in them.
_IS_ID = re.compile(r"(sha256:)?[0-9a-f]{12,64}")
_IS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")


def entry_id(entry: Mapping[str, Any]) -> str:
    """Return the id of a container or image.

    Raises:
        ValueError: it has none, so nothing can be done with it.

    Example:
        >>> entry_id({"Id": "0123456789ab"})
        '0123456789ab'
    """
    number = entry.get("Id")
    if not isinstance(number, str) or _IS_ID.fullmatch(number) is None:
        raise ValueError("it has no id")
    return number


def container_names(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of a container; none for one without, as a dead one may be.

    A name that others have for it, in a link, is not one of them.

    Example:
        >>> container_names({"Names": ["/web/database", "/database"]})
        ('database',)
    """
    names = entry.get("Names")
    texts = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return tuple(
        name.removeprefix("/") for name in texts if _IS_NAME.fullmatch(name.removeprefix("/"))
    )


def container_name(entry: Mapping[str, Any]) -> str:
    """Return the name of a container; the short id of one without a name."""
    return next(iter(container_names(entry)), "") or entry_id(entry)[:12]


def labels_of(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the labels of a container, image or volume; none if the engine names none."""
    labels = entry.get("Labels")
    return labels if isinstance(labels, Mapping) else {}


def created_at(entry: Mapping[str, Any]) -> float:
    """Return when a container or image was made, in seconds of the epoch; now if unknown."""
    created, now = entry.get("Created"), time.time()
    # An engine that does not know it sends a date before 1970.
    return float(created) if isinstance(created, (int, float)) and 0 < created < now else now


def usage(raw: Mapping[str, Any], *, limited: bool) -> ExecutorStats:
    """Return a container's resource use without the files that the kernel keeps in memory.

    Args:
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
