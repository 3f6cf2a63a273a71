"""A cluster as a provisioner: each sandbox is a pod."""

from __future__ import annotations

import contextlib
import functools
import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...deadline import Deadline
from ...errors import ConfigurationError, ExecutorError, ExecutorStartError, ForkError
from ...forks import ForkSafeLock
from ..container_options import ContainerOptions
from ..engine_protocol import Note
from ..network_probe import check_isolation
from ..provisioner import STEP, ImageSpec, Report, SandboxSpec
from ..removals import Removals
from .api_client import ClusterClient
from .claims.sandbox_claims import claimed_pod, delete_claim
from .claims.warm_pools import PodSource, WarmPools, choose_source
from .image_check import check_image
from .pod_labels import MANAGED_BY, is_ours, sandbox_of
from .pod_manifest import CONTAINER, GATEWAY_COMMAND, TOKEN_VARIABLE, pod_manifest
from .pod_removal import reap, remove_pod
from .pod_sandbox import PodSandbox, StartedPod
from .pod_start import addresses_of_node, await_running

__all__ = ["KubernetesProvisioner", "PodSettings"]

_ID_BYTES = 6
_TOKEN_BYTES = 24
# Part of a start's time that a claim may take where a new pod is started if it fails.
_CLAIM_PART = 0.5

_NETWORK_REMEDY = (
    "Apply the NetworkPolicy that 'smolagents-fork setup kubernetes --print' writes, with a "
    "network plugin that enforces policies; or KubernetesEngine(allow_network=True) if the code "
    "may have a network"
)

_lock = ForkSafeLock()
# Namespaces whose orphans this process has looked for.
_reaped: set[tuple[str, str, bool]] = set()
# Images that a pod of this process has run, by cluster and namespace, with their distributions.
_checked: set[tuple[str, str, str, tuple[str, ...]]] = set()


@dataclass(frozen=True)
class PodSettings:
    """Settings of pods that the engine decides.

    Attributes:
        runtime_class: name of a ``RuntimeClass``.
        warm_pool: name of a ``SandboxWarmPool``; ``None``: one that fits; ``False``: none.
        allow_network: whether pods may have a network.
        tenant: whose pods these are, for messages; empty for none.
        gateway_command: main process of the image.
        max_seconds: longest life of a pod.
    """

    runtime_class: str | None = None
    warm_pool: str | Literal[False] | None = None
    allow_network: bool = False
    tenant: str = ""
    gateway_command: Sequence[str] = GATEWAY_COMMAND
    max_seconds: float = 86_400.0


