"""Ray as a description of a place: the cluster, and how sandboxes run on its nodes."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import ConfigurationError, EngineUnavailableError
from ..options import accept
from ..process.child_places import ChildPlace, ChildRequest
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.engine_protocol import Note, no_note
from ..sandboxes.provisioner import Provisioner
from ..sandboxes.resource_limits import parse_size, size_or_none
from .plain_data import Reservation
from .remote_children import RemoteChildren
from .remote_provisioner import RemoteProvisioner
from .supervisors import Cluster

__all__ = ["RayEngine"]

_LEAST_LEASE_SECONDS = 5.0
_MOST_SLOTS = 1000
# Processes share a node's cores: few of them compute at the same time.
_CPUS_PER_PROCESS = 0.25
_MEMORY_PER_PROCESS = 64 << 20
_HERE = "describes this machine, and the sandbox is on a node of the cluster"
_REFUSED = {
    "volumes": "paths of this machine do not exist on the nodes; pass files= instead",
    "host": f"it {_HERE}",
    "port": f"it {_HERE}",
    "ca_bundle": "a file of this machine does not exist on the nodes; put it in the image",
}


@dataclass(frozen=True)
class RayEngine:
    """A Ray cluster, on whose nodes sandboxes run.

    Args:
        address: Address of the head, such as ``"10.0.0.1:6379"`` or ``"ray://10.0.0.1:10001"``;
            ``None``: the one in ``RAY_ADDRESS``.
        sandbox: ``"docker"``: a container on a node; ``"process"``: a confined child process.
        slots_per_node: Number of sandboxes for which Ray sets resources aside at once.
        lease_seconds: Seconds without a heartbeat of this process after which a node closes its
            sandboxes.
        cpus_per_slot: Cores that Ray sets aside for a sandbox; ``None``: the sandbox's ``cpus``, a
            quarter of a core for a process.
        memory_per_slot: Bytes or text such as ``"2g"``, as above; ``None``: the sandbox's
            ``memory``, 64 MiB for a process.
        tenant: Name of the tenant whose sandboxes these are, for messages and figures; empty for
            none.
        allow_no_token: Whether to connect although ``RAY_AUTH_MODE`` is not ``token``; whoever
            reaches such a cluster runs code on every node.
        connect_timeout_seconds: Seconds for the head to accept a connection and send the first
            bytes; an answer may take longer.

    Raises:
        ConfigurationError: an argument is invalid.

    Example:
        >>> engine = RayEngine("10.0.0.1:6379", sandbox="process", slots_per_node=40)
        >>> agent = CodeAgent(
        ...     tools=[],
        ...     model=model,
        ...     executor_class=ProcessExecutor,
        ...     executor_kwargs={"engine": engine},
        ... )  # doctest: +SKIP
    """

    address: str | None = None
    sandbox: Literal["docker", "process"] = "docker"
    slots_per_node: int = 8
    lease_seconds: float = 15.0
    cpus_per_slot: float | None = None
    memory_per_slot: int | str | None = None
    tenant: str = ""
    allow_no_token: bool = False
    connect_timeout_seconds: float = 4.5

    def __post_init__(self) -> None:
        if self.address is not None and (not isinstance(self.address, str) or not self.address):
            raise ConfigurationError(
                f"RayEngine: address={self.address!r}: pass text such as '10.0.0.1:6379', or None "
                "for the one in RAY_ADDRESS"
            )
        accept.one_of("docker", "process")("sandbox", self.sandbox)
        slots = self.slots_per_node
        if type(slots) is not int or not 1 <= slots <= _MOST_SLOTS:
            raise ConfigurationError(
                f"RayEngine: slots_per_node={slots!r}: pass a whole number from 1 to {_MOST_SLOTS}"
            )
        if accept.seconds("lease_seconds", self.lease_seconds) < _LEAST_LEASE_SECONDS:
            raise ConfigurationError(
                f"RayEngine: lease_seconds={self.lease_seconds!r}: pass {_LEAST_LEASE_SECONDS:g} "
                "or more, because heartbeats come every two seconds"
            )
        accept.seconds("connect_timeout_seconds", self.connect_timeout_seconds)
        cpus = self.cpus_per_slot
        if cpus is not None and not _is_cpus(cpus):
            raise ConfigurationError(
                f"RayEngine: cpus_per_slot={cpus!r}: pass a number of cores, 0 or more, or None"
            )
        size_or_none("memory_per_slot", self.memory_per_slot)
        accept.flag("allow_no_token", self.allow_no_token)
        accept.tenant("tenant", self.tenant)

    @property
    def name(self) -> str:
        """Name for messages."""
        return "ray"

    @property
    def refused_options(self) -> Mapping[str, str]:
        """Options that describe this machine."""
        return _REFUSED

    def network_remedy(self, options: ContainerOptions, owner: str) -> str:
        """Return the advice that gives code a network; empty if it has one.

        Args:
            options: Options of the container.
            owner: Name of the class that has the options, for the message.
        """
        return options.network_remedy(owner)

    def reservation(self, cpus: float | None, memory: int | str | None) -> Reservation:
        """Return what Ray sets aside for the supervisor of sandboxes.

        Args:
            cpus: Cores of a sandbox; ``None`` without a limit.
            memory: Bytes or text such as ``"2g"`` of a sandbox; ``None`` without a limit.
        """
        cpus = cpus if self.cpus_per_slot is None else self.cpus_per_slot
        memory = memory if self.memory_per_slot is None else self.memory_per_slot
        return Reservation(
            kind=self.sandbox,
            slots=self.slots_per_node,
            cpus=1.0 if cpus is None else float(cpus),
            memory=0 if memory is None else parse_size(memory) or 0,
            lease_seconds=float(self.lease_seconds),
        )

    @property
    def _place(self) -> str:
        return self.address or os.environ.get("RAY_ADDRESS", "")

    def check(self) -> str:
        """Connect to the cluster, and so check the address and the token.

        Returns:
            the address.

        Raises:
            EngineUnavailableError: Ray is missing, or the address or token is wrong; says which.
        """
        self.cluster().close()
        return self._place

    def cluster(self) -> Cluster:
        """Connect to the cluster; the caller closes what it gets.

        Raises:
            EngineUnavailableError: Ray is missing, or the cluster cannot be reached; says why.
        """
        return Cluster(self._check_place(), self.connect_timeout_seconds)

    def _check_place(self) -> str:
        address = self._place
        if not address:
            raise EngineUnavailableError(
                "no address of a Ray cluster: pass RayEngine(address=...), such as "
                "'10.0.0.1:6379', or set RAY_ADDRESS"
            )
        if importlib.util.find_spec("ray") is None:
            raise EngineUnavailableError(
                "RayEngine needs Ray, which is not installed: pip install 'smolagents[ray]'"
            )
        if not self.allow_no_token and os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
            raise EngineUnavailableError(
                "Ray without a token lets anyone who reaches it run code on every node: set "
                "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN for the cluster and here, or pass "
                "allow_no_token=True to RayEngine"
            )
        return address

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> Provisioner:
        """Connect to the cluster for containers.

        Args:
            options: Options of the containers.
            note: Not called.

        Raises:
            ConfigurationError: ``sandbox="process"``, which has no containers.
            EngineUnavailableError: the cluster cannot be reached; says why.
        """
        del note
        if self.sandbox == "process":
            raise ConfigurationError(
                "RayEngine(sandbox='process') runs no containers: use ProcessExecutor(engine=...) "
                "or executor_type='ray', or RayEngine(sandbox='docker')"
            )
        return RemoteProvisioner(
            self,
            self.cluster(),
            options,
            self.reservation,
            self.lease_seconds,
            self.tenant,
        )

    def children(self, request: ChildRequest, *, note: Note = no_note) -> ChildPlace:
        """Connect to the cluster for process sandboxes.

        Args:
            request: Limits and options of the children.
            note: Not called.

        Raises:
            EngineUnavailableError: the cluster cannot be reached; says why.
        """
        del note
        if self.sandbox != "process":
            raise ConfigurationError(
                f"{self!r} runs containers: use DockerExecutor(engine=...), or "
                "RayEngine(sandbox='process')"
            )
        reservation = self.reservation(_CPUS_PER_PROCESS, _MEMORY_PER_PROCESS)
        return RemoteChildren(self.cluster(), reservation, request, self.tenant)


def _is_cpus(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and 0 <= value < 1_000_000
