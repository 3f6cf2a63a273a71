"""Containers on the nodes of a cluster, as executors on the host use them."""

from __future__ import annotations

import dataclasses
import functools
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..deadline import Deadline
from ..errors import ForkError, ProtocolError, SandboxDiedError
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.lease_keeper import Lease
from ..sandboxes.multiplexer_start import CarriedConnections
from ..sandboxes.provisioner import (
    STEP,
    ByteStream,
    ImageSpec,
    Report,
    SandboxSpec,
    SandboxStatus,
)
from ..system.first_process_link import FirstProcess
from .placer_process import PlacerProcess
from .plain_data import Reservation, check_data
from .remote_sandbox import RemoteSandbox, RemoteSupervisor
from .supervisors import Cluster

__all__ = ["RemoteContainer", "RemoteProvisioner"]

_START_SECONDS = 120.0
# A late answer must not look like the end of a container that runs.
_STATUS_SECONDS = 20.0
# Limit of a connection to the first process.
_ATTEMPT_SECONDS = 5.0
# Preparing an image needs a node with Docker and next to nothing of it.
_PREPARING_CPUS = 0.01
# Nodes that prepare an image at the same time.
_NODES_AT_ONCE = 16
_BASE_IMAGE_VARIABLE = "SMOLAGENTS_FORK_BASE_IMAGE"


# Images that this process has had prepared, by cluster and name, with the digest that they need to
# have on other nodes; empty for any. Each provisioner starts them.
_images: dict[tuple[object, str], tuple[ImageSpec, str]] = {}


class RemoteProvisioner:
    """A provisioner of containers on the nodes of a cluster.

    Args:
        place: names the cluster; equal for equal engines.
        cluster: closed with this object.
        options: of the containers.
        reservation: returns what Ray sets aside for containers with these cores and this memory.
        lease_seconds: of supervisors.
        tenant: empty for none.
    """

    def __init__(
        self,
        place: object,
        cluster: Cluster,
        options: ContainerOptions,
        reservation: Callable[[float | None, int | str | None], Reservation],
        lease_seconds: float,
        tenant: str,
    ) -> None:
        self._place = place
        self._cluster = cluster
        self._container = options
        self._reservation = reservation
        self._preparing = Reservation("docker", 1, _PREPARING_CPUS, 0, lease_seconds)
        self._tenant = tenant

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        """Pull or build an image on one node unless that has it, and return its name.

        Other nodes prepare it when a container starts there for the first time.

        Args:
            spec: of the image.
            report: takes a line when a node prepares it.
            rebuild: build again, without a cache.

        Raises:
            ExecutorError: names the node and says why the image could not be prepared.
        """
        spec = _complete(spec)
        for (place, name), (known, _) in list(_images.items()):
            if place == self._place and known == spec and not rebuild:
                return name
        return self._prepare_anywhere(spec, report, rebuild=rebuild)[0]

    def _prepare_anywhere(
        self, spec: ImageSpec, report: Report, *, rebuild: bool
    ) -> tuple[str, str]:
        """Have a node prepare an image; return name and node."""
        report(f"{STEP}a node of the cluster prepares the image")
        name, digest, node = self._prepare(self._preparing, spec, rebuild=rebuild)
        # What is built is named by its content; what is used as it is may differ from node to node.
        _images[self._place, name] = (spec, digest if spec.image is not None else "")
        return name, node

    def prepare_on_all_nodes(
        self, spec: ImageSpec, *, report: Report, rebuild: bool = False
    ) -> str:
        """Pull or build an image on every node that lacks it, and return its name.

        A node that fails is reported, and refuses containers later with the same words.

        Args:
            spec: of the image.
            report: takes a line for each node.
            rebuild: build again, without a cache.

        Raises:
            ExecutorError: no node could prepare it; names one and says why.
        """
        spec = _complete(spec)
        name, first = self._prepare_anywhere(spec, report, rebuild=rebuild)
        digest = _images[self._place, name][1]
        nodes = self._cluster.supervisors.nodes(self._preparing)

        def prepare(node: str) -> str:
            try:
                if node != first:
                    there = dataclasses.replace(self._preparing, node=node)
                    self._prepare(there, spec, digest, rebuild=rebuild)
            except ForkError as error:
                return f"not on every node: {error}"
            return f"node {node} has the image"

        with ThreadPoolExecutor(_NODES_AT_ONCE, "smolagents-fork-images") as threads:
            for line in threads.map(prepare, nodes):
                report(f"{STEP}{line}")
        return name

    def _prepare(
        self, reservation: Reservation, image: ImageSpec, digest: str = "", *, rebuild: bool
    ) -> tuple[str, str, str]:
        """Have a node prepare an image; return name, digest and node."""
        options = self._options(image, digest, None, rebuild=rebuild)
        seconds = _START_SECONDS + image.build_timeout_seconds
        supervisors = self._cluster.supervisors
        sandbox = supervisors.start(reservation, options, RemoteSandbox, timeout=seconds)
        sandbox.end()
        name, image_digest = sandbox.info.get("image"), sandbox.info.get("digest")
        if type(name) is not str or type(image_digest) is not str:
            raise ProtocolError(f"{sandbox}: an image has a name and a digest")
        return name, image_digest, sandbox.supervisor.place.node

    def _options(
        self, image: ImageSpec, digest: str, spec: SandboxSpec | None, *, rebuild: bool = False
    ) -> dict[str, Any]:
        return {
            "container": self._container,
            "image": image,
            "digest": digest,
            "rebuild": rebuild,
            "spec": spec
            and dataclasses.replace(
                spec, proxy=None, environment={**spec.environment, **spec.proxy_variables}
            ),
        }

    def start(self, spec: SandboxSpec) -> RemoteContainer:
        """Start a container on any node with a free slot; see :class:`Provisioner`."""
        # One that is not known is used as it is.
        image, digest = _images.get((self._place, spec.image), (ImageSpec(image=spec.image), ""))
        seconds = _START_SECONDS + image.build_timeout_seconds
        return self._cluster.supervisors.start(
            self._reservation(spec.limits.cpus, spec.limits.memory),
            self._options(image, digest, spec),
            functools.partial(RemoteContainer, spec),
            tenant=self._tenant,
            timeout=seconds,
            slot_timeout=spec.start_seconds,
        )

    def ours(self) -> list[str]:
        """Return the ids of the containers of this process that exist on the cluster."""
        sandboxes = self._cluster.sandboxes()
        return [sandbox.id for sandbox in sandboxes if isinstance(sandbox, RemoteContainer)]

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals, also after :meth:`close`; return whether all are done."""
        deadline = Deadline(timeout)
        ending = [sandbox for sandbox in self._cluster.sandboxes() if sandbox.ending]
        return all(sandbox.removed.wait(deadline.at_most(timeout)) for sandbox in ending)

    def close(self) -> None:
        """Give the cluster back; running sandboxes stay. Idempotent."""
        self._cluster.close()


def _complete(spec: ImageSpec) -> ImageSpec:
    """Return an image with this process's base, which nodes do not know."""
    base = spec.base_image or os.environ.get(_BASE_IMAGE_VARIABLE) or None
    return dataclasses.replace(spec, base_image=base, requirements=tuple(spec.requirements))