class KubernetesProvisioner:
    """A provisioner of pods.

    Args:
        client: Client of the cluster; closed with the provisioner.
        options: Options of the containers.
        settings: Settings of the pods.
        pools: warm pools of the engine.
        note: takes a line for the user's log for each pod.

    Raises:
        EngineUnavailableError: the cluster does not answer, or refuses the token.
        ClusterRefusal: the account may not do what is needed.
    """

    def __init__(
        self,
        client: ClusterClient,
        options: ContainerOptions,
        settings: PodSettings,
        pools: WarmPools,
        note: Note,
    ) -> None:
        self._client, self._options, self._settings = client, options, settings
        self._pools, self._note = pools, note
        self._removals = Removals(client.address)
        client.check(MANAGED_BY)
        self._reap_once()

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        """Have the cluster pull an image, and check that it has the distributions asked for.

        Args:
            spec: Description of the image; nothing is built.
            report: takes a line when the cluster begins to pull.
            rebuild: check again.

        Raises:
            ConfigurationError: no image is named.
            ExecutorStartError: the cluster cannot pull or run it, or a distribution is missing.
        """
        image = spec.image
        if not image:
            raise ConfigurationError(
                "image=None with KubernetesEngine: nothing is built in a cluster, so name an image "
                "that its nodes can pull; 'smolagents-fork setup kubernetes --print' writes its "
                "Dockerfile"
            )
        key = (self._client.address, self._client.namespace, image, tuple(spec.requirements))
        with _lock:
            known = key in _checked
        # A named pool's image is the template's, which is compared when a sandbox is claimed.
        if (not known or rebuild) and not self._settings.warm_pool:
            self._check_image(spec, image, report)
            with _lock:
                _checked.add(key)
        return image

    def _check_image(self, spec: ImageSpec, image: str, report: Report) -> None:
        said: list[str] = []

        def waiting(reason: str) -> None:
            if not said:
                said.append(reason)
                report(f"{STEP}waiting for the cluster to run {image}: {reason}")

        sandbox = secrets.token_hex(_ID_BYTES)
        name = f"smolagents-fork-{sandbox}"
        self._removals.register(name, functools.partial(remove_pod, self._client, name))
        try:
            once = SandboxSpec(image, workdir=self._options.workdir)
            manifest = self._manifest(once, sandbox, "", warm=False)
            check_image(self._client, manifest, spec, waiting=waiting)
        finally:
            self._removals.remove(name, wait=False)

    def start(self, spec: SandboxSpec) -> PodSandbox:
        """Claim or start a pod, and check that its network reaches nothing. From any thread.

        Raises:
            ConfigurationError: an option that a pod cannot have.
            ExecutorStartError: the pod cannot run, in the cluster's words, or has a network.
            EngineUnavailableError: the cluster does not answer.
        """
        deadline = Deadline(spec.start_seconds)
        warm = self._manifest(spec, "", "", warm=True)
        source = choose_source(self._settings.warm_pool, self._pools, self._client, warm)
        try:
            first = Deadline(spec.start_seconds * _CLAIM_PART) if source.optional else deadline
            made = self._start_from(source, spec, first)
        except ForkError as error:
            if not source.optional:
                raise
            source = self._pools.give_up(self._client, source.pool, error)
            made = self._start_from(source, spec, deadline)
        self._note(f"{made.place} is {source}")
        return made

    def _start_from(self, source: PodSource, spec: SandboxSpec, deadline: Deadline) -> PodSandbox:
        sandbox, token = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_TOKEN_BYTES)
        pool = source.pool
        manifest = self._manifest(spec, sandbox, token, warm=bool(pool))
        name = str(manifest["metadata"]["name"])
        remove = delete_claim if pool else remove_pod
        self._removals.register(name, functools.partial(remove, self._client, name))
        made: PodSandbox | None = None
        try:
            if pool:
                started = self._claimed(spec, sandbox, pool, manifest, deadline)
            else:
                started = self._started(spec, sandbox, token, manifest, deadline)
            made = PodSandbox(
                self._client,
                started,
                spec,
                functools.partial(self._removals.remove, name, wait=False),
            )
            self._check_network(made)
        except BaseException as error:
            if made is not None:
                made.remove()
            self._removals.remove(name, wait=not source.optional)
            tenant = self._settings.tenant
            where = f"sandbox {sandbox}{f' of tenant {tenant}' if tenant else ''}"
            if isinstance(error, ForkError):
                error.name_place(where if made is None else made.place)
            if isinstance(error, ExecutorError) and not isinstance(error, ExecutorStartError):
                raise ExecutorStartError(str(error)) from None
            raise
        return made

    def _started(
        self,
        spec: SandboxSpec,
        sandbox: str,
        token: str,
        manifest: dict[str, Any],
        deadline: Deadline,
    ) -> StartedPod:
        name = str(manifest["metadata"]["name"])
        self._client.call(
            f"creating pod {name} (image {spec.image})",
            self._client.core.create_namespaced_pod,
            self._client.namespace,
            manifest,
        )
        state = await_running(self._client, name, spec.image, deadline)
        return StartedPod(name, sandbox, CONTAINER, token, state.node, self._settings.tenant)

    def _claimed(
        self,
        spec: SandboxSpec,
        sandbox: str,
        pool: str,
        manifest: dict[str, Any],
        deadline: Deadline,
    ) -> StartedPod:
        pod = claimed_pod(self._client, pool, str(manifest["metadata"]["name"]), manifest, deadline)
        name = str(pod["metadata"]["name"])
        state = await_running(self._client, name, spec.image, deadline)
        container = pod["spec"]["containers"][0]
        variables = {one["name"]: one.get("value") or "" for one in container.get("env") or ()}
        token = str(variables.get(TOKEN_VARIABLE, ""))
        return StartedPod(
            name, sandbox, str(container["name"]), token, state.node, self._settings.tenant
        )

    def _check_network(self, sandbox: PodSandbox) -> None:
        if not self._settings.allow_network:
            nodes = addresses_of_node(self._client, sandbox.name)
            check_isolation(sandbox.run, nodes, sandbox.place, _NETWORK_REMEDY)

    def _manifest(
        self, spec: SandboxSpec, sandbox: str, token: str, *, warm: bool
    ) -> dict[str, Any]:
        settings = self._settings
        return pod_manifest(
            spec,
            self._options,
            sandbox=sandbox,
            token=token,
            command=settings.gateway_command,
            runtime_class=settings.runtime_class,
            network=settings.allow_network,
            max_seconds=settings.max_seconds,
            warm=warm,
        )

    def ours(self) -> list[str]:
        """Return the ids of this process's pods.

        Raises:
            EngineUnavailableError: the cluster does not answer.
        """
        found = self._client.call(
            "listing pods",
            self._client.core.list_namespaced_pod,
            self._client.namespace,
            label_selector=MANAGED_BY,
        )
        return [sandbox_of(pod) for pod in found.get("items") or () if is_ours(pod)]

    def _reap_once(self) -> None:
        claims = self._settings.warm_pool is not False
        place = (self._client.address, self._client.namespace, claims)
        with _lock:
            if place in _reaped:
                return
            _reaped.add(place)

        def work() -> None:
            with contextlib.suppress(Exception):
                reap(self._client, claims=claims)

        threading.Thread(target=work, name="smolagents-fork-pod-reaper", daemon=True).start()

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals, also after :meth:`close`; return whether all are done.

        Args:
            timeout: seconds to wait at most.
        """
        return self._removals.wait(timeout)

    def close(self) -> None:
        """Close idle connections to the cluster; pods stay."""
        self._client.close()
