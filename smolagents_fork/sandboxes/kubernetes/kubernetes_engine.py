"""Kubernetes as a description: which cluster and namespace, and how to connect to it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...errors import ConfigurationError
from ...options import accept
from ..container_options import ContainerOptions
from ..engine_protocol import Note, no_note
from .api_client import ClusterClient
from .kubernetes_provisioner import KubernetesProvisioner
from .pod_manifest import GATEWAY_COMMAND, pod_manifest, user_and_group

__all__ = ["KubernetesEngine"]

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}$){_LABEL.pattern}(\.{_LABEL.pattern})*")
_NOT_BUILT = "nothing is built in a cluster; build the image elsewhere and name it with image="
_NO_PORT = "pods publish no port; the stream goes through the cluster's API"
_REFUSED = {
    "allow_root": "pods run under the security standard 'restricted', which has no root",
    "allow_shared_network": "pods do not share their node's network",
    "base_image": _NOT_BUILT,
    "build_new_image": _NOT_BUILT,
    "ca_bundle": _NOT_BUILT,
    "container_run_kwargs": "they are docker-py's arguments, and a pod has none of them",
    "disk_size": "the root file system of a pod is read-only",
    "dockerfile_content": _NOT_BUILT,
    "host": _NO_PORT,
    "image_name": _NOT_BUILT,
    "network": "the cluster decides that; KubernetesEngine(allow_network=True) allows one",
    "pids_limit": "a pod has no such limit; the nodes' kubelets have one (podPidsLimit)",
    "port": _NO_PORT,
    "read_only": "the root file system of a pod is read-only",
    "requirements": _NOT_BUILT,
    "runtime": "that is a Docker engine's; pass KubernetesEngine(runtime_class=...)",
    "transport": _NO_PORT,
    "volumes": "the nodes of the cluster have no paths of this machine; pass files= instead",
}


@dataclass(frozen=True)
class KubernetesEngine:
    """A namespace of a Kubernetes cluster, in which each sandbox is a pod without a network.

    Args:
        namespace: Namespace of the pods; ``None``: that of the context, or of this pod.
        context: Name of a context of the kubeconfig; ``None``: the current one, or this pod's
            service account.
        runtime_class: Name of a ``RuntimeClass`` such as ``"gvisor"``; ``None``: the cluster's
            default.
        warm_pool: Name of a ``SandboxWarmPool`` of kubernetes-sigs/agent-sandbox from which
            matching ready pods are claimed; ``None``: each sandbox is a new pod.
        allow_network: Whether pods may have a network; if not, one that has one is refused.
        gateway_command: Main process of the image; the default is that of the fork's image.
        max_seconds: Longest life of a pod in seconds, after which the cluster ends it.
        tenant: Name of the tenant whose pods these are, for messages; empty for none.

    Raises:
        ConfigurationError: not a name, or not a number of seconds.

    Example:
        >>> engine = KubernetesEngine(namespace="sandboxes", runtime_class="gvisor")
        >>> agent = CodeAgent(
        ...     tools=[],
        ...     model=model,
        ...     executor_class=DockerExecutor,
        ...     executor_kwargs={"engine": engine, "image": "registry.example/sandbox:1"},
        ... )  # doctest: +SKIP
    """

    namespace: str | None = None
    context: str | None = None
    runtime_class: str | None = None
    warm_pool: str | None = None
    allow_network: bool = False
    gateway_command: Sequence[str] = GATEWAY_COMMAND
    max_seconds: float = 86_400.0
    tenant: str = ""

    def __post_init__(self) -> None:
        for name, pattern in (
            ("namespace", _LABEL),
            ("runtime_class", _SUBDOMAIN),
            ("warm_pool", _SUBDOMAIN),
        ):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and pattern.fullmatch(value)):
                raise ConfigurationError(
                    f"KubernetesEngine: {name}={value!r}: pass a name of lower-case letters, "
                    "digits and hyphens, or None"
                )
        if self.context is not None and not (isinstance(self.context, str) and self.context):
            raise ConfigurationError(
                f"KubernetesEngine: context={self.context!r}: pass the name of a context of the "
                "kubeconfig, or None for the current one"
            )
        if not isinstance(self.allow_network, bool):
            raise ConfigurationError(
                f"KubernetesEngine: allow_network={self.allow_network!r}: pass True or False"
            )
        command = self.gateway_command
        if isinstance(command, str) or not command or not all(isinstance(w, str) for w in command):
            raise ConfigurationError(
                f"KubernetesEngine: gateway_command={command!r}: pass a program and its arguments, "
                "such as ('python', '-m', 'kernel_gateway')"
            )
        object.__setattr__(self, "gateway_command", tuple(command))
        accept.seconds("max_seconds", self.max_seconds)
        accept.tenant("tenant", self.tenant)

    @property
    def name(self) -> str:
        """Name for messages."""
        return "kubernetes"

    @property
    def refused_options(self) -> Mapping[str, str]:
        """Options that a pod cannot have."""
        return _REFUSED

    def network_remedy(self, _options: ContainerOptions, _owner: str) -> str:
        """Return the advice that gives code a network; empty if it has one."""
        return "" if self.allow_network else "give KubernetesEngine allow_network=True"

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> KubernetesProvisioner:
        """Connect to the cluster.

        Args:
            options: Options of the containers.
            note: Function called with a line for the user's log.

        Raises:
            EngineUnavailableError: the package is missing, or the cluster does not answer or
                refuses the token.
            ConfigurationError: ``user=`` has names.
        """
        user_and_group(options.user)
        client = ClusterClient(self.context, self.namespace)
        note(f"sandboxes are pods in namespace {client.namespace!r} of {client.address}")
        manifest = functools.partial(
            pod_manifest,
            options=options,
            command=self.gateway_command,
            runtime_class=self.runtime_class,
            network=self.allow_network,
            max_seconds=self.max_seconds,
            warm=self.warm_pool is not None,
        )
        return KubernetesProvisioner(
            client,
            manifest,
            note,
            warm_pool=self.warm_pool,
            allow_network=self.allow_network,
            tenant=self.tenant,
        )
