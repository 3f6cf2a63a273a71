"""Ready pods of kubernetes-sigs/agent-sandbox: claimed from a warm pool, and compared.

A ``SandboxClaim`` names a ``SandboxWarmPool``; its controller hands out a sandbox with a running
pod. The pod was created from the pool's template, so it is compared with the requested pod's
manifest.
"""

from __future__ import annotations

import datetime
import decimal
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...deadline import Deadline
from ...errors import ConfigurationError, ExecutorStartError
from .api_client import ClusterClient, ClusterRefusal

__all__ = [
    "CLAIMS",
    "GROUP",
    "POD_ANNOTATION",
    "SANDBOX_GROUP",
    "VERSION",
    "claim_pod",
    "delete_claim",
    "differences",
]

GROUP, VERSION = "extensions.agents.x-k8s.io", "v1beta1"
CLAIMS = "sandboxclaims"
SANDBOX_GROUP = "agents.x-k8s.io"
#: Annotation of a sandbox with the name of its pod; without it the pod has the sandbox's name.
POD_ANNOTATION = f"{SANDBOX_GROUP}/pod-name"
_PAUSE_SECONDS = 0.1
_FINISHED_SECONDS = 600
# Values that several texts stand for, such as 1 and 1000m.
_QUANTITIES = frozenset({"cpu", "memory", "ephemeral-storage", "sizeLimit"})


def claim_pod(
    client: ClusterClient, pool: str, manifest: Mapping[str, Any], deadline: Deadline
) -> str:
    """Claim a sandbox and return the name of its pod.

    Args:
        manifest: Manifest of the pod that is asked for. The claim has its name, and the caller
            deletes it, whatever happens.

    Raises:
        ConfigurationError: the pod differs from what was asked for; names both values.
        ExecutorStartError: there is no such pool, or no sandbox in time; in the cluster's words.
    """
    _create(client, pool, manifest)
    sandbox = _wait_for_sandbox(client, pool, str(manifest["metadata"]["name"]), deadline)
    resource = client.call(
        f"asking for sandbox {sandbox}",
        client.custom.get_namespaced_custom_object,
        *(SANDBOX_GROUP, VERSION, client.namespace, "sandboxes", sandbox),
    )
    annotations = (resource.get("metadata") or {}).get("annotations") or {}
    name = str(annotations.get(POD_ANNOTATION) or sandbox)
    # A pool's pods live as long as the pool wants, and the claim expires.
    spec = {"runtimeClassName": None, **manifest["spec"]}
    del spec["activeDeadlineSeconds"]
    asked = {"metadata": {"labels": manifest["metadata"]["labels"]}, "spec": spec}
    different = list(differences(asked, client.read_pod(name)))
    if different:
        raise ConfigurationError(
            f"warm_pool={pool!r}: pod {name} differs from the requested options: "
            f"{'; '.join(different)}; change the pool's template or the arguments"
        )
    return name


def _create(client: ClusterClient, pool: str, manifest: Mapping[str, Any]) -> None:
    asked = manifest["metadata"]
    end = time.time() + manifest["spec"]["activeDeadlineSeconds"]
    expiry = datetime.datetime.fromtimestamp(end, datetime.timezone.utc)
    claim = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "SandboxClaim",
        "metadata": dict(asked),
        "spec": {
            "warmPoolRef": {"name": pool},
            "lifecycle": {
                "shutdownTime": expiry.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "shutdownPolicy": "Delete",
                # A pod whose lease is over has ended; nobody may be left to delete its claim.
                "ttlSecondsAfterFinished": _FINISHED_SECONDS,
            },
            # Without labels: the controller accepts those of domains that its administrator lists.
            "additionalPodMetadata": {"annotations": asked["annotations"]},
        },
    }
    try:
        client.call(
            f"claiming a sandbox of warm pool {pool!r}",
            client.custom.create_namespaced_custom_object,
            *(GROUP, VERSION, client.namespace, CLAIMS, claim),
        )
    except ClusterRefusal as error:
        if error.status != 404:
            raise
        raise ExecutorStartError(
            f"warm_pool={pool!r}: the cluster has no {CLAIMS} of {GROUP}/{VERSION}: install "
            "kubernetes-sigs/agent-sandbox with its extensions, or omit warm_pool="
        ) from None


def _wait_for_sandbox(client: ClusterClient, pool: str, claim: str, deadline: Deadline) -> str:
    """Wait until a claim has a ready sandbox; return the sandbox's name."""
    while True:
        resource = client.call(
            f"asking for claim {claim}",
            client.custom.get_namespaced_custom_object,
            *(GROUP, VERSION, client.namespace, CLAIMS, claim),
        )
        status = resource.get("status") or {}
        sandbox = (status.get("sandbox") or {}).get("name")
        conditions = status.get("conditions") or ()
        ready: dict[str, Any] = next(
            (condition for condition in conditions if condition.get("type") == "Ready"), {}
        )
        if sandbox and ready.get("status") == "True":
            return str(sandbox)
        if deadline.expired():
            reason = ": ".join(str(ready[k]) for k in ("reason", "message") if ready.get(k))
            raise ExecutorStartError(
                f"warm_pool={pool!r} gave no sandbox in {deadline.seconds:g} s: "
                f"{reason or 'its controller gives no reason'}; a longer "
                "startup_timeout_seconds= gives it more time"
            )
        time.sleep(deadline.at_most(_PAUSE_SECONDS))


def differences(requested: object, actual: object, place: str = "") -> Iterator[str]:
    """Yield what differs from the requested options: its place, and both values.

    Values that the API adds to the requested ones are not differences. Entries with names and
    limits are: a pod has exactly those that were requested.

    Args:
        requested: Manifest, or a part of it.
        actual: The same as the API describes it, which omits empty values.
        place: Names that lead to it.
    """
    key = place.rpartition(".")[2]
    complete = key in ("limits", "requests")
    if requested and isinstance(requested, list) and all(isinstance(e, Mapping) for e in requested):
        requested, actual = _by_name(requested), _by_name(actual)
        complete = True
    if not isinstance(requested, Mapping):
        if (_normal(key, requested) or None) != (_normal(key, actual) or None):
            yield f"{place}: asked for {requested!r}, has {actual!r}"
        return
    actual_fields = actual if isinstance(actual, Mapping) else {}
    others = sorted(actual_fields.keys() - requested.keys()) if complete else []
    if others:
        yield f"{place}: has {', '.join(others)}, which was not asked for"
    for name, value in requested.items():
        below = f"{place}.{name}" if place else str(name)
        yield from differences(value, actual_fields.get(name), below)


def _by_name(entries: Any) -> dict[str, Any]:
    return {str(entry.get("name")): entry for entry in entries or () if isinstance(entry, Mapping)}


def _normal(key: str, value: Any) -> Any:
    """Return a value in a form that is the same for all texts of the same quantity."""
    from kubernetes.utils import parse_quantity

    if key not in _QUANTITIES or value is None:
        return value
    parse: Any = parse_quantity
    try:
        # It computes in the thread's context, which the application may have made less exact.
        with decimal.localcontext(decimal.Context()):
            return parse(value)
    except ValueError:
        return value


def delete_claim(client: ClusterClient, name: str, deadline: Deadline) -> None:
    """Delete a claim, and with it its sandbox and pod; wait until the claim is gone.

    Raises:
        ExecutorError: the cluster does not do it, or not in time.
    """
    client.delete(
        f"claim {name}",
        client.custom.delete_namespaced_custom_object,
        client.custom.get_namespaced_custom_object,
        *(GROUP, VERSION, client.namespace, CLAIMS, name),
        deadline=deadline,
    )
