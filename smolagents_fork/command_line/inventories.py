"""Inventories by executor, loaded when a command asks for them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import ExecutorError
from ..system.inventory import Inventory, SandboxEntry
from .outcome import UsageError

__all__ = ["INVENTORIES", "Where", "all_sandboxes", "find_cluster", "find_sandbox"]

_KUBERNETES = "kubernetes"
#: Executor -> module and class. None of them imports an engine's library before it is used.
INVENTORIES: Mapping[str, tuple[str, str]] = {
    "docker": ("smolagents_fork.sandboxes.docker.inspection.docker_inventory", "DockerInventory"),
    _KUBERNETES: ("smolagents_fork.sandboxes.kubernetes.pod_inventory", "PodInventory"),
    "process": ("smolagents_fork.process.child_inventory", "ChildInventory"),
    "wasm": ("smolagents_fork.wasm.guest_inventory", "GuestInventory"),
}
_SHORTEST_PREFIX = 4
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def find_cluster() -> str:
    """Return what names a cluster of Kubernetes to this process; empty without one."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    for path in map(os.path.expanduser, filter(None, named.split(os.pathsep))):
        if os.access(path, os.R_OK):
            return path
    return "the service account of this pod" if _ACCOUNT.is_file() else ""


@dataclass(frozen=True)
class Where:
    """Executors whose sandboxes a command is about.

    Attributes:
        engine: one executor; ``None``: all, pods only if a cluster and its client are there.
        namespace: of pods; ``None``: that of the kubeconfig's current context.
    """

    engine: str | None = None
    namespace: str | None = None

    def executors(self) -> list[str]:
        """Return the executors."""
        if self.engine is not None:
            return [self.engine]
        # Pods are asked for over a network, by a client that takes a second to import.
        pods = self.namespace or (find_cluster() and find_spec(_KUBERNETES))
        return [name for name in INVENTORIES if name != _KUBERNETES or pods]

    def inventory(self, executor: str) -> Inventory:
        """Return the inventory of an executor.

        Args:
            executor: a key of :data:`INVENTORIES`.
        """
        module, name = INVENTORIES[executor]
        factory: Callable[..., Inventory] = getattr(importlib.import_module(module), name)
        return factory(self.namespace) if executor == _KUBERNETES else factory()


def all_sandboxes(where: Where) -> tuple[list[SandboxEntry], dict[str, str]]:
    """List the sandboxes, the oldest first.

    Returns:
        the sandboxes, and by executor why its own could not be listed.
    """
    entries: list[SandboxEntry] = []
    missing: dict[str, str] = {}
    for executor in where.executors():
        try:
            entries += where.inventory(executor).sandboxes()
        except ExecutorError as error:
            missing[executor] = str(error)
    return sorted(entries, key=lambda entry: entry.started_at), missing


def find_sandbox(name: str, where: Where) -> SandboxEntry:
    """Return the sandbox of that id, container name, or beginning of an id.

    Args:
        name: four characters or more of an id.

    Raises:
        ExecutorError: there is none.
        UsageError: there are several.
    """
    entries, missing = all_sandboxes(where)
    exact = [entry for entry in entries if name in (entry.id, entry.name)]
    matches = exact
    if not matches and len(name) >= _SHORTEST_PREFIX:
        matches = [entry for entry in entries if entry.id.startswith(name)]
    if len(matches) > 1:
        raise UsageError(f"{name!r} is ambiguous: {', '.join(entry.id for entry in matches)}")
    if not matches:
        reasons = "".join(f"; {executor}: {why}" for executor, why in missing.items())
        raise ExecutorError(
            f"no sandbox of the fork is called {name!r}: smolagents-fork ps lists them{reasons}"
        )
    return matches[0]
