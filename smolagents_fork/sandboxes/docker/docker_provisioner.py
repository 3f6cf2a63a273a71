"""Docker's engine as a provisioner."""

from __future__ import annotations

import functools
import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ConfigurationError, EngineUnavailableError, ExecutorStartError
from ..container_options import ContainerOptions
from ..containers.listed_entries import read_entries
from ..engine_protocol import no_note
from ..process_owner import owner_text
from ..provisioner import ImageSpec, Report, SandboxSpec
from ..removals import Removals
from ..resource_limits import parse_size
from .container import DockerSandbox
from .create_arguments import container_arguments, main_command
from .engine import (
    API_TIMEOUT_SECONDS,
    check_answers,
    connect,
    disconnect,
    image_id,
    mapped_errors,
)
from .engine_address import EngineAddress
from .images.build_record import remove_unfinished
from .images.image_builder import prepare_image
from .lifetime.labels import LABEL, own_id
from .lifetime.orphans import reap, remove_container
from .published_port import published_host
from .streams.gateway_socket import LABEL as GATEWAY_LABEL
from .streams.gateway_socket import GatewaySocket
from .streams.hijacking import attach
from .streams.logged_connection import LoggedConnection, attach_again

__all__ = ["DockerProvisioner"]

# Limits that an engine may discard: docker-py's argument, its field in the engine's answer, and how
# the user does without.
_DISCARDABLE = (
    ("mem_limit", "Memory", "memory=None"),
    ("memswap_limit", "MemorySwap", "container_run_kwargs={'memswap_limit': -1}"),
    ("pids_limit", "PidsLimit", "pids_limit=None"),
)


def _connects(config: Mapping[str, Any], command: Sequence[str]) -> bool:
    """Tell whether the main process is a gateway that connects to the host process.

    An image that is made from the fork's has its label too, and may have another command.
    """
    return (config.get("Labels") or {}).get(GATEWAY_LABEL) == " ".join(command)


def _check_limits_kept(config: Mapping[str, Any], limits: Mapping[str, Any]) -> None:
    """Refuse a container that the engine has created without a limit that was asked for.

    An engine whose kernel lacks a control group discards that limit with a mere warning.

    Raises:
        ConfigurationError: a limit is missing; names it.
    """
    for argument, field, waiver in _DISCARDABLE:
        limit = parse_size(limits.get(argument))
        if limit is not None and limit != config.get(field, limit):
            raise ConfigurationError(
                f"{argument}={limits[argument]!r}: the engine has discarded this limit and created "
                f"the container with {field}={config[field]!r}, as it does where the kernel of its "
                "machine lacks that control group. Mount the group ('smolagents-fork doctor' "
                f"shows which are missing), or pass {waiver} to run without the limit"
            )


