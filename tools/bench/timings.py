"""Timing for all benchmarks, upstream's halves included: standard library only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

__all__ = ["time_action", "time_repeatedly", "time_turns"]


def time_action(action: Callable[[], object]) -> float:
    """Seconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def time_repeatedly(action: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of ``count`` runs."""
    return [time_action(action) for _ in range(count)]


def time_turns(actions: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each action by name; they take turns, so that all see the same machine.

    Args:
        actions: each returns its seconds: it may measure elsewhere, as in a container.
        rounds: of all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            seconds[name].append(action())
    return seconds
