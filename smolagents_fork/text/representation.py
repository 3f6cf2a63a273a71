"""Text forms of executors and pools: the class, the state, the sandbox and its limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["LIMITS", "represent"]

#: Options that a text form has, where the class has them. None of them can have a secret.
LIMITS = (
    "timeout_seconds",
    "memory",
    "cpus",
    "pids_limit",
    "max_threads",
    "network",
    "max_print_outputs_length",
)


def represent(
    instance: object, state: str, place: str, option: Callable[[str], Any] | None = None
) -> str:
    """Return the text form of an executor or a pool.

    Args:
        instance: the executor or the pool.
        state: what it does.
        place: where its code runs.
        option: returns the value of one of :data:`LIMITS`; raises for one that is not there.

    Example:
        >>> from smolagents_fork.text.representation import represent
        >>> options = {"memory": "2g", "network": "none"}
        >>> represent(object(), "ready", "process 17", options.__getitem__)
        "<object: ready, in process 17; memory='2g', network='none'>"
    """
    limits = []
    for name in LIMITS:
        if option is None:
            break
        try:
            limits.append(f"{name}={option(name)!r}")
        except (AttributeError, LookupError, StopIteration):
            continue
    text = f"{type(instance).__name__}: {state}"
    text += f", in {place}" if place else ""
    return f"<{text}{'; ' if limits else ''}{', '.join(limits)}>"
