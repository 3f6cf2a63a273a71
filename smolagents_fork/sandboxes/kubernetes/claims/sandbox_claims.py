"""Ready pods of kubernetes-sigs/agent-sandbox: claimed from a warm pool, and checked.

A ``SandboxClaim`` names a ``SandboxWarmPool``; its controller hands out a sandbox with a running
pod. The pod was made from the pool's template, so what was asked for is compared with what the pod
has.
"""

from __future__ import annotations

import datetime
import math
import time
from collections.abc import Mapping
from typing import Any

from ....deadline import Deadline
from ....errors import ConfigurationError, ExecutorStartError
from ..api_client import ClusterClient, ClusterRefusal
from ..pod_labels import NETWORK_LABEL
from ..pod_manifest import TOKEN_VARIABLE

__all__ = [
    "CLAIMS",
    "GROUP",
    "POD_ANNOTATION",
    "POOLS",
    "SANDBOX_GROUP",
    "TEMPLATES",
    "VERSION",
    "claim_manifest",
    "claimed_pod",
    "delete_claim",
    "differences",
]

GROUP, VERSION = "extensions.agents.x-k8s.io", "v1beta1"
CLAIMS, POOLS, TEMPLATES = "sandboxclaims", "sandboxwarmpools", "sandboxtemplates"
SANDBOX_GROUP = "agents.x-k8s.io"
#: Annotation of a sandbox with the name of its pod; without it the pod has the sandbox's name.
POD_ANNOTATION = f"{SANDBOX_GROUP}/pod-name"
_PAUSE_SECONDS = 0.1
_FINISHED_SECONDS = 600


def claimed_pod(
    client: ClusterClient, pool: str, name: str, manifest: Mapping[str, Any], deadline: Deadline
) -> dict[str, Any]:
    """Claim a sandbox and return its pod, as the API describes it.

    Args:
        client: Client of the cluster.
        pool: name of the warm pool.
        name: Name of the claim; the caller deletes it, whatever happens.
        manifest: Manifest of the pod that was asked for.
        deadline: Deadline of the start.

    Raises:
        ConfigurationError: the pod differs from what was asked for; names both values.
        ExecutorStartError: there is no such pool, or no sandbox in time; in the cluster's words.
    """
    _create(client, pool, claim_manifest(pool, name, manifest))
    sandbox = _sandbox_of(client, pool, name, deadline)
    pod = _pod_of(client, sandbox)
    different = differences(manifest, pod)
    if different:
        raise ConfigurationError(
            f"warm_pool={pool!r}: pod {pod['metadata']['name']} differs from what was asked for: "
            f"{'; '.join(different.values())}; change the pool's template or the arguments"
        )
    return pod


