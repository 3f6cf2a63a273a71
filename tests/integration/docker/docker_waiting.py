"""Waiting for what the engine and the code do in their own time."""

from __future__ import annotations

import dataclasses
from typing import Any

from background import PrintedLine

from smolagents_fork.sandboxes.docker.lifetime.labels import LABEL

#: For a start on a machine that does other work; quiet, it takes less than a second.
START_SECONDS = 180
#: The same for a pool whose callers wait for one another.
PATIENT = {"acquire_timeout_seconds": 400, "startup_timeout_seconds": START_SECONDS}


def first_print(executor: Any) -> PrintedLine:
    """Set as soon as code of ``executor`` has printed a line, and so runs.

    Takes the place of on_output.

    A fixed time after the call is no such moment: a busy machine may not have begun by then.
    """
    printed = PrintedLine()
    set_options(executor, on_output=printed)
    return printed


def set_options(executor: Any, **values: Any) -> None:
    """Give a running executor other options."""
    executor.options = dataclasses.replace(executor.options, **values)
    executor._session.limits = executor.options


def gone(engine: Any, name: str) -> bool:
    """Return whether the engine has no container called ``name``."""
    found = engine.api.containers(all=True, filters={"name": name})
    return not any(f"/{name}" in summary["Names"] for summary in found)


def containers_of(engine: Any, pid: int, **filters: str) -> list[str]:
    """Return the names of the containers that a process owns, of those that pass the filters."""
    found = engine.api.containers(all=True, filters={"label": LABEL, **filters})
    return [one["Names"][0].lstrip("/") for one in found if f":{pid}:" in one["Labels"][LABEL]]
