"""Containers on a node: what the supervisor does with the node's Docker engine."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...codec import encode
from ...errors import EngineUnavailableError, ExecutorError, ExecutorStartError
from ...process.watchdog import Watchdog
from ...sandboxes.cluster_owner import ClusterOwner
from ...sandboxes.container_options import ContainerOptions
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.docker.docker_provisioner import DockerProvisioner
from ...sandboxes.provisioner import ByteStream, ImageSpec, SandboxSpec
from ...sandboxes.removals import count_pending
from ...stream.stream_copy import copy_both_ways
from ...system.first_process_link import MARK
from ..node_link import AnswerStream, use_normal_priority
from .node_supervisor import NodeSandbox

__all__ = ["ContainerOnNode", "DockerKind", "PreparedImage"]

_REMOVE_SECONDS = 20.0
# Limit of an answer of a container's first process, which waits for nothing, in seconds.
_ANSWER_SECONDS = 5.0
# Time in which an engine that was dead when a supervisor ended may come back, in seconds.
_REAP_SECONDS = 60.0
_REAP = "smolagents_fork.sandboxes.docker.lifetime.orphans:reap_supervisor"
#: Methods of a container that the host may call.
_REQUESTS = (
    "list_files", "make_folder", "read_file", "stats", "status", "write_file",
)  # fmt: skip


class DockerKind:
    """Starts containers on this node. None outlives the supervisor for long, however that ends.

    Args:
        owner: the supervisor, which the containers' labels name.

    Raises:
        OSError: the process that watches the supervisor cannot be started.
    """

    def __init__(self, owner: ClusterOwner) -> None:
        self._owner = owner
        self._watchdog = Watchdog(_REAP, owner.cluster, owner.node, owner.supervisor, _REAP_SECONDS)
        self._lock = threading.Lock()
        # By what is the same for equal options.
        self._provisioners: dict[bytes, DockerProvisioner] = {}
        self._images: dict[bytes, tuple[str, str]] = {}
        self._image_locks: dict[bytes, threading.Lock] = {}

    def start(self, sandbox: str, options: dict[str, Any]) -> NodeSandbox:
        """Start a container, or only prepare its image.

        Args:
            sandbox: its id in the cluster.
            options: ``container``, ``image``, ``rebuild``, ``digest`` that the image must have,
                and ``spec``; without a ``spec`` only the image is prepared.

        Raises:
            EngineUnavailableError: this node has no Docker.
            ForkError: says what failed; the host names this node.
        """
        del sandbox
        provisioner = self._provisioner(options["container"])
        image, digest = self._prepared(provisioner, options["image"], options["rebuild"])
        wanted = options["digest"]
        if wanted and digest != wanted:
            raise ExecutorStartError(
                f"image {image!r} is {digest} here and {wanted} on another node: load the same "
                "image on every node"
            )
        if options["spec"] is None:
            return PreparedImage(image, digest)
        spec: SandboxSpec = replace(options["spec"], image=image)
        return ContainerOnNode(provisioner.start(spec), digest)

    def _provisioner(self, container: ContainerOptions) -> DockerProvisioner:
        key = encode(container)
        with self._lock:
            if key not in self._provisioners:
                try:
                    self._provisioners[key] = DockerProvisioner(container, owner=self._owner)
                except EngineUnavailableError as error:
                    raise error.reworded(
                        f"no Docker engine answers ({error}); start one there, or give "
                        "RayEngine(sandbox='process')"
                    ) from error
            return self._provisioners[key]

    def _prepared(
        self, provisioner: DockerProvisioner, image: ImageSpec, rebuild: bool
    ) -> tuple[str, str]:
        """Return name and digest of an image, which is built or pulled once on this node."""
        key = encode(image)
        with self._lock:
            lock = self._image_locks.setdefault(key, threading.Lock())
        # A build takes minutes; it keeps neither other images nor the end waiting.
        with lock:
            if rebuild or key not in self._images:
                name = provisioner.prepare_image(image, report=_unread, rebuild=rebuild)
                self._images[key] = (name, provisioner.image_digest(name))
            return self._images[key]

    def close(self) -> None:
        """Wait until the containers are removed, and close the connections. Idempotent."""
        with self._lock:
            provisioners, self._provisioners = list(self._provisioners.values()), {}
        for provisioner in provisioners:
            provisioner.wait_until_removed(_REMOVE_SECONDS)
            provisioner.close()
        self._watchdog.close(clean=not count_pending())


def _unread(_line: str) -> None:
    """Take a line of a build's progress, which nobody on a node reads."""


class PreparedImage:
    """An image in the place of a sandbox, for the time of its preparation.

    Args:
        image: its name.
        digest: by which this node's engine knows it.
    """

    #: An image has none.
    requests: Mapping[str, Callable[..., Any]] = {}

    def __init__(self, image: str, digest: str) -> None:
        self.info: dict[str, Any] = {"image": image, "digest": digest}

    def open_stream(self, timeout: float) -> AnswerStream:
        """Refuse: there is nothing to open."""
        del timeout
        raise ExecutorError(f"image {self.info['image']!r} has no stream")

    def close(self) -> None:
        """Keep the image."""


def _copy(inside: ByteStream, stream: socket.socket) -> None:
    """Copy between a stream in a container and one of the host, until one of them ends."""
    use_normal_priority()
    try:
        copy_both_ways(stream, inside)
    finally:
        inside.close()


class ContainerOnNode:
    """A container of this node.

    Args:
        sandbox: the container.
        digest: of its image.
    """

    def __init__(self, sandbox: DockerSandbox, digest: str) -> None:
        self._sandbox = sandbox
        self.requests: dict[str, Callable[..., Any]] = {
            "first_process": self._serve_first_process,
            "open_connections": self.open_connections,
            **{name: getattr(sandbox, name) for name in _REQUESTS},
        }
        self.info: dict[str, Any] = {
            "container": sandbox.id,
            "image": sandbox.spec.image,
            "digest": digest,
            "token": sandbox.gateway_token,
        }

    def open_stream(self, timeout: float) -> AnswerStream:
        """Open a stream to the gateway; the answer is its token."""
        inside = self._sandbox.open_stream(timeout=timeout)
        return AnswerStream(self._sandbox.gateway_token, functools.partial(_copy, inside))

    def open_connections(self, timeout: float) -> AnswerStream:
        """Open a stream to a multiplexer of connections.

        Args:
            timeout: seconds that may take.
        """
        inside = self._sandbox.open_multiplexer(timeout)
        return AnswerStream(None, functools.partial(_copy, inside))

    def _serve_first_process(self, stream: socket.socket) -> None:
        """Answer each request that the first process answers, until the host's end."""
        use_normal_priority()
        first = self._sandbox.first_process
        with stream.makefile("rb") as lines:
            for line in lines:
                request, _, number = line.decode().strip().partition(" ")
                asked = first.interrupt() if request == "interrupt" else first.ask()
                if asked and first.wait(_ANSWER_SECONDS):
                    stream.sendall(f"{MARK}answer {number} R\n".encode())

    def close(self) -> None:
        """Remove the container, and wait for that."""
        self._sandbox.remove()
        self._sandbox.wait_until_removed(_REMOVE_SECONDS)
