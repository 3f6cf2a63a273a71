"""Labels and annotations of pods, which name the process that owns each.

Labels say that a pod is of the fork and whether it may have a network: they are the same for all
pods of a warm pool. What differs between sandboxes is in annotations, which a claim can add.
"""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping
from typing import Any

from ... import _version
from ...system.inventory import OwnerProcess
from .. import process_owner

__all__ = [
    "ALLOWED",
    "MANAGED_BY",
    "NETWORK_LABEL",
    "NONE",
    "PodRecord",
    "labels",
    "metadata",
]

_PREFIX = "smolagents-fork"
_MANAGED_LABEL = "app.kubernetes.io/managed-by"
NETWORK_LABEL = f"{_PREFIX}/network"
_SANDBOX, _OWNER = f"{_PREFIX}/sandbox", f"{_PREFIX}/owner"
_HOST, _CREATED = f"{_PREFIX}/host", f"{_PREFIX}/created"
_IS_SANDBOX, _IS_TIME = re.compile(r"[A-Za-z0-9-]{1,63}"), re.compile(r"[1-9][0-9]{0,11}")
#: Values of :data:`NETWORK_LABEL`.
NONE, ALLOWED = "none", "allowed"
#: Selector of all pods of the fork.
MANAGED_BY = f"{_MANAGED_LABEL}={_PREFIX}"


def labels(*, network: bool = False) -> dict[str, str]:
    """Return the labels of a pod."""
    return {_MANAGED_LABEL: _PREFIX, NETWORK_LABEL: ALLOWED if network else NONE}


def metadata(sandbox: str, *, network: bool) -> dict[str, Any]:
    """Return labels and annotations for a pod of this process."""
    return {
        "labels": labels(network=network),
        "annotations": {
            _SANDBOX: sandbox,
            _OWNER: process_owner.owner_text(),
            _HOST: platform.node(),
            _CREATED: str(int(time.time())),
            f"{_PREFIX}/version": f"{_version.upstream_version}+fork.{_version.fork_revision}",
        },
    }


class PodRecord:
    """Sandbox and owner of a pod, as its annotations have them. Anyone may have written these."""

    def __init__(self, pod: Mapping[str, Any]) -> None:
        self._pod = pod
        self._owner = self._annotation(_OWNER)

    def _annotation(self, name: str) -> str:
        return str((self._pod.get("metadata", {}).get("annotations") or {}).get(name, ""))

    @property
    def sandbox(self) -> str:
        """Id of the sandbox; the pod's name if nobody has claimed it from a warm pool."""
        sandbox = self._annotation(_SANDBOX)
        return sandbox if _IS_SANDBOX.fullmatch(sandbox) else str(self._pod["metadata"]["name"])

    @property
    def is_own(self) -> bool:
        """Whether the owner is this process."""
        return self._owner == process_owner.owner_text()

    @property
    def is_orphan(self) -> bool:
        """Whether the owner is a process of this machine that no longer runs."""
        return process_owner.process_is_gone(self._owner)

    @property
    def owner(self) -> OwnerProcess:
        """Owner, for lists of sandboxes."""
        node = str((self._pod.get("spec") or {}).get("nodeName") or "")
        place = f"node {node}" if node else ""
        return process_owner.parse_owner(self._owner, self._annotation(_HOST), place)

    @property
    def created_at(self) -> float:
        """Time of its creation, in seconds of the epoch; now if it does not say."""
        text, now = self._annotation(_CREATED), time.time()
        return min(float(text), now) if _IS_TIME.fullmatch(text) else now
