"""Labels and annotations of pods, which name the process that owns each.

A label's value has 63 characters at most, so the owner is in an annotation, and its digest in the
label that pods are selected by.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Mapping
from typing import Any

from ... import _version
from .. import process_owner

__all__ = [
    "ALLOWED",
    "MANAGED_BY",
    "NETWORK_LABEL",
    "NONE",
    "SANDBOX_LABEL",
    "metadata",
    "our_selector",
    "owner_is_gone",
]

_PREFIX = "smolagents-fork"
_MANAGED_LABEL = "app.kubernetes.io/managed-by"
_OWNER_LABEL = f"{_PREFIX}/owner"
SANDBOX_LABEL = f"{_PREFIX}/sandbox"
NETWORK_LABEL = f"{_PREFIX}/network"
#: Values of :data:`NETWORK_LABEL`.
NONE, ALLOWED = "none", "allowed"
#: Selector of all pods of the fork.
MANAGED_BY = f"{_MANAGED_LABEL}={_PREFIX}"


def metadata(sandbox: str, *, network: bool) -> dict[str, Any]:
    """Return labels and annotations for a pod of this process.

    Args:
        sandbox: its id.
        network: whether it may use a network.
    """
    return {
        "labels": {
            _MANAGED_LABEL: _PREFIX,
            SANDBOX_LABEL: sandbox,
            _OWNER_LABEL: _owner_digest(),
            NETWORK_LABEL: ALLOWED if network else NONE,
        },
        "annotations": {
            _OWNER_LABEL: process_owner.owner_text(),
            f"{_PREFIX}/host": platform.node(),
            f"{_PREFIX}/created": str(int(time.time())),
            f"{_PREFIX}/version": f"{_version.upstream_version}+fork.{_version.fork_revision}",
        },
    }


def our_selector() -> str:
    """Return the selector of this process's pods."""
    return f"{MANAGED_BY},{_OWNER_LABEL}={_owner_digest()}"


def owner_is_gone(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod's owner is a process of this machine that no longer runs.

    Args:
        pod: as the API describes it.
    """
    annotations = pod.get("metadata", {}).get("annotations") or {}
    return process_owner.process_is_gone(str(annotations.get(_OWNER_LABEL, "")))


def _owner_digest() -> str:
    return hashlib.sha256(process_owner.owner_text().encode()).hexdigest()[:32]
