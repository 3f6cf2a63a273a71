"""The places between two steps of a rebase at which a test can have the process killed.

Each stands where something has just become durable, or is just about to. That a rebase survives
being killed is a promise; a promise that nothing exercises is kept by chance.
"""

from __future__ import annotations

import os
import signal

__all__ = ["POINTS", "VARIABLE", "reached"]

# The variable that holds the point's name.
VARIABLE = "SMOLAGENTS_FORK_REBASE_KILL_AT"

POINTS = tuple(
    "planned series-committed base-committed picking picked resolved step-finished "
    "staged wheel-built tests-run decided replaced reported".split()
)


def reached(name: str) -> None:
    """End the process with SIGKILL if the environment asks for it at this point.

    Args:
        name: one of :data:`POINTS`.
    """
    if name not in POINTS:
        raise ValueError(f"{name!r} is no known point")
    if os.environ.get(VARIABLE) == name:
        os.kill(os.getpid(), signal.SIGKILL)