class DockerProvisioner:
    """A provisioner of containers.

    Args:
        address: Address of the engine; ``None``: the one that the environment names.

    Raises:
        EngineUnavailableError: the engine does not answer.
        ConfigurationError: a requested port could not be reached from here.
    """

    def __init__(
        self,
        options: ContainerOptions | None = None,
        *,
        address: EngineAddress | None = None,
    ) -> None:
        self._options = options or ContainerOptions()
        #: What prepares the images that this provisioner has returned, by name.
        self._prepared: dict[str, Callable[[], object]] = {}
        self._address = EngineAddress.of() if address is None else address
        try:
            self._client = connect(self._address)
        except EngineUnavailableError as error:
            raise EngineUnavailableError(
                f"{error}; 'smolagents-fork doctor' lists which executors run here"
            ) from None
        try:
            self._published_host = published_host(self._client, self._address, self._options)
        except BaseException:
            disconnect(self._client)
            raise
        self._removals = Removals(self._address)
        self._removals.reap_once(functools.partial(_reap, self._address))

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        """Pull or build an image unless the engine has it, and return its name.

        Raises:
            ImageBuildError: a build failed, or the time ran out.
            ExecutorStartError: an image to use as it is cannot be pulled.
        """
        image = prepare_image(self._client, self._address, spec, report=report, rebuild=rebuild)
        self._prepared[image] = lambda: self.prepare_image(spec, report=no_note)
        return image

    def image_digest(self, image: str) -> str:
        """Return the digest by which the engine knows an image; the same content has the same.

        Raises:
            ExecutorStartError: the engine does not have it.
        """
        digest = image_id(self._client, image)
        if digest is None:
            raise ExecutorStartError(f"image {image!r} was removed after it was prepared")
        return digest

    def start(self, spec: SandboxSpec) -> DockerSandbox:
        """Create and start a container. From any thread.

        An image that was removed after it was prepared, as by ``smolagents-fork gc``, is prepared
        again.

        Raises:
            ConfigurationError: an argument the engine refuses.
            ExecutorStartError: the image is missing, the port is taken, and the like.
            EngineUnavailableError: the engine did not answer in three seconds.
        """
        import docker

        prepare_again = self._prepared.get(spec.image)
        try:
            return self._start_container(spec)
        except ExecutorStartError as error:
            # The cause is not shown with the error, whose message says it.
            missing = isinstance(error.__context__, docker.errors.ImageNotFound)
            if prepare_again is None or not missing:
                raise
        warnings.warn(
            f"image {spec.image!r} was removed after it was prepared, and is prepared again",
            UserWarning,
            stacklevel=2,
        )
        prepare_again()
        return self._start_container(spec)

    def _start_container(self, spec: SandboxSpec) -> DockerSandbox:
        """Start a container, again without a socket where the engine refuses its mount."""
        gateway = self._open_gateway_socket()
        try:
            return self._start_with(spec, gateway)
        except BaseException as error:
            if gateway is None:
                raise
            gateway.close()
            # An engine on another machine does not have the socket.
            refused = isinstance(error, (ConfigurationError, ExecutorStartError))
            if not refused or gateway.path not in str(error):
                raise
        return self._start_with(spec, None)

    def _open_gateway_socket(self) -> GatewaySocket | None:
        """Listen for a container's gateway; ``None`` where none could connect."""
        options = self._options
        if self._published_host or options.transport != "auto" or options.runtime is not None:
            return None
        # docker-py's name for an engine whose API is on a socket, so that its machine may be this.
        if str(self._client.api.base_url) != "http+docker://localhost":
            return None
        return GatewaySocket.open()

    def _start_with(self, spec: SandboxSpec, gateway: GatewaySocket | None) -> DockerSandbox:
        options, published = self._options, self._published_host is not None
        name, token = f"smolagents-fork-{secrets.token_hex(8)}", secrets.token_urlsafe(24)
        check_answers(self._client)
        connection: LoggedConnection | None = None
        # The name is known before the engine is asked: whatever fails, the container is removed.
        with self._removals.starting(
            name, functools.partial(remove_container, self._address, name)
        ):
            try:
                with mapped_errors(
                    "starting the container",
                    image=spec.image,
                    runtime=options.runtime,
                    network=options.network,
                    port=options.port if published else None,
                ):
                    # Its stub has no types.
                    image = self._client.api.inspect_image(spec.image)  # type: ignore[no-untyped-call]
                    config = image["Config"] or {}
                    command = main_command(config, options.run_arguments)
                    if not command:
                        raise ExecutorStartError(
                            f"image {spec.image!r} has no command (CMD or ENTRYPOINT): it has to "
                            "start a Jupyter kernel gateway on port 8888; base_image= builds the "
                            "fork's image on it"
                        )
                    if gateway is not None and not _connects(config, command):
                        gateway.close()
                        gateway = None
                    arguments = container_arguments(
                        spec,
                        options,
                        name,
                        token=token,
                        published=published,
                        socket_path=None if gateway is None else gateway.path,
                        command=command,
                    )
                    container = self._create_container(arguments)
                    connection = self._attach(container, spec.lease_seconds)
                    container.start()
            except BaseException:
                if connection is not None:
                    connection.close()
                self._removals.remove(name, wait=True)
                raise
        return DockerSandbox(
            self._client,
            container,
            name,
            token,
            spec,
            self._removals,
            published_host=self._published_host,
            connection=connection,
            gateway=gateway,
        )

    def _attach(self, container: Any, lease_seconds: float) -> LoggedConnection:
        """Attach to the container's input and output."""
        attached = attach(self._client, container.id, output=True, timeout=API_TIMEOUT_SECONDS)
        again = functools.partial(attach_again, self._address, container.id)
        return LoggedConnection(attached, again, lease_seconds)

    def _create_container(self, arguments: dict[str, Any]) -> Any:
        """Create the container.

        Raises:
            ConfigurationError: an unknown argument, or a limit that this engine cannot keep.
        """
        import docker
        import requests

        try:
            container = self._client.containers.create(**arguments)
        except docker.errors.APIError as error:
            text = str(error.explanation or error)
            if "storage_opt" not in arguments or "storage-opt" not in text.lower():
                raise
            size = arguments["storage_opt"]["size"]
            raise ConfigurationError(
                f"read_only=False with disk_size={size!r}: this engine cannot limit what a "
                f"container writes to its root file system ({text}). Keep read_only=True, or pass "
                "disk_size=None, with which the code can fill the engine's disk"
            ) from None
        except requests.RequestException:
            raise
        except (TypeError, ValueError, docker.errors.DockerException) as error:
            # docker-py's own errors for an argument, before it asks the engine.
            raise ConfigurationError(
                f"container_run_kwargs: {error}; they are docker-py's arguments of containers.run"
            ) from None
        _check_limits_kept(container.attrs.get("HostConfig") or {}, arguments)
        return container

    def ours(self) -> list[str]:
        """Return the short ids of this process's containers.

        Raises:
            EngineUnavailableError: the engine does not answer.
        """
        with mapped_errors("listing containers"):
            summaries = self._client.api.containers(filters={"label": f"{LABEL}={owner_text()}"})
        return [number[:12] for number in read_entries("container", summaries, own_id)]

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals, also after :meth:`close`; return whether all are done."""
        return self._removals.wait(timeout)

    def close(self) -> None:
        """Close the connections to the engine."""
        disconnect(self._client)


def _reap(address: EngineAddress) -> None:
    """Remove the containers and images that ended processes have left."""
    client = connect(address, timeout=30)
    try:
        reap(client)
        remove_unfinished(client, address)
    finally:
        disconnect(client)
