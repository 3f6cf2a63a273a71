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
from ...inventory import OwnerProcess
from .. import process_owner

__all__ = [
    "ALLOWED",
    "MANAGED_BY",
    "NETWORK_LABEL",
    "NONE",
    "created_at",
    "is_ours",
    "labels",
    "metadata",
    "owner_is_gone",
    "owner_of",
    "sandbox_of",
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
    """Return the labels of a pod.

    Args:
        network: whether it may use a network.
    """
    return {_MANAGED_LABEL: _PREFIX, NETWORK_LABEL: ALLOWED if network else NONE}


def metadata(sandbox: str, *, network: bool) -> dict[str, Any]:
    """Return labels and annotations for a pod of this process.

    Args:
        sandbox: Id of the sandbox.
        network: whether it may use a network.
    """
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


def is_ours(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod's owner is this process.

    Args:
        pod: Pod as the API describes it.
    """
    return _annotation(pod, _OWNER) == process_owner.owner_text()


def sandbox_of(pod: Mapping[str, Any]) -> str:
    """Return the id of a pod's sandbox; its name if nobody has claimed it from a warm pool.

    Args:
        pod: Pod as the API describes it.
    """
    sandbox = _annotation(pod, _SANDBOX)
    return sandbox if _IS_SANDBOX.fullmatch(sandbox) else str(pod["metadata"]["name"])


def owner_is_gone(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod's owner is a process of this machine that no longer runs.

    Args:
        pod: Pod as the API describes it.
    """
    return process_owner.process_is_gone(_annotation(pod, _OWNER))


def owner_of(pod: Mapping[str, Any]) -> OwnerProcess:
    """Return the process that a pod's annotations name.

    Args:
        pod: Pod as the API describes it.
    """
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    place = f"node {node}" if node else ""
    return process_owner.named_owner(_annotation(pod, _OWNER), _annotation(pod, _HOST), place)


def created_at(pod: Mapping[str, Any]) -> float:
    """Return when a pod was created, in seconds of the epoch; now if it does not say.

    Args:
        pod: Pod as the API describes it.
    """
    text, now = _annotation(pod, _CREATED), time.time()
    # Anyone may have written it.
    return min(float(text), now) if _IS_TIME.fullmatch(text) else now


def _annotation(pod: Mapping[str, Any], name: str) -> str:
    return str((pod.get("metadata", {}).get("annotations") or {}).get(name, ""))
