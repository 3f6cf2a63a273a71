"""Measures that upstream's half and the fork's take with the same code.

Imported in upstream's environment too: standard library, docker-py and numpy only.
"""

from __future__ import annotations

from typing import Any

from ..timings import time_repeatedly

__all__ = ["FLOATS", "ONE", "array_times", "memory"]

#: The call that is timed.
ONE = "1+1"
#: Floats of 8 bytes: 20 MB.
FLOATS = 2_500_000


def array_times(executor: Any, count: int) -> list[float]:
    """Return the seconds for 20 MB of floats in and out again.

    Args:
        executor: with upstream's ``final_answer`` among its tools.
        count: of runs.
    """
    import numpy

    array = numpy.random.default_rng(1).random(FLOATS)

    def both_ways() -> None:
        executor.send_variables({"array": array})
        assert len(executor("final_answer(array)").output) == FLOATS

    both_ways()  # the first one imports numpy in the sandbox
    return time_repeatedly(both_ways, count)


def memory(client: Any, container: str) -> int:
    """Return the bytes that a container uses, as the engine reports, without inactive files.

    Args:
        client: docker-py's.
        container: its id.
    """
    stats = client.api.stats(container, stream=False)["memory_stats"]
    details = stats.get("stats", {})
    return int(stats["usage"] - details.get("total_inactive_file", details.get("inactive_file", 0)))
