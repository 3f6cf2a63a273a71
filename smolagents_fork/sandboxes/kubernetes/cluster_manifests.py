"""Manifests for a cluster: what an administrator applies once, as YAML."""

from __future__ import annotations

import json
from typing import Any

from ..container_options import ContainerOptions
from ..provisioner import SandboxSpec
from .pod_labels import NETWORK_LABEL, NONE, labels
from .pod_manifest import pod_manifest
from .sandbox_claims import CLAIMS, GROUP, SANDBOX_GROUP, VERSION

__all__ = ["cluster_manifests", "yaml_of"]

_NAME = "smolagents-fork"
# Ready pods of a warm pool; an administrator changes it to what is needed.
_REPLICAS = 2
# Opening a WebSocket is a GET; since Kubernetes 1.35 it needs the verb "create", too.
_STREAM_VERBS = ["get", "create"]


def cluster_manifests(
    namespace: str, *, image: str, warm_pool: str | None = None
) -> list[dict[str, Any]]:
    """Return the manifests in the order in which they are applied.

    Args:
        namespace: Namespace of the sandboxes.
        image: Image of the warm pool's pods.
        warm_pool: name of a ``SandboxWarmPool`` to make; ``None``: none.
    """
    role_api = "rbac.authorization.k8s.io"
    security = {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    made = [
        _manifest("v1", "Namespace", {"name": namespace, **security}),
        _manifest(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            {"name": f"{_NAME}-no-network", "namespace": namespace},
            spec={
                "podSelector": {"matchLabels": {NETWORK_LABEL: NONE}},
                "policyTypes": ["Ingress", "Egress"],
            },
        ),
        _manifest(
            "v1",
            "ServiceAccount",
            {"name": _NAME, "namespace": namespace},
            automountServiceAccountToken=False,
        ),
        _manifest(
            f"{role_api}/v1",
            "Role",
            {"name": _NAME, "namespace": namespace},
            rules=_rules(warm_pool is not None),
        ),
        _manifest(
            f"{role_api}/v1",
            "RoleBinding",
            {"name": _NAME, "namespace": namespace},
            subjects=[{"kind": "ServiceAccount", "name": _NAME, "namespace": namespace}],
            roleRef={"apiGroup": role_api, "kind": "Role", "name": _NAME},
        ),
    ]
    if warm_pool is not None:
        made += _warm_pool(namespace, warm_pool, image)
    return made


def _manifest(version: str, kind: str, metadata: dict[str, Any], **content: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def _rules(claims: bool) -> list[dict[str, Any]]:
    def rule(group: str, resource: str, verbs: list[str]) -> dict[str, Any]:
        return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}

    rules = [
        rule("", "pods", ["create", "delete", "get", "list"]),
        rule("", "pods/log", ["get"]),
        rule("", "events", ["list"]),
        rule("", "pods/exec", _STREAM_VERBS),
        rule("", "pods/attach", _STREAM_VERBS),
    ]
    if claims:
        rules.append(rule(GROUP, CLAIMS, ["create", "delete", "get"]))
        rules.append(rule(SANDBOX_GROUP, "sandboxes", ["get"]))
    return rules


def _warm_pool(namespace: str, name: str, image: str) -> list[dict[str, Any]]:
    """Return template and pool of pods that executors with default options can claim."""
    options = ContainerOptions()
    spec = SandboxSpec(image, lease_seconds=options.lease_seconds)
    pod = pod_manifest(spec, options=options, sandbox=name, token="", max_seconds=1, warm=True)
    # Ready pods live as long as the pool wants; claims have a time of expiry.
    del pod["spec"]["activeDeadlineSeconds"]
    version, place = f"{GROUP}/{VERSION}", {"name": name, "namespace": namespace}
    template = {
        "networkPolicyManagement": "Unmanaged",
        "podTemplate": {"metadata": {"labels": labels()}, "spec": pod["spec"]},
    }
    size = {"replicas": _REPLICAS, "sandboxTemplateRef": {"name": name}}
    return [
        _manifest(version, "SandboxTemplate", dict(place), spec=template),
        _manifest(version, "SandboxWarmPool", dict(place), spec=size),
    ]


def yaml_of(manifests: list[dict[str, Any]]) -> str:
    """Return manifests as YAML documents.

    Args:
        manifests: of dictionaries, lists and plain values.
    """
    import yaml  # type: ignore[import-untyped]  # the package has no types

    # Without aliases, which stand for values that occur twice.
    copies = json.loads(json.dumps(manifests))
    return str(yaml.safe_dump_all(copies, explicit_start=True, sort_keys=False, width=1000))
