"""A cluster as a provisioner: each sandbox is a pod."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable
from typing import Any

from packaging.requirements import Requirement

from ...deadline import Deadline
from ...errors import ConfigurationError, ExecutorError, ExecutorStartError, ForkError
from ...system.forks import ForkSafeLock
from ..containers.network_probe import check_isolation
from ..engine_protocol import Note
from ..provisioner import STEP, ImageSpec, Report, SandboxSpec
from ..removals import Removals
from .api_client import ClusterClient
from .pod_inventory import reap, remove_pod
from .pod_labels import PodRecord
from .pod_sandbox import PodSandbox
from .pod_status import await_running
from .sandbox_claims import claim_pod, delete_claim

__all__ = ["KubernetesProvisioner"]

_ID_BYTES = 6
_TOKEN_BYTES = 24

_NETWORK_REMEDY = (
    "Apply the NetworkPolicy that 'smolagents-fork setup kubernetes --print' writes, with a "
    "network plugin that enforces policies; or KubernetesEngine(allow_network=True) if the code "
    "may have a network"
)

_lock = ForkSafeLock()
# Images that a pod of this process has run, by cluster and namespace, with their distributions.
_checked: set[tuple[str, str, str, tuple[str, ...]]] = set()
# Run as: python -I -c CHECK distribution... Ends with 3 after naming those that are missing.
_CHECK = """
import importlib.metadata,sys
missing=[]
for name in sys.argv[1:]:
    try: importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError: missing.append(name)
if missing: print("missing:",*missing); sys.exit(3)
"""
_MISSING = 3


class KubernetesProvisioner:
    """A provisioner of pods.

    Args:
        client: Client of the cluster; closed with the provisioner.
        manifest: returns the manifest of a pod for a specification, ``sandbox`` and ``token``.
        warm_pool: name of a ``SandboxWarmPool`` that pods are claimed from; ``None``: new pods.

    Raises:
        EngineUnavailableError: the cluster does not answer, or refuses the token.
        ClusterRefusal: the account may not do what is needed.
    """

    def __init__(
        self,
        client: ClusterClient,
        manifest: Callable[..., dict[str, Any]],
        note: Note,
        *,
        warm_pool: str | None,
        allow_network: bool,
        tenant: str,
    ) -> None:
        self._client, self._manifest, self._note = client, manifest, note
        self._warm_pool, self._allow_network = warm_pool, allow_network
        self._tenant = tenant
        self._removals = Removals((client.address, client.namespace))
        client.check()
        self._removals.reap_once(functools.partial(reap, client))

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
        if (not known or rebuild) and not self._warm_pool:
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
            manifest = self._manifest(SandboxSpec(image), sandbox=sandbox, token="")
            _run_check(self._client, manifest, spec, waiting=waiting)
        finally:
            self._removals.remove(name, wait=False)

    def start(self, spec: SandboxSpec) -> PodSandbox:
        """Claim or start a pod, and check that its network reaches nothing. From any thread.

        Raises:
            ConfigurationError: an option that a pod cannot have.
            ExecutorStartError: the pod cannot run, in the cluster's words, or has a network.
            EngineUnavailableError: the cluster does not answer.
        """
        pool, deadline = self._warm_pool, Deadline(spec.start_seconds)
        sandbox = secrets.token_hex(_ID_BYTES)
        # The pods of a pool have that of its template.
        token = "" if pool else secrets.token_urlsafe(_TOKEN_BYTES)
        manifest = self._manifest(spec, sandbox=sandbox, token=token)
        name = pod = str(manifest["metadata"]["name"])
        remove = delete_claim if pool else remove_pod
        self._removals.register(name, functools.partial(remove, self._client, name))
        place = f"sandbox {sandbox}{f' of tenant {self._tenant}' if self._tenant else ''}"
        pod_sandbox: PodSandbox | None = None
        try:
            if pool:
                pod = claim_pod(self._client, pool, manifest, deadline)
            else:
                self._client.create_pod(manifest)
            state = await_running(self._client, pod, spec.image, deadline)
            end = functools.partial(self._removals.remove, name, wait=False)
            pod_sandbox = PodSandbox(
                self._client, pod, sandbox, token, state.node, self._tenant, spec, end
            )
            place = pod_sandbox.place
            if not self._allow_network:
                check_isolation(
                    pod_sandbox.open_program, state.node_addresses, place, _NETWORK_REMEDY
                )
        except BaseException as error:
            if pod_sandbox is not None:
                pod_sandbox.remove()
            self._removals.remove(name, wait=True)
            if isinstance(error, ForkError):
                error.name_place(place)
            if isinstance(error, ExecutorError) and not isinstance(error, ExecutorStartError):
                raise ExecutorStartError(str(error)) from None
            raise
        self._note(f"{place} is {f'claimed from warm pool {pool!r}' if pool else 'a new pod'}")
        return pod_sandbox

    def ours(self) -> list[str]:
        """Return the ids of this process's pods.

        Raises:
            EngineUnavailableError: the cluster does not answer.
        """
        records = map(PodRecord, self._client.list_pods())
        return [record.sandbox for record in records if record.is_own]

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals, also after :meth:`close`; return whether all are done."""
        return self._removals.wait(timeout)

    def close(self) -> None:
        """Close idle connections to the cluster; pods stay."""
        self._client.close()


def _run_check(
    client: ClusterClient,
    manifest: dict[str, Any],
    spec: ImageSpec,
    *,
    waiting: Callable[[str], None],
) -> None:
    """Run an image in a pod of its own.

    Args:
        manifest: Manifest of a pod with that image; changed to run the check. The caller removes
            the pod.
        waiting: takes the cluster's words about a pod that waits.

    Raises:
        ExecutorStartError: the cluster cannot pull or run it, or a distribution is missing.
    """
    name, image = str(manifest["metadata"]["name"]), str(spec.image)
    names = [Requirement(requirement).name for requirement in spec.requirements]
    container = manifest["spec"]["containers"][0]
    container["command"] = ["python", "-I", "-c", _CHECK, *names]
    container["stdin"] = False
    client.create_pod(manifest)
    state = await_running(
        client,
        name,
        image,
        Deadline(spec.build_timeout_seconds),
        option="build_timeout_seconds",
        until_ended=True,
        waiting=waiting,
    )
    if state.exit_code == 0:
        return
    log = client.log_lines(name, 8)
    if state.exit_code == _MISSING and log and log[0].startswith("missing:"):
        raise ExecutorStartError(
            f"image {image!r} has no {log[0].removeprefix('missing: ')}, which the imports need: "
            "nothing is installed in a cluster, so build it into the image"
        )
    raise ExecutorStartError(f"image {image!r} does not run Python: {state.status(tuple(log))}")
