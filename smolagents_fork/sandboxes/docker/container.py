"""A running container as a sandbox: streams, statistics, and how it ended."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...results import ExecutorStats
from ...system.descriptor_passing import receive_descriptor
from ...system.first_process_link import FirstProcess
from ..container_options import GATEWAY_PORT
from ..containers.container_sandbox import ContainerSandbox
from ..containers.relay import relay_command
from ..provisioner import ByteStream, SandboxSpec, SandboxStatus, select_lines
from ..removals import Removals
from .engine import API_TIMEOUT_SECONDS, client_copy, mapped_errors
from .list_fields import usage
from .published_port import connect_to_gateway
from .streams.exec_stream import ExecStream, exec_stream
from .streams.gateway_socket import GatewaySocket
from .streams.logged_connection import LoggedConnection

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.api.client import APIClient

__all__ = ["DockerSandbox"]

# Longest time the relay waits for the gateway to listen.
_RELAY_SECONDS = 600.0
# Poll interval and limit while the first process connects the kernel.
_LOOK_SECONDS = 0.05
_CONNECT_SECONDS = 30.0
# Time the engine may take to list the published port of a container that has been started.
_PORT_SECONDS = 5.0
# Limit of a query about a container's end: the engine may have ended, too.
_QUERY_SECONDS = 1.5
# Seconds until the end of an ended container's output is read. The engine closes the output before
# it reports the end of the container, and a thread of this process reads it.
_OUTPUT_SECONDS = 2.0
_LOG_LINES = 8


class DockerSandbox(ContainerSandbox):
    """One running container. Made by :class:`DockerProvisioner`.

    Args:
        published_host: address at which its gateway's published port is reached; ``None`` without.
        connection: to its first process, which renews its lease: see create_arguments.
        gateway: socket that its gateway connects to; ``None`` where it does not.
    """

    def __init__(
        self,
        client: DockerClient,
        container: Any,
        name: str,
        gateway_token: str,
        spec: SandboxSpec,
        removals: Removals,
        *,
        published_host: str | None,
        connection: LoggedConnection,
        gateway: GatewaySocket | None,
    ) -> None:
        super().__init__(name, gateway_token, spec)
        #: docker-py's object for the container.
        self.container = container
        #: The container's first process.
        self.first_process: FirstProcess = connection.first_process
        self._client, self._removals = client, removals
        self._published_host, self._connection, self._gateway = published_host, connection, gateway
        self._started_at = time.time()
        # Whether its gateway has answered on the published port.
        self._has_answered = False
        self._has_sent_listener = False
        # Connections that the first process had when the engine's were used last.
        self._links = self.first_process.links

    @property
    def id(self) -> str:
        """The container's short id."""
        return str(self.container.short_id)

    def published_address(self) -> tuple[str, int] | None:
        """Host and port at which the gateway is reached from here; ``None`` without a port.

        Raises:
            ExecutorStartError: the container has ended.
        """
        host = self._published_host
        return None if host is None else (host, self._find_port(_PORT_SECONDS))

    def open_stream(self, *, timeout: float) -> ByteStream:
        """Open a stream to the kernel by the first transport that there is, again after a loss.

        None adds a network: a port is published only where the user asked for one.

        Args:
            timeout: seconds the kernel may take to start.

        Raises:
            OSError: the kernel did not connect, or answer on the published port, in time.
            ExecutorError: the container is gone, or the engine's connection carries no stream.
        """
        deadline = Deadline(timeout)
        for transport in (self._accept_connection, self._connect_to_port):
            stream = transport(deadline)
            if stream is not None:
                break
        else:
            stream = self._open_relay(deadline)
        if self._carried is not None and not self._has_sent_listener:
            self._carried.serve_beside(stream, deadline.at_most(1e6))
        return stream

    def _accept_connection(self, deadline: Deadline) -> ByteStream | None:
        """Accept the connection that the first process makes, once, before code runs.

        Returns:
            ``None`` if it cannot connect, has ended, or has connected before.
        """
        gateway, self._gateway = self._gateway, None
        if gateway is None:
            return None
        limit = Deadline(deadline.at_most(_CONNECT_SECONDS))
        with contextlib.closing(gateway):
            while not limit.expired():
                sock = gateway.accept(limit.at_most(_LOOK_SECONDS))
                if sock is not None:
                    self._receive_listener(sock, limit)
                    return sock
                if self.first_process.unreachable or not self._is_running():
                    break
        return None

    def _receive_listener(self, sock: socket.socket, deadline: Deadline) -> None:
        """Receive the listener for the proxy of this process, if there is to be one."""
        if self.spec.proxy is None:
            return
        before = sock.gettimeout()
        sock.settimeout(deadline.at_most(_CONNECT_SECONDS))
        number = receive_descriptor(sock)
        sock.settimeout(before)
        if number is None:
            raise ExecutorStartError(
                f"container {self.id} has sent no listener for allowed_hosts= ({self.status()})"
            )
        self.spec.proxy.serve(socket.socket(fileno=number))
        self._has_sent_listener = True

    def _connect_to_port(self, deadline: Deadline) -> ByteStream | None:
        """Connect to the published port; ``None`` if none is published."""
        if self._published_host is None:
            return None
        sock = connect_to_gateway(
            self._published_host,
            self._find_port(deadline.at_most(_PORT_SECONDS)),
            deadline,
            is_running=self._is_running,
            answered=self._has_answered,
        )
        self._has_answered = True
        return sock

    def _open_relay(self, deadline: Deadline) -> ByteStream:
        """Open an exec's stream, which a relay joins to the kernel's port."""
        seconds = deadline.at_most(_RELAY_SECONDS)
        if seconds <= 0:
            raise TimeoutError("the kernel did not connect in time")
        return self.open_program(relay_command(GATEWAY_PORT, seconds), seconds)

    def open_program(self, argv: list[str], seconds: float) -> ExecStream:
        if self._links != self.first_process.links:
            # A cut leaves connections behind on which the engine never answers.
            self._links = self.first_process.links
            self._client.api.close()
        seconds = min(seconds, API_TIMEOUT_SECONDS)
        api = client_copy(self._client.api, seconds)
        with mapped_errors("opening a stream into the container", container=self.id):
            exec_id = api.exec_create(self.container.id, argv, stdin=True)["Id"]
            return exec_stream(api, exec_id, seconds)

    def _find_port(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while True:
            with mapped_errors("asking for the published port", container=self.id):
                self.container.reload()
            bindings = self.container.ports.get(f"{GATEWAY_PORT}/tcp")
            if bindings:
                return int(bindings[0]["HostPort"])
            if time.monotonic() > end or self.container.status not in ("created", "running"):
                raise ExecutorStartError(
                    f"container {self.id} has no published port ({self.status()})"
                )
            time.sleep(0.02)

    def _is_running(self) -> bool:
        with contextlib.suppress(Exception):
            state = self._client.api.inspect_container(self.container.id)["State"]
            return bool(state.get("Running"))
        return False

    def stats(self) -> ExecutorStats:
        """Return the container's resource use now.

        Raises:
            EngineUnavailableError: the engine does not answer.
            ExecutorStartError: the container is gone.
        """
        with mapped_errors("asking for statistics", container=self.id):
            raw = self._client.api.stats(self.container.id, stream=False, one_shot=True)
        return usage(raw, limited=self.spec.limits.memory is not None)

    def status(self) -> SandboxStatus:
        """Return the container's status; never raises, takes a few seconds at most."""
        import docker
        import requests

        api, tail = client_copy(self._client.api, _QUERY_SECONDS), self._connection.tail
        state: Mapping[str, Any] = {}
        ended = "ended"
        try:
            state = api.inspect_container(self.container.id)["State"]
        except docker.errors.NotFound:
            ended = "ended and was removed"
        except (docker.errors.DockerException, requests.RequestException, OSError, ValueError):
            return SandboxStatus("unknown: the engine does not answer", log_lines=self._log_lines())
        out_of_memory = bool(state.get("OOMKilled"))
        if state.get("Running"):
            return SandboxStatus("running", None, out_of_memory, self._log_lines())
        is_whole = tail.wait(_OUTPUT_SECONDS)
        lines = self._log_lines()
        missing = ""
        if not is_whole and not lines:
            missing = f"its output broke off: {tail.broken or 'no end came'}"
        end = self.first_process.end
        code, killed = self._find_exit(api) if end is None else (end.exit_code, end.out_of_memory)
        code = state.get("ExitCode") if code is None else code
        return SandboxStatus(ended, code, out_of_memory or killed, lines, missing)

    def _log_lines(self) -> tuple[str, ...]:
        text = self._connection.tail.text()
        return select_lines(text.splitlines()[-_LOG_LINES:])

    def _find_exit(self, api: APIClient) -> tuple[int | None, bool]:
        """Return exit code and out-of-memory from the engine's events, which outlive it."""
        code, killed = None, False
        with contextlib.suppress(Exception):
            # Any: docker-py's types lack fractions of a second.
            until: Any = f"{time.time():.6f}"
            events = api.events(
                since=int(self._started_at) - 1,
                until=until,
                filters={"container": self.container.id},
                decode=True,
            )
            # To the end of the stream, which "until" sets: a stream that is read in part keeps its
            # connection.
            for event in events:
                if event.get("Action") == "oom":
                    killed = True
                elif event.get("Action") == "die":
                    code = int(event["Actor"]["Attributes"]["exitCode"])
        return code, killed

    def _begin_removal(self) -> None:
        self._connection.close()
        if self._gateway is not None:
            self._gateway.close()
        self._removals.remove(self.name, wait=False)

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait until it is removed, after :meth:`remove`; return whether it is."""
        return self._removals.wait_for(self.name, timeout)
