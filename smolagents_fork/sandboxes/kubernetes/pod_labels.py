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
from ...inventory import Owner
from .. import process_owner

__all__ = [
    "ALLOWED",
    "MANAGED_BY",
    "NETWORK_LABEL",
    "NONE",
    "SANDBOX_LABEL",
    "created_at",
    "metadata",
    "our_selector",
    "owner_is_gone",
    "owner_of",
]

_PREFIX = "smolagents-fork"
_MANAGED_LABEL = "app.kubernetes.io/managed-by"
_OWNER_LABEL = f"{_PREFIX}/owner"
SANDBOX_LABEL = f"{_PREFIX}/sandbox"
NETWORK_LABEL = f"{_PREFIX}/network"
_HOST, _CREATED = f"{_PREFIX}/host", f"{_PREFIX}/created"
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
            _HOST: platform.node(),
            _CREATED: str(int(time.time())),
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
    return process_owner.process_is_gone(_annotation(pod, _OWNER_LABEL))


def owner_of(pod: Mapping[str, Any]) -> Owner:
    """Return the process that a pod's annotations name.

    Args:
        pod: as the API describes it.
    """
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    place = f"node {node}" if node else ""
    return process_owner.named_owner(_annotation(pod, _OWNER_LABEL), _annotation(pod, _HOST), place)


def created_at(pod: Mapping[str, Any]) -> float:
    """Return when a pod was created, in seconds of the epoch; now if it does not say.

    Args:
        pod: as the API describes it.
    """
    text = _annotation(pod, _CREATED)
    return float(text) if text.isdigit() else time.time()


def _annotation(pod: Mapping[str, Any], name: str) -> str:
    return str((pod.get("metadata", {}).get("annotations") or {}).get(name, ""))


def _owner_digest() -> str:
    return hashlib.sha256(process_owner.owner_text().encode()).hexdigest()[:32]
