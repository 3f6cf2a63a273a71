"""Containers on the nodes of a cluster, as executors on the host use them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..deadline import Deadline
from ..errors import ExecutorError, ForkError, ProtocolError, SandboxDiedError
from ..forks import reset_in_child
from ..results import ExecutorStats, FileInfo
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.provisioner import (
    STEP,
    ByteStream,
    ImageSpec,
    Report,
    SandboxSpec,
    SandboxStatus,
)
from ..sandboxes.resource_limits import Limits
from .cluster_client import Cluster, RemoteSandbox
from .links.container_data import as_data, file_infos_of, read_head, stats_of, status_of
from .reservation import Reservation

__all__ = ["RemoteContainer", "RemoteProvisioner"]

_START_SECONDS = 120.0
# A late answer must not look like the end of a container that runs.
_STATUS_SECONDS = 20.0
_PING_SECONDS = 2.0
_FILE_SECONDS = 600.0
_REMOVE_SECONDS = 60.0
_PIECE = 1 << 18
# Preparing an image needs a node with Docker and next to nothing of it.
_PREPARING_CPUS = 0.01
# Nodes that prepare an image at the same time.
_NODES_AT_ONCE = 16
_BASE_IMAGE_VARIABLE = "SMOLAGENTS_FORK_BASE_IMAGE"


@dataclass(frozen=True)
class _Known:
    """An image that a node has prepared: how to prepare it on others, and its digest there."""

    spec: ImageSpec
    digest: str


class _Images:
    """Images that this process has had prepared, by name: any of its provisioners starts them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[object, str], _Known] = {}

    def add(self, cluster: object, name: str, known: _Known) -> None:
        """Note an image."""
        with self._lock:
            self._known[cluster, name] = known

    def find(self, cluster: object, name: str) -> _Known:
        """Return an image; one that is not known is used as it is."""
        with self._lock:
            return self._known.get((cluster, name), _Known(ImageSpec(image=name), ""))

    def prepared(self, cluster: object, spec: ImageSpec) -> str | None:
        """Return the name of an image that was prepared from the same specification."""
        with self._lock:
            found = (n for (c, n), one in self._known.items() if c == cluster and one.spec == spec)
            return next(found, None)


_images = _Images()


class _Removals:
    """Removals that are under way."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._pending = 0
        self._existing: set[str] = set()

    def started(self, container: str) -> None:
        """Note a container of this process."""
        with self._changed:
            self._existing.add(container)

    def existing(self) -> list[str]:
        """Return the containers of this process."""
        with self._changed:
            return list(self._existing)

    def begin(self, container: str, work: Callable[[], None]) -> None:
        """Remove a container in the background."""
        with self._changed:
            self._pending += 1

        def remove() -> None:
            try:
                with contextlib.suppress(Exception):
                    work()
            finally:
                with self._changed:
                    self._pending -= 1
                    self._existing.discard(container)
                    self._changed.notify_all()

        try:
            threading.Thread(target=remove, name="smolagents-fork-remove", daemon=True).start()
        except RuntimeError:  # no thread can be started now: the node's lease ends it
            with self._changed:
                self._pending -= 1

    def wait(self, seconds: float) -> bool:
        """Wait for all; return whether they are done."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending, seconds)


_removals = _Removals()


@reset_in_child
def _after_fork() -> None:
    """Reset a forked child, which has none of its parent's containers."""
    global _removals
    _removals = _Removals()


