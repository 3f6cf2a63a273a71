"""Advice for a container or kernel that did not start."""

from __future__ import annotations

from ...sandboxes.provisioner import Limits
from ...sandboxes.resource_limits import parse_size

__all__ = ["start_advice"]

# A start that fails below these figures may have failed because of them.
_ENOUGH_PIDS = 40
_ENOUGH_MEMORY = 150 << 20


def start_advice(limits: Limits, *, own_image: bool) -> str:
    """Return advice for the end of a failed start's message; may be empty.

    Args:
        limits: Limits of the container.
        own_image: whether the image is the user's.
    """
    advice = []
    if own_image:
        advice.append(
            "an image of your own has to start a Jupyter kernel gateway on port 8888, "
            "and needs python3"
        )
    if limits.pids_limit is not None and limits.pids_limit < _ENOUGH_PIDS:
        advice.append(
            f"pids_limit={limits.pids_limit!r} may be too low: gateway and kernel have about 20 "
            "processes and threads"
        )
    memory = parse_size(limits.memory) if limits.memory is not None else None
    if memory is not None and memory < _ENOUGH_MEMORY:
        advice.append(
            f"memory={limits.memory!r} may be too low: gateway and kernel take about 90 MB"
        )
    return "".join(f"; {text}" for text in advice)
