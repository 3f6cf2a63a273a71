"""Text forms of executors and pools: the class, the state, the sandbox and its limits."""

from __future__ import annotations

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


def represent(instance: object, state: str, place: str, options: object = None) -> str:
    """Return the text form of an executor or a pool.

    Args:
        instance: the executor or the pool.
        state: what it does.
        place: where its code runs.
        options: object whose attributes :data:`LIMITS` names, as far as it has them.

    Example:
        >>> from types import SimpleNamespace
        >>> from smolagents_fork.text.representation import represent
        >>> options = SimpleNamespace(memory="2g", network="none")
        >>> represent(object(), "ready", "process 17", options)
        "<object: ready, in process 17; memory='2g', network='none'>"
    """
    limits = [f"{name}={getattr(options, name)!r}" for name in LIMITS if hasattr(options, name)]
    text = f"{type(instance).__name__}: {state}"
    text += f", in {place}" if place else ""
    return f"<{text}{'; ' if limits else ''}{', '.join(limits)}>"
