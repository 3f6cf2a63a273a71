"""Choice of a sandbox's source: a claim from a warm pool, or a new pod.

Where ``warm_pool=`` names no pool, the engine looks once for pools that ``smolagents-fork setup
kubernetes`` made. A claim is made only where the pool's template has exactly what is asked for;
everything else, errors of the look-up too, leads to a new pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ....deadline import within
from ....errors import EngineUnavailableError, ExecutorError, ForkError
from ..api_client import CHECK_SECONDS, ClusterClient, ClusterRefusal
from ..pod_labels import MANAGED_BY
from .sandbox_claims import GROUP, POOLS, TEMPLATES, VERSION, differences

__all__ = ["PodSource", "WarmPools", "choose_source"]

_MOST_POOLS = 20
_MOST_SHOWN = 300


@dataclass(frozen=True)
class PodSource:
    """Source of a sandbox's pod.

    Attributes:
        pool: name of the warm pool that it is claimed from; empty for a new pod.
        reason: for this choice, for the log.
        optional: whether a new pod is started where the claim fails.
    """

    pool: str
    reason: str
    optional: bool = False

    def __str__(self) -> str:
        taken = f"claimed from warm pool {self.pool!r}" if self.pool else "a new pod"
        return f"{taken}: {self.reason}"


@dataclass(frozen=True)
class _Offer:
    """Warm pools of a namespace: name -> pod of the template; and why there is none."""

    pods: Mapping[str, Mapping[str, Any]]
    reason: str = ""


class WarmPools:
    """Warm pools that ``setup kubernetes`` made, looked for once in each namespace.

    An answer is final, a failed look-up too: a cluster whose custom resources do not work costs
    its time once. Belongs to one engine; a copy knows nothing. From any thread: starts at the
    same time may look at the same time.
    """

    def __init__(self) -> None:
        self._offers: dict[tuple[str, str], _Offer] = {}

    def __reduce__(self) -> tuple[type[WarmPools], tuple[()]]:
        return WarmPools, ()

    def offer(self, client: ClusterClient) -> _Offer:
        """Return the pools of the client's namespace; takes a few seconds at most.

        Args:
            client: Client of the cluster.
        """
        key = client.address, client.namespace
        known = self._offers.get(key)
        return self._offers.setdefault(key, _looked_up(client)) if known is None else known

    def give_up(self, client: ClusterClient, pool: str, error: ForkError) -> PodSource:
        """Return a new pod as the source, here and from now on in the client's namespace.

        Args:
            client: Client of the cluster.
            pool: name of the pool whose claim failed.
            error: Error of that claim.
        """
        reason = f"warm pool {pool!r} gave none: {str(error)[:_MOST_SHOWN]}"
        self._offers[client.address, client.namespace] = _Offer({}, reason)
        return PodSource("", reason)


def choose_source(
    warm_pool: str | Literal[False] | None,
    pools: WarmPools,
    client: ClusterClient,
    manifest: Mapping[str, Any],
) -> PodSource:
    """Choose where a sandbox's pod comes from.

    Args:
        warm_pool: argument of the engine.
        pools: Pools of the engine.
        client: Client of the cluster.
        manifest: Manifest of the pod that is asked for, as a pod of a warm pool.
    """
    if warm_pool is not None:
        return PodSource(warm_pool or "", f"warm_pool={warm_pool!r}")
    offer = pools.offer(client)
    reasons = [offer.reason] if offer.reason else []
    for pool, pod in offer.pods.items():
        # Without the values: those of environment variables do not belong into a log.
        different = list(differences(manifest, pod))
        if not different:
            return PodSource(pool, "its pods are as asked for", optional=True)
        reasons.append(f"warm pool {pool!r} differs in {', '.join(different)}")
    return PodSource("", "; ".join(reasons))


def _looked_up(client: ClusterClient) -> _Offer:
    late = EngineUnavailableError(f"looking for warm pools took more than {CHECK_SECONDS:g} s")
    try:
        pods = within(CHECK_SECONDS, lambda: _pods_of_pools(client), late)
    except ClusterRefusal as error:
        reason = {
            403: f"the account may not list {POOLS} and {TEMPLATES}",
            404: f"the cluster has no {POOLS} of {GROUP}/{VERSION}",
        }.get(error.status, str(error)[:_MOST_SHOWN])
        return _Offer({}, reason)
    except ExecutorError as error:
        return _Offer({}, str(error)[:_MOST_SHOWN])
    if pods:
        return _Offer(pods)
    made = "that 'smolagents-fork setup kubernetes' made"
    return _Offer({}, f"namespace {client.namespace!r} has no warm pool {made}")


def _pods_of_pools(client: ClusterClient) -> dict[str, Mapping[str, Any]]:
    """Return the pod in the template of each of our pools, by the pool's name."""
    pools = _listed(client, POOLS)
    if not pools:
        return {}
    templates = {one["metadata"]["name"]: one["spec"] for one in _listed(client, TEMPLATES)}
    named = {one["metadata"]["name"]: one["spec"]["sandboxTemplateRef"]["name"] for one in pools}
    return {
        pool: templates[template].get("podTemplate") or {}
        for pool, template in sorted(named.items())
        if template in templates
    }


def _listed(client: ClusterClient, plural: str) -> list[dict[str, Any]]:
    found = client.call(
        f"listing {plural}",
        client.custom.list_namespaced_custom_object,
        GROUP,
        VERSION,
        client.namespace,
        plural,
        label_selector=MANAGED_BY,
        limit=_MOST_POOLS,
        seconds=CHECK_SECONDS,
    )
    return list(found.get("items") or ())