class RemoteContainer(RemoteSandbox):
    """A container on a node."""

    def __init__(
        self,
        spec: SandboxSpec,
        supervisor: RemoteSupervisor,
        placer: PlacerProcess,
        tenant: str,
    ) -> None:
        super().__init__(supervisor, placer, tenant)
        self.spec = spec
        self._carried = (
            None
            if spec.proxy is None
            else CarriedConnections(spec.proxy, self._open_connections, f"sandbox {self.id}")
        )
        #: Id of the container at its node's engine.
        self.container_id = ""
        #: Token that the gateway asks for.
        self.gateway_token = ""
        #: The container's first process, which its node asks; ``None`` before the start.
        self.first_process: FirstProcess | None = None
        self._lease: Lease | None = None

    def start(self, options: dict[str, Any], seconds: float) -> None:
        """Have its node start it; see :meth:`RemoteSandbox.start`."""
        super().start(options, seconds)
        token, container = self.info.get("token"), self.info.get("container")
        if type(token) is not str or type(container) is not str:
            raise ProtocolError("a container has an id and a token")
        self.container_id, self.gateway_token = container, token
        stream = self._open_requests()
        self._lease = Lease(stream, self._open_requests_again, self.spec.lease_seconds)
        self.first_process = self._lease.first_process

    @property
    def place(self) -> str:
        """Sandbox, node and tenant, for messages."""
        return str(self)

    def open_stream(self, *, timeout: float) -> ByteStream:
        """Open a stream to the kernel gateway; see :class:`Sandbox`."""
        stream = self.open_remote_stream(timeout)[1]
        if self._carried is not None:
            self._carried.serve_beside(stream, timeout)
        return stream

    def _open_connections(self, timeout: float) -> ByteStream:
        return self.open_remote_stream(timeout, "open_connections")[1]

    def _open_requests(self) -> socket.socket:
        stream = self.open_remote_stream(_ATTEMPT_SECONDS, "open_first_process")[1]
        stream.setblocking(False)
        return stream

    def _open_requests_again(self) -> socket.socket | None:
        try:
            return None if self.ending else self._open_requests()
        except SandboxDiedError:
            return None

    def status(self) -> SandboxStatus:
        """Return its status; never raises, takes the time that a busy node needs at most."""
        if self.ending:
            return SandboxStatus("ended and was removed")
        try:
            return check_data(self.call("status", timeout=_STATUS_SECONDS), SandboxStatus)
        except Exception as error:
            if self.lost:
                return SandboxStatus(f"lost with its node: {self.lost}")
            return SandboxStatus(f"unknown: {error}")

    def remove(self) -> None:
        """End and remove it in the background. Idempotent."""
        self.end()
        if self._lease is not None:
            self._lease.close()
