"""Inventories by executor, loaded when a command asks for them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from ..errors import ExecutorError
from ..inventory import Inventory, SandboxEntry
from .outcome import UsageError

__all__ = ["INVENTORIES", "all_sandboxes", "inventory", "sandbox_named"]

#: Executor -> module and class. None of them imports an engine's library before it is used.
INVENTORIES: Mapping[str, tuple[str, str]] = {
    "docker": ("smolagents_fork.sandboxes.docker.inspection.docker_inventory", "DockerInventory"),
    "process": ("smolagents_fork.process.child_inventory", "ChildInventory"),
    "wasm": ("smolagents_fork.wasm.guest_inventory", "GuestInventory"),
}
_SHORTEST_PREFIX = 4


def inventory(executor: str) -> Inventory:
    """Return the inventory of an executor.

    Args:
        executor: a key of :data:`INVENTORIES`.
    """
    module, name = INVENTORIES[executor]
    made: Inventory = getattr(importlib.import_module(module), name)()
    return made


def all_sandboxes() -> tuple[list[SandboxEntry], dict[str, str]]:
    """List the sandboxes of every executor, the oldest first.

    Returns:
        the sandboxes, and by executor why its own could not be listed.
    """
    found: list[SandboxEntry] = []
    missing: dict[str, str] = {}
    for executor in INVENTORIES:
        try:
            found += inventory(executor).sandboxes()
        except ExecutorError as error:
            missing[executor] = str(error)
    return sorted(found, key=lambda entry: entry.started_at), missing


def sandbox_named(name: str) -> SandboxEntry:
    """Return the sandbox of that id, container name, or beginning of an id.

    Args:
        name: four characters or more of an id.

    Raises:
        ExecutorError: there is none.
        UsageError: there are several.
    """
    entries, missing = all_sandboxes()
    exact = [entry for entry in entries if name in (entry.id, entry.name)]
    found = exact or [
        entry
        for entry in entries
        if len(name) >= _SHORTEST_PREFIX and (entry.id.startswith(name) or name == entry.name)
    ]
    if len(found) > 1:
        raise UsageError(f"{name!r} is ambiguous: {', '.join(entry.id for entry in found)}")
    if not found:
        reasons = "".join(f"; {executor}: {why}" for executor, why in missing.items())
        raise ExecutorError(
            f"no sandbox of the fork is called {name!r}: smolagents-fork ps lists them{reasons}"
        )
    return found[0]
