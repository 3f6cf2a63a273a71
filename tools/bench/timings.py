"""Timing for all benchmarks, upstream's halves included: standard library only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

__all__ = ["alternated", "at_once", "repeated", "timed"]


def timed(action: Callable[[], object]) -> float:
    """Seconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def repeated(action: Callable[[], object], count: int) -> list[float]:
    """Seconds of each of ``count`` runs."""
    return [timed(action) for _ in range(count)]


def alternated(actions: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each action by name; they take turns, so that all see the same machine.

    Args:
        actions: each returns its seconds: it may measure elsewhere, as in a container.
        rounds: of all of them.
    """
    found: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            found[name].append(action())
    return found


def at_once(calls: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """Seconds of each call, made again and again in a thread of its own for each of ``calls``.

    Args:
        calls: one for each thread.
        seconds: time after which no call begins but the first of each.

    Raises:
        Exception: the first one that a call has raised.
    """
    times: list[list[float]] = [[] for _ in calls]
    errors: list[Exception] = []
    end = time.perf_counter() + seconds

    def work(number: int) -> None:
        try:
            while not times[number] or time.perf_counter() < end:
                times[number].append(timed(calls[number]))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [one for each in times for one in each]
