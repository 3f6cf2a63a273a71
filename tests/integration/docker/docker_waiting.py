"""Waiting for what the engine and the code do in their own time."""

from __future__ import annotations

import threading
from typing import Any


def first_print(executor: Any) -> threading.Event:
    """Set as soon as code of ``executor`` has printed, and so runs; takes the place of on_output.

    A fixed time after the call is no such moment: a busy machine may not have begun by then.
    """
    printed = threading.Event()
    set_options(executor, on_output=lambda _text: printed.set())
    return printed


def set_options(executor: Any, **values: Any) -> None:
    """Give a running executor other options."""
    executor.options = executor.options.with_values(values)
    executor._session._limits = executor.options.limits.session


def gone(engine: Any, name: str) -> bool:
    """Return whether the engine has no container called ``name``."""
    found = engine.api.containers(all=True, filters={"name": name})
    return not any(f"/{name}" in summary["Names"] for summary in found)
