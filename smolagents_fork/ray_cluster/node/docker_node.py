"""Containers on a node: what the supervisor does with the node's Docker engine."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

from ...errors import (
    EngineUnavailableError,
    ExecutorError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
)
from ...sandboxes.cluster_owner import ClusterOwner
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.docker.docker_provisioner import DockerProvisioner
from ...sandboxes.docker.lifetime import reaper
from ...sandboxes.provisioner import ImageSpec
from ..links.container_data import (
    as_data,
    container_options_of,
    image_spec_of,
    sandbox_spec_of,
    send_head,
)
from ..links.stream_copy import copy_both_ways
from ..links.thread_priority import use_normal_priority
from .node_sandboxes import NodeSandbox
from .watchdog import Watchdog

__all__ = ["ContainerOnNode", "DockerKind", "PreparedImage"]

_PIECE = 1 << 18
_REMOVE_SECONDS = 20.0
# Time in which an engine that was dead when a supervisor ended may come back, in seconds.
_REAP_SECONDS = 60.0
_REAP = "smolagents_fork.sandboxes.docker.lifetime.reaper:reap_supervisor"
_FILE_SECONDS = 600.0


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
        self._provisioners: dict[str, DockerProvisioner] = {}
        self._images: dict[str, tuple[str, str]] = {}
        self._image_locks: dict[str, threading.Lock] = {}

    def start(self, sandbox: str, options: dict[str, Any]) -> NodeSandbox:
        """Start a container, or only prepare its image.

        Args:
            sandbox: its id in the cluster.
            options: ``container``, ``image``, ``rebuild``, ``digest`` that the image must have,
                and ``spec``; without a ``spec`` only the image is prepared.

        Raises:
            EngineUnavailableError: this node has no Docker.
            ForkError: says what failed; the helper process names this node.
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
        started = provisioner.start(sandbox_spec_of({**options["spec"], "image": image}))
        return ContainerOnNode(started, digest)

    def _provisioner(self, container: Any) -> DockerProvisioner:
        key = json.dumps(container, sort_keys=True)
        with self._lock:
            if key not in self._provisioners:
                try:
                    self._provisioners[key] = DockerProvisioner(
                        container_options_of(container), owner=self._owner
                    )
                except EngineUnavailableError as error:
                    raise error.reworded(
                        f"no Docker engine answers ({error}); start one there, or give "
                        "RayEngine(sandbox='process')"
                    ) from error
            return self._provisioners[key]

    def _prepared(
        self, provisioner: DockerProvisioner, image: Any, rebuild: bool
    ) -> tuple[str, str]:
        """Return name and digest of an image, which is built or pulled once on this node."""
        key = json.dumps(image, sort_keys=True)
        with self._lock:
            lock = self._image_locks.setdefault(key, threading.Lock())
        # A build takes minutes; it keeps neither other images nor the end waiting.
        with lock:
            if rebuild or key not in self._images:
                spec: ImageSpec = image_spec_of(image)
                name = provisioner.prepare_image(spec, report=_unread, rebuild=rebuild)
                self._images[key] = (name, provisioner.image_digest(name))
            return self._images[key]

    def close(self) -> None:
        """Wait until the containers are removed, and close the connections. Idempotent."""
        with self._lock:
            provisioners, self._provisioners = list(self._provisioners.values()), {}
        for provisioner in provisioners:
            provisioner.wait_until_removed(_REMOVE_SECONDS)
            provisioner.close()
        self._watchdog.close(clean=not reaper.pending())


def _unread(_line: str) -> None:
    """Take a line of a build's progress, which nobody on a node reads."""


class PreparedImage:
    """An image in the place of a sandbox, for the time of its preparation.

    Args:
        image: its name.
        digest: by which this node's engine knows it.
    """

    def __init__(self, image: str, digest: str) -> None:
        self.info: dict[str, Any] = {"image": image, "digest": digest}

    def serve(self, stream: socket.socket, purpose: str) -> None:
        """Close the stream: there is nothing to open."""
        del purpose
        stream.close()

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        """Refuse every request."""
        del arguments
        raise ExecutorError(f"an image has no request {method!r}")

    def close(self) -> None:
        """Keep the image."""


class ContainerOnNode:
    """A container of this node.

    Args:
        sandbox: the container.
        digest: of its image.
    """

    def __init__(self, sandbox: DockerSandbox, digest: str) -> None:
        self._sandbox = sandbox
        self.info: dict[str, Any] = {
            "container": sandbox.id,
            "image": sandbox.spec.image,
            "digest": digest,
            "token": sandbox.gateway_token,
        }

    def serve(self, stream: socket.socket, purpose: str) -> None:
        """Serve the gateway's stream, or the content of a file; see ``container_data``."""
        try:
            request = json.loads(purpose)
            action = request.pop("action")
            if action == "gateway":
                self._serve_gateway(stream, **request)
            elif action == "read":
                data = self._sandbox.read_file(**request)
                send_head(stream, {"size": len(data)}, None)
                stream.sendall(data)
            elif action == "write":
                self._sandbox.write_file(
                    request["path"], _pieces(stream, request["size"]), request["size"]
                )
                send_head(stream, {}, None)
            else:
                raise ExecutorError(f"a container has no stream {action!r}")
        except ForkError as error:
            _send_error(stream, error)
        except (OSError, ValueError, KeyError, TypeError) as error:
            _send_error(stream, ExecutorError(f"{type(error).__name__}: {error}"))

    def _serve_gateway(self, stream: socket.socket, timeout: float) -> None:
        inside = self._sandbox.open_stream(timeout=timeout)
        try:
            send_head(stream, {"token": self._sandbox.gateway_token}, None)
            use_normal_priority()
            copy_both_ways(stream, inside)
        finally:
            inside.close()

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        """Carry out a request and return plain data."""
        if method == "status":
            return as_data(self._sandbox.status())
        if method == "stats":
            return as_data(self._sandbox.stats())
        if method == "list_files":
            return as_data(self._sandbox.list_files(str(arguments["path"])))
        if method == "make_folder":
            return self._sandbox.make_folder(str(arguments["path"]))
        if method == "responds":
            return self._sandbox.engine_responds()
        raise ExecutorError(f"a container has no request {method!r}")

    def close(self) -> None:
        """Remove the container, and wait for that."""
        self._sandbox.remove()
        self._sandbox.wait_until_removed(_REMOVE_SECONDS)


def _send_error(stream: socket.socket, error: ForkError) -> None:
    with contextlib.suppress(OSError):
        send_head(stream, {}, error)


def _pieces(stream: socket.socket, size: int) -> Iterator[bytes]:
    """Yield the ``size`` bytes that the host sends."""
    left = size
    stream.settimeout(_FILE_SECONDS)
    while left > 0:
        piece = stream.recv(min(left, _PIECE))
        if not piece:
            raise ProtocolError(f"{left} of the file's {size} bytes did not come")
        left -= len(piece)
        yield piece
