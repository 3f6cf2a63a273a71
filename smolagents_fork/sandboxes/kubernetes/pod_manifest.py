"""Manifests of pods (pod security standard "restricted") and of what an administrator applies."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ConfigurationError
from ..container_options import ContainerOptions
from ..containers.container_environment import container_environment
from ..containers.first_process import first_command
from ..provisioner import SandboxSpec
from ..resource_limits import parse_size
from .pod_labels import NETWORK_LABEL, NONE, labels, metadata
from .sandbox_claims import CLAIMS, GROUP, SANDBOX_GROUP, VERSION

__all__ = [
    "CONTAINER",
    "GATEWAY_COMMAND",
    "cluster_manifests",
    "pod_manifest",
    "user_and_group",
    "yaml_of",
]

#: Name of a pod's container.
CONTAINER = "sandbox"
#: Main process of the fork's image. A cluster's API does not say what an image's own is.
GATEWAY_COMMAND = ("python", "/opt/kernel/kernel_server.py")
# Time the host process may take to attach to a pod that has started; only then the lease begins.
_LEAST_FIRST_SECONDS = 120.0
# For the log; the work folder and /tmp are in memory.
_EPHEMERAL_STORAGE = "1Gi"
_NAME = "smolagents-fork"
# Ready pods of a warm pool; an administrator changes it to what is needed.
_REPLICAS = 2
# Opening a WebSocket is a GET; since Kubernetes 1.35 it needs the verb "create", too.
_STREAM_VERBS = ["get", "create"]


def user_and_group(user: str) -> tuple[int, int]:
    """Return the numbers of ``user=``.

    Raises:
        ConfigurationError: it has names, or is root.
    """
    uid, _, gid = user.partition(":")
    if not uid.isdigit() or not (gid or uid).isdigit() or not int(uid):
        raise ConfigurationError(
            f"user={user!r}: on Kubernetes pass numbers such as '1000:1000', not root's"
        )
    return int(uid), int(gid or uid)


def pod_manifest(
    spec: SandboxSpec,
    *,
    options: ContainerOptions,
    sandbox: str,
    token: str,
    command: Sequence[str] = GATEWAY_COMMAND,
    runtime_class: str | None = None,
    network: bool = False,
    max_seconds: float,
    warm: bool = False,
) -> dict[str, Any]:
    """Return the manifest of a sandbox's pod.

    Args:
        command: the container's main process, which runs under the lease.
        runtime_class: name of a ``RuntimeClass``; ``None``: the cluster's default.
        max_seconds: after which the cluster ends it, whatever happens.
        warm: whether the pod waits in a warm pool, for any time, before it is used.
    """
    uid, gid = user_and_group(options.user)
    variables = container_environment(spec, token, user=options.user)
    first = None if warm else max(spec.lease_seconds, spec.start_seconds, _LEAST_FIRST_SECONDS)
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "activeDeadlineSeconds": math.ceil(max_seconds),
        "terminationGracePeriodSeconds": 1,
        # Defaults, which a claimed pod is compared with.
        "hostNetwork": False,
        "hostPID": False,
        "hostIPC": False,
        "shareProcessNamespace": False,
        "initContainers": [],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": uid,
            "runAsGroup": gid,
            "fsGroup": gid,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": spec.image,
                "command": first_command(spec.lease_seconds, command, first_seconds=first),
                "args": [],
                "workingDir": spec.workdir,
                "envFrom": [],
                "env": [{"name": name, "value": value} for name, value in variables.items()],
                # Open for the host process, which renews the lease by writing to it.
                "stdin": True,
                "stdinOnce": False,
                "tty": False,
                "securityContext": {
                    "privileged": False,
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"], "add": []},
                },
                "resources": _resources(spec),
                "volumeMounts": [
                    {"name": "work", "mountPath": spec.workdir},
                    {"name": "tmp", "mountPath": "/tmp"},
                ],
            }
        ],
        "volumes": [
            _memory_volume("work", spec.limits.workdir_size),
            _memory_volume("tmp", spec.limits.tmp_size),
        ],
    }
    if runtime_class is not None:
        pod["runtimeClassName"] = runtime_class
    named = {"name": f"smolagents-fork-{sandbox}", **metadata(sandbox, network=network)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": pod}


def _resources(spec: SandboxSpec) -> Mapping[str, Any]:
    limits: dict[str, str] = {"ephemeral-storage": _EPHEMERAL_STORAGE}
    if spec.limits.memory is not None:
        limits["memory"] = str(parse_size(spec.limits.memory))
    if spec.limits.cpus is not None:
        limits["cpu"] = f"{math.ceil(spec.limits.cpus * 1000)}m"
    return {"limits": limits, "requests": dict(limits)}


def _memory_volume(name: str, size: int | str) -> dict[str, Any]:
    return {
        "name": name,
        "emptyDir": {"medium": "Memory", "sizeLimit": str(parse_size(size))},
    }


def cluster_manifests(
    namespace: str, *, image: str, warm_pool: str | None = None
) -> list[dict[str, Any]]:
    """Return the manifests in the order in which they are applied.

    Args:
        image: Image of the warm pool's pods.
        warm_pool: name of a ``SandboxWarmPool`` to make; ``None``: none.
    """
    role_api = "rbac.authorization.k8s.io"
    security = {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    manifests = [
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
        manifests += _warm_pool(namespace, warm_pool, image)
    return manifests


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
    """Return manifests as YAML documents."""
    import yaml  # type: ignore[import-untyped]  # the package has no types

    # Without aliases, which stand for values that occur twice.
    copies = json.loads(json.dumps(manifests))
    return str(yaml.safe_dump_all(copies, explicit_start=True, sort_keys=False, width=1000))