class RemoteProvisioner:
    """A provisioner of containers on the nodes of a cluster.

    Args:
        place: names the cluster; equal for equal engines.
        cluster: closed with this object.
        options: of the containers.
        reservation: returns what Ray sets aside for containers with these limits.
        lease_seconds: of supervisors.
        tenant: empty for none.
    """

    def __init__(
        self,
        place: object,
        cluster: Cluster,
        options: ContainerOptions,
        reservation: Callable[[Limits], Reservation],
        lease_seconds: float,
        tenant: str,
    ) -> None:
        self._place = place
        self._cluster = cluster
        self._container = as_data(options)
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
        return self._prepared_anywhere(spec, report, rebuild=rebuild)[0]

    def _prepared_anywhere(
        self, spec: ImageSpec, report: Report, *, rebuild: bool
    ) -> tuple[str, str]:
        """Return name and node of an image; no node if one has prepared it before."""
        base = spec.base_image or os.environ.get(_BASE_IMAGE_VARIABLE) or None
        spec = dataclasses.replace(spec, base_image=base, requirements=tuple(spec.requirements))
        known = _images.prepared(self._place, spec)
        if known is not None and not rebuild:
            return known, ""
        report(f"{STEP}a node of the cluster prepares the image")
        name, digest, node = self._prepared(self._preparing, _Known(spec, ""), rebuild=rebuild)
        # What is built is named by its content; what is used as it is may differ from node to node.
        _images.add(self._place, name, _Known(spec, digest if spec.image is not None else ""))
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
        name, first = self._prepared_anywhere(spec, report, rebuild=rebuild)
        known = _images.find(self._place, name)
        nodes = self._cluster.nodes(self._preparing)

        def prepare(node: str) -> str:
            try:
                if node != first:
                    there = dataclasses.replace(self._preparing, node=node)
                    self._prepared(there, known, rebuild=rebuild)
            except ForkError as error:
                return f"not on every node: {error}"
            return f"node {node} has the image"

        with ThreadPoolExecutor(_NODES_AT_ONCE, "smolagents-fork-images") as threads:
            for line in threads.map(prepare, nodes):
                report(f"{STEP}{line}")
        return name

    def _prepared(
        self, reservation: Reservation, image: _Known, *, rebuild: bool = False
    ) -> tuple[str, str, str]:
        """Have a node prepare an image; return name, digest and node."""
        options = self._options(image, None, rebuild=rebuild)
        seconds = _START_SECONDS + image.spec.build_timeout_seconds
        made = self._cluster.start(reservation, options, timeout=seconds)
        try:
            name, digest = made.info.get("image"), made.info.get("digest")
        finally:
            made.remove()
        if type(name) is not str or type(digest) is not str:
            raise ProtocolError(f"{made}: an image has a name and a digest")
        return name, digest, made.node

    def _options(
        self, image: _Known, spec: SandboxSpec | None, *, rebuild: bool = False
    ) -> dict[str, Any]:
        return {
            "container": self._container,
            "image": as_data(image.spec),
            "digest": image.digest,
            "rebuild": rebuild,
            "spec": None if spec is None else as_data(spec),
        }

    def start(self, spec: SandboxSpec) -> RemoteContainer:
        """Start a container on any node with a free slot; see :class:`Provisioner`."""
        image = _images.find(self._place, spec.image)
        seconds = _START_SECONDS + image.spec.build_timeout_seconds
        made = self._cluster.start(
            self._reservation(spec.limits),
            self._options(image, spec),
            tenant=self._tenant,
            timeout=seconds,
            slot_timeout=spec.start_seconds,
        )
        return RemoteContainer(made, spec)

    def ours(self) -> list[str]:
        """Return the ids of the containers of this process that exist."""
        return _removals.existing()

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals, also after :meth:`close`; return whether all are done."""
        return _removals.wait(timeout)

    def close(self) -> None:
        """Give the cluster back; running sandboxes stay. Idempotent."""
        self._cluster.close()


class RemoteContainer:
    """A container on a node.

    Args:
        sandbox: as the cluster knows it.
        spec: that it was started from.
    """

    def __init__(self, sandbox: RemoteSandbox, spec: SandboxSpec) -> None:
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._removed = False
        self.spec = spec
        token, container = sandbox.info.get("token"), sandbox.info.get("container")
        if type(token) is not str or type(container) is not str:
            sandbox.remove()
            raise ProtocolError(f"{sandbox}: a container has an id and a token")
        #: Id of the container at its node's engine.
        self.container_id: str = container
        #: Token that the gateway asks for.
        self.gateway_token: str = token
        _removals.started(sandbox.id)

    @property
    def id(self) -> str:
        """Id in the cluster."""
        return self._sandbox.id

    @property
    def node(self) -> str:
        """Id of the node."""
        return self._sandbox.node

    @property
    def place(self) -> str:
        """Sandbox, node and tenant, for messages."""
        return str(self._sandbox)

    @property
    def lost(self) -> str:
        """Reason for which its node was given up; empty while it was not."""
        return self._sandbox.lost

    def _open(self, request: dict[str, Any], seconds: float) -> socket.socket:
        return self._sandbox.open_stream(json.dumps(request), timeout=seconds)

    def open_stream(self, *, timeout: float) -> ByteStream:
        """Open a stream to the kernel gateway; see :class:`Sandbox`."""
        deadline = Deadline(timeout)
        stream = self._open({"action": "gateway", "timeout": timeout}, timeout)
        try:
            with self._sandbox.named():
                head = self._head(stream, deadline.at_most(timeout))
            token = head.get("token")
            if type(token) is not str:
                raise ProtocolError(f"{self._sandbox}: a gateway's stream begins with its token")
            self.gateway_token = token
            return stream
        except BaseException:
            stream.close()
            raise

    def _head(self, stream: socket.socket, seconds: float) -> dict[str, Any]:
        """Read a stream's first line; say so if the node was lost meanwhile."""
        try:
            return read_head(stream, seconds)
        except ConnectionError as error:
            reason = self._sandbox.why_lost()
            if reason:
                raise SandboxDiedError(reason, cause="node") from error
            raise ExecutorError(f"its node ended the stream: {error}") from error

    def record_call(self, seconds: float) -> None:
        """Record the time of a run; see :meth:`RemoteSandbox.record_call`."""
        self._sandbox.record_call(seconds)

    def engine_responds(self) -> bool:
        """Return whether the node and its engine may answer; takes a few seconds at most.

        A node that is slow says nothing about its engine, and heartbeats find one that is lost.
        """
        with contextlib.suppress(ForkError):
            if not self._sandbox.lost:
                return self._sandbox.call("responds", {}, timeout=_PING_SECONDS) is not False
        return not self._sandbox.lost

    def status(self) -> SandboxStatus:
        """Return its status; never raises, takes the time that a busy node needs at most."""
        if self._removed:
            return SandboxStatus("ended and was removed")
        try:
            if not self._sandbox.lost:
                return status_of(self._sandbox.call("status", {}, timeout=_STATUS_SECONDS))
        except ForkError as error:
            if not self._sandbox.why_lost():
                return SandboxStatus(f"unknown: {error}")
        except Exception as error:
            return SandboxStatus(f"unknown: {error!r}")
        return SandboxStatus(f"lost with its node: {self._sandbox.lost}")

    def stats(self) -> ExecutorStats:
        """Return its resource use now; see :class:`Sandbox`."""
        return stats_of(self._sandbox.call("stats", {}))

    def write_file(self, path: str, pieces: Iterable[bytes], size: int) -> None:
        """Write a file; see :class:`Sandbox`."""
        stream = self._open({"action": "write", "path": path, "size": size}, _FILE_SECONDS)
        with stream, self._sandbox.named():
            stream.settimeout(_FILE_SECONDS)
            sent = 0
            try:
                for piece in pieces:
                    sent += len(piece)
                    stream.sendall(piece)
            except ConnectionError:
                pass  # the node has an error to tell
            if sent < size:
                stream.shutdown(socket.SHUT_WR)
            self._head(stream, _FILE_SECONDS)

    def make_folder(self, path: str) -> None:
        """Make a folder; see :class:`Sandbox`."""
        self._sandbox.call("make_folder", {"path": path})

    def read_file(self, path: str, max_bytes: int) -> bytes:
        """Read a file; see :class:`Sandbox`."""
        request = {"action": "read", "path": path, "max_bytes": max_bytes}
        with self._open(request, _FILE_SECONDS) as stream, self._sandbox.named():
            size = self._head(stream, _FILE_SECONDS).get("size")
            if type(size) is not int or not 0 <= size <= max_bytes:
                raise ProtocolError(f"a file of {size!r} bytes, of at most {max_bytes}")
            stream.settimeout(_FILE_SECONDS)
            data = bytearray()
            while len(data) < size:
                piece = stream.recv(min(_PIECE, size - len(data)))
                if not piece:
                    raise ExecutorError(
                        f"{size - len(data)} of the {size} bytes of {path} are missing"
                    )
                data += piece
            return bytes(data)

    def list_files(self, path: str) -> list[FileInfo]:
        """List files; see :class:`Sandbox`."""
        return file_infos_of(self._sandbox.call("list_files", {"path": path}))

    def remove(self) -> None:
        """End and remove it in the background. Idempotent."""
        with self._lock:
            if self._removed:
                return
            self._removed = True

        def work() -> None:
            self._sandbox.remove_and_wait(_REMOVE_SECONDS)

        _removals.begin(self._sandbox.id, work)
