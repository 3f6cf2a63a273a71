"""The provisioner of Docker's engine."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from typing import Any

from ...errors import ConfigurationError
from ..provisioner import SandboxSpec
from . import reaper
from .container import DockerSandbox, StartedContainer
from .container_options import ContainerOptions
from .create_arguments import container_arguments
from .engine import (
    API_TIMEOUT_SECONDS,
    carries_output,
    check_answers,
    connect,
    disconnect,
    mapped_errors,
    post_patience,
)
from .exec_stream import AttachedConnection, StreamUnsupported
from .gateway_access import GatewayAccess
from .labels import LABEL, owner_label
from .lease import main_command
from .log_reader import LoggedConnection

__all__ = ["DockerProvisioner"]


class DockerProvisioner:
    """Starts containers on the engine that ``DOCKER_HOST`` names, or the local one.

    Args:
        options: of the containers.
        note: gets a line for the user's log.

    Raises:
        EngineUnavailableError: no engine answers.
        ConfigurationError: a port was asked for that could not be reached from here.
    """

    def __init__(
        self,
        options: ContainerOptions | None = None,
        *,
        note: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._options = options or ContainerOptions()
        self.client: Any = connect()
        try:
            self._access = GatewayAccess(self.client, self._options, note)
        except BaseException:
            disconnect(self.client)
            raise
        self._carries_output = carries_output(self.client)
        reaper.reap_once()

    def start(self, spec: SandboxSpec) -> DockerSandbox:
        """Create and start a container.

        Raises:
            ConfigurationError: an argument the engine refuses.
            ExecutorStartError: the image is missing, the port is taken ...
            EngineUnavailableError: the engine does not answer; noticed in three seconds.
        """
        return DockerSandbox(self.client, self._start(spec), spec, self._access, self._start)

    def _start(self, spec: SandboxSpec) -> StartedContainer:
        try:
            return self._started(spec)
        except StreamUnsupported:
            # The first connection that is attached takes the container's input along when it
            # closes, so that it takes another container to do without the output.
            self._carries_output = False
            return self._started(spec)

    def _started(self, spec: SandboxSpec) -> StartedContainer:
        options, published = self._options, self._access.published
        name = f"smolagents-fork-{secrets.token_hex(8)}"
        check_answers(self.client)
        lease: AttachedConnection | None = None
        # Whatever stage it fails at: the name is known before the engine is asked.
        with reaper.starting(name):
            try:
                with mapped_errors(
                    "starting the container",
                    image=spec.image,
                    runtime=options.runtime,
                    network=options.network,
                    port=options.port if published else None,
                ):
                    config = self.client.api.inspect_image(spec.image)["Config"] or {}
                    command = main_command(config, options.container_run_kwargs)
                    arguments = container_arguments(
                        spec, options, name, published=published, command=command
                    )
                    container = self._created(arguments)
                    lease = self._attached(container, framed=not arguments.get("tty"))
                    container.start()
            except BaseException:
                if lease is not None:
                    lease.close()
                reaper.remove(self.client, name, wait=True)
                raise
        return StartedContainer(container, name, published, lease)

    def _attached(self, container: Any, *, framed: bool) -> AttachedConnection:
        """The connection that holds the container's input open and, where it can, its output's end.

        Raises:
            StreamUnsupported: this connection was thought to carry output, and does not.
        """
        # Output only where it is read; otherwise the container would wait for a reader.
        output = int(self._carries_output)
        params = {"stdin": 1, "stdout": output, "stderr": output, "stream": 1}
        # For this call alone docker-py sets no limit.
        with post_patience(self.client.api, API_TIMEOUT_SECONDS):
            handed_over = self.client.api.attach_socket(container.id, params=params)
        if not output:
            return AttachedConnection(handed_over)
        try:
            return LoggedConnection(handed_over, framed=framed)
        except StreamUnsupported:
            AttachedConnection(handed_over).close()
            raise

    def _created(self, arguments: dict[str, Any]) -> Any:
        """The container, without a limit on its disk where the engine's storage has none."""
        import docker

        try:
            return self.client.containers.create(**arguments)
        except TypeError as error:
            # docker-py's word for an argument it does not know or take.
            raise ConfigurationError(
                f"container_run_kwargs: {error}; they are docker-py's arguments of containers.run"
            ) from error
        except docker.errors.APIError as error:
            words = str(error.explanation or error)
            if "storage_opt" not in arguments or "storage-opt" not in words.lower():
                raise
        size = arguments.pop("storage_opt")["size"]
        warnings.warn(
            f"read_only=False with disk_size={size!r}: this engine cannot limit what a container "
            f"writes into its root file system ({words}); the code can fill the engine's disk",
            UserWarning,
            stacklevel=2,
        )
        return self.client.containers.create(**arguments)

    def ours(self) -> list[str]:
        """Return the short ids of this process' containers that are there.

        Raises:
            EngineUnavailableError: the engine does not answer.
        """
        with mapped_errors("listing containers"):
            found = self.client.api.containers(filters={"label": f"{LABEL}={owner_label()}"})
        return [str(container["Id"])[:12] for container in found]

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for removals under way; return whether all are done. Also after :meth:`close`.

        Args:
            timeout: seconds to wait at most.
        """
        return reaper.wait_until_removed(timeout)

    def close(self) -> None:
        """Close the connections to the engine."""
        disconnect(self.client)