def claim_manifest(pool: str, name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of a claim.

    Args:
        pool: name of the warm pool.
        name: Name of the claim.
        manifest: Manifest of the pod that is asked for.
    """
    given = manifest["metadata"]
    end = time.time() + manifest["spec"]["activeDeadlineSeconds"]
    expiry = datetime.datetime.fromtimestamp(end, datetime.timezone.utc)
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "SandboxClaim",
        "metadata": {"name": name, "labels": given["labels"], "annotations": given["annotations"]},
        "spec": {
            "warmPoolRef": {"name": pool},
            "lifecycle": {
                "shutdownTime": expiry.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "shutdownPolicy": "Delete",
                # A pod whose lease is over has ended; nobody may be left to delete its claim.
                "ttlSecondsAfterFinished": _FINISHED_SECONDS,
            },
            # Without labels: the controller accepts those of domains that its administrator lists.
            "additionalPodMetadata": {"annotations": given["annotations"]},
        },
    }


def _create(client: ClusterClient, pool: str, claim: Mapping[str, Any]) -> None:
    try:
        client.call(
            f"claiming a sandbox of warm pool {pool!r}",
            client.custom.create_namespaced_custom_object,
            GROUP,
            VERSION,
            client.namespace,
            CLAIMS,
            claim,
        )
    except ClusterRefusal as error:
        if error.status != 404:
            raise
        raise ExecutorStartError(
            f"warm_pool={pool!r}: the cluster has no {CLAIMS} of {GROUP}/{VERSION}: install "
            "kubernetes-sigs/agent-sandbox with its extensions, or omit warm_pool="
        ) from None


def _sandbox_of(client: ClusterClient, pool: str, name: str, deadline: Deadline) -> str:
    """Wait until the claim has a ready sandbox, and return its name."""
    while True:
        found = client.call(
            f"asking for claim {name}",
            client.custom.get_namespaced_custom_object,
            GROUP,
            VERSION,
            client.namespace,
            CLAIMS,
            name,
        )
        status = found.get("status") or {}
        sandbox = (status.get("sandbox") or {}).get("name")
        ready = _ready(status)
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


def _ready(status: Mapping[str, Any]) -> Mapping[str, Any]:
    conditions = status.get("conditions") or ()
    return next((one for one in conditions if one.get("type") == "Ready"), {})


def _pod_of(client: ClusterClient, sandbox: str) -> dict[str, Any]:
    found = client.call(
        f"asking for sandbox {sandbox}",
        client.custom.get_namespaced_custom_object,
        SANDBOX_GROUP,
        VERSION,
        client.namespace,
        "sandboxes",
        sandbox,
    )
    annotations = (found.get("metadata") or {}).get("annotations") or {}
    name = str(annotations.get(POD_ANNOTATION) or sandbox)
    return client.call(
        f"asking for pod {name}", client.core.read_namespaced_pod, name, client.namespace
    )


def differences(manifest: Mapping[str, Any], pod: Mapping[str, Any]) -> dict[str, str]:
    """Return what a pod does not have as asked for: the name of each, and a text with both values.

    Args:
        manifest: Manifest of the pod that is asked for.
        pod: Pod as the API describes it, or as a template has it.
    """
    asked, found = _compared(manifest), _compared(pod)
    return {
        name: f"{name}: asked for {value!r}, has {found.get(name)!r}"
        for name, value in asked.items()
        if found.get(name) != value
    }


def _compared(pod: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a pod that are compared, with their defaults."""
    spec = pod.get("spec") or {}
    containers = spec.get("containers") or [{}]
    one = containers[0]
    security = {**(spec.get("securityContext") or {}), **(one.get("securityContext") or {})}
    limits = (one.get("resources") or {}).get("limits") or {}
    mounts = {m.get("mountPath"): m.get("name") for m in one.get("volumeMounts") or ()}
    volumes = {v.get("name"): v.get("emptyDir") or {} for v in spec.get("volumes") or ()}
    files = {
        path: (
            volumes.get(name, {}).get("medium"),
            _quantity(volumes.get(name, {}).get("sizeLimit")),
        )
        for path, name in mounts.items()
    }
    environment = {e["name"]: e.get("value") for e in one.get("env") or () if "name" in e}
    environment.pop(TOKEN_VARIABLE, None)
    labels = (pod.get("metadata") or {}).get("labels") or {}
    return {
        "containers": len(containers),
        "initContainers": len(spec.get("initContainers") or ()),
        "image": one.get("image"),
        "command": [*(one.get("command") or ()), *(one.get("args") or ())],
        "workingDir": one.get("workingDir"),
        "stdin": bool(one.get("stdin")),
        "stdinOnce": bool(one.get("stdinOnce")),
        "memory": _quantity(limits.get("memory")),
        "cpu": _quantity(limits.get("cpu")),
        "files": files,
        "environment": environment,
        "envFrom": one.get("envFrom") or [],
        "runtimeClassName": spec.get("runtimeClassName"),
        "automountServiceAccountToken": spec.get("automountServiceAccountToken", True),
        "hostNetwork": bool(spec.get("hostNetwork")),
        "hostPID": bool(spec.get("hostPID")),
        "hostIPC": bool(spec.get("hostIPC")),
        "shareProcessNamespace": bool(spec.get("shareProcessNamespace")),
        "runAsNonRoot": security.get("runAsNonRoot"),
        "runAsUser": security.get("runAsUser"),
        "runAsGroup": security.get("runAsGroup"),
        "privileged": bool(security.get("privileged")),
        "allowPrivilegeEscalation": security.get("allowPrivilegeEscalation", True),
        "readOnlyRootFilesystem": bool(security.get("readOnlyRootFilesystem")),
        "capabilities": security.get("capabilities") or {},
        "seccompProfile": (security.get("seccompProfile") or {}).get("type"),
        NETWORK_LABEL: labels.get(NETWORK_LABEL),
    }


_FACTORS = {
    "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40,
}  # fmt: skip


def _quantity(text: object) -> float | None:
    """Return Kubernetes' form of a number; the same number has several."""
    if text is None:
        return None
    written = str(text)
    suffix = next((s for s in sorted(_FACTORS, key=len, reverse=True) if written.endswith(s)), "")
    try:
        number = float(written.removesuffix(suffix)) * _FACTORS.get(suffix, 1.0)
    except ValueError:
        return math.nan
    return round(number, 3)


def delete_claim(client: ClusterClient, name: str, deadline: Deadline) -> None:
    """Delete a claim, and with it its sandbox and pod; wait until the claim is gone.

    Args:
        client: Client of the cluster.
        name: Name of the claim.
        deadline: Deadline of all calls together.

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
