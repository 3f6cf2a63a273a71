"""Waiting for what the engine does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether ``condition`` becomes true within ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def gone(engine: Any, name: str) -> bool:
    """Whether the engine has no container called ``name`` (any more)."""
    found = engine.api.containers(all=True, filters={"name": name})
    return not any(f"/{name}" in summary["Names"] for summary in found)
