"""Containers on a node: what the supervisor does with the node's Docker engine."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..codec import encode
from ..errors import EngineUnavailableError, ExecutorStartError
from ..sandboxes.container_options import ContainerOptions
from ..sandboxes.docker.container import DockerSandbox
from ..sandboxes.docker.docker_provisioner import DockerProvisioner
from ..sandboxes.provisioner import ByteStream, SandboxSpec
from ..stream.stream_copy import copy_both_ways
from .node_link import AnswerStream, answer_requests
from .node_supervisor import NodeSandbox

__all__ = ["DockerKind"]

_REMOVE_SECONDS = 20.0
# Limit of an answer of a container's first process, which waits for nothing, in seconds.
_ANSWER_SECONDS = 5.0
#: Methods of a container that the host may call.
_REQUESTS = ("stats", "status")


class DockerKind:
    """Starts containers, which end with their own leases if the supervisor is killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # By what is the same for equal options.
        self._provisioners: dict[bytes, DockerProvisioner] = {}

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
        image = provisioner.prepare_image(
            options["image"], report=lambda _line: None, rebuild=options["rebuild"]
        )
        digest = provisioner.image_digest(image)
        expected = options["digest"]
        if expected and digest != expected:
            raise ExecutorStartError(
                f"image {image!r} is {digest} here and {expected} on another node: load the same "
                "image on every node"
            )
        if options["spec"] is None:
            # In the place of a sandbox, for the time of its preparation.
            return NodeSandbox({"image": image, "digest": digest}, {}, lambda: None)
        spec: SandboxSpec = replace(options["spec"], image=image)
        return _container_on_node(provisioner.start(spec), digest)

    def _provisioner(self, container: ContainerOptions) -> DockerProvisioner:
        key = encode(container)
        with self._lock:
            if key not in self._provisioners:
                try:
                    self._provisioners[key] = DockerProvisioner(container)
                except EngineUnavailableError as error:
                    raise error.rephrase(
                        f"no Docker engine answers ({error}); start one there, or pass "
                        "RayEngine(sandbox='process')"
                    ) from error
            return self._provisioners[key]

    def close(self) -> None:
        """Wait until the containers are removed, and close the connections. Idempotent."""
        with self._lock:
            provisioners, self._provisioners = list(self._provisioners.values()), {}
        for provisioner in provisioners:
            provisioner.wait_until_removed(_REMOVE_SECONDS)
            provisioner.close()


def _container_on_node(sandbox: DockerSandbox, digest: str) -> NodeSandbox:
    """Return a container of this node, with what the host may ask of it."""

    def relay(open_inside: Callable[[float], ByteStream]) -> Callable[[float], AnswerStream]:
        return lambda timeout: AnswerStream(None, functools.partial(_copy, open_inside(timeout)))

    def request(name: str) -> bool:
        first = sandbox.first_process
        asked = first.interrupt() if name == "interrupt" else first.ask()
        return asked and first.wait(_ANSWER_SECONDS)

    def open_first_process(timeout: float) -> AnswerStream:
        del timeout
        return AnswerStream(None, functools.partial(answer_requests, request))

    def close() -> None:
        sandbox.remove()
        sandbox.wait_until_removed(_REMOVE_SECONDS)

    info = {
        "container": sandbox.id,
        "image": sandbox.spec.image,
        "digest": digest,
        "token": sandbox.gateway_token,
    }
    requests: dict[str, Callable[..., Any]] = {
        "open_stream": relay(lambda seconds: sandbox.open_stream(timeout=seconds)),
        "open_connections": relay(sandbox.open_multiplexer),
        "open_first_process": open_first_process,
        **{name: getattr(sandbox, name) for name in _REQUESTS},
    }
    return NodeSandbox(info, requests, close)


def _copy(inside: ByteStream, stream: socket.socket) -> None:
    """Copy between a stream in a container and one of the host, until one of them ends."""
    try:
        copy_both_ways(stream, inside)
    finally:
        inside.close()
