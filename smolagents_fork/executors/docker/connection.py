"""A sandbox, the kernel in it, and the connection to that: opened, dropped, opened again."""

from __future__ import annotations

import ipaddress
import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigurationError, ExecutorClosedError, ExecutorStartError, ProtocolError
from ...jupyter.channel import Channel, DeadlinePassed, message_limits
from ...jupyter.gateway_api import channels_path, create_kernel
from ...jupyter.kernel.bootstrap import install_request
from ...jupyter.protocol import KernelGone, Requests, Sink
from ...jupyter.websocket import Connection, ConnectionLost, TimedSocket
from ...limits import Deadline
from ...sandboxes.docker.container import DockerSandbox
from ...sandboxes.docker.docker_provisioner import DockerProvisioner
from ...sandboxes.docker.exec_stream import StreamUnsupported
from .diagnosis import cause_of_death, connected, start_advice
from .options import Options

__all__ = ["MAX_ERROR_CHARS", "KernelConnection", "Link"]

MAX_ERROR_CHARS = 100_000


@dataclass
class Link:
    """A connection to a kernel, and how far the kernel has been prepared.

    Attributes:
        channel: open.
        installed: the kernel's side of the protocol is there.
        prepared: it also has the host's tools and variables.
    """

    channel: Channel
    installed: bool = False
    prepared: bool = False


class KernelConnection:
    """A sandbox, its kernel and the channel to it; opened, dropped and opened again.

    Args:
        options: of the executor.
        image: to start.
        provisioner: starts the sandbox.
        note: gets a line for the log.

    Raises:
        ConfigurationError: a port that could not be reached from here.
    """

    def __init__(
        self,
        options: Options,
        image: str,
        provisioner: DockerProvisioner,
        *,
        note: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.options = options
        self.image = image
        self.sandbox: DockerSandbox | None = None
        self._provisioner = provisioner
        self._note = note
        self._published = options.published
        if self._published and self._out_of_reach():
            if options.transport == "port":
                raise ConfigurationError(f"transport='port': {self._out_of_reach()}")
            self._published = False  # the engine's own connection leads there
        self._kernel_id: str | None = None
        self._link: Link | None = None
        self._closed = False
        self._comm_id = ""
        self._kernels_ended = 0
        # How the link ended, where that was noticed outside of a call; the next call says so.
        self._unread_end: Exception | None = None

    # -- opening --

    def open(self) -> None:
        """Start the sandbox and its kernel, and prepare the kernel; all of it or nothing.

        Raises:
            ExecutorStartError: it did not come up in ``startup_timeout_seconds``.
            ExecutorClosedError: it was closed meanwhile.
        """
        deadline = Deadline(self.options.startup_timeout_seconds)
        self._take(self._started(published=self._published))
        try:
            self._connect(deadline)
            self._install(deadline)
        except (
            ConnectionLost,
            ProtocolError,
            KernelGone,
            DeadlinePassed,
            ExecutorStartError,
        ) as error:
            self._check_not_closed()
            sandbox = self.sandbox
            if sandbox is None:
                raise
            # The stream may end before the engine has noticed that the container did.
            evidence, _ = cause_of_death(sandbox, of_kernel=False, known=0)
            message = (
                f"the kernel in container {sandbox.id} (image {self.image}) did not come up "
                f"in startup_timeout_seconds={self.options.startup_timeout_seconds}: "
                f"{str(error) or 'the kernel did not answer'}; "
                f"{evidence}{start_advice(self.options)}"
            )
            self._drop_sandbox()
            raise ExecutorStartError(message) from error
        except BaseException:
            self._drop_sandbox()
            raise

    def _started(self, *, published: bool) -> DockerSandbox:
        return self._provisioner.start(self.options.spec(self.image, published=published))

    def _take(self, sandbox: DockerSandbox) -> None:
        """Make a started sandbox this one's; not when it was closed in the meantime."""
        self.sandbox = sandbox
        # In this order: whoever closes sets the mark first and looks for a sandbox then.
        if self._closed:
            sandbox.remove()
            self._check_not_closed()

    def _check_not_closed(self) -> None:
        if self._closed:
            raise ExecutorClosedError("the executor was closed while its container started")

    def _connect(self, deadline: Deadline) -> None:
        """Open the kernel's channels, starting a kernel when there is none yet."""
        sock = self._socket_with_kernel(deadline)
        sandbox = self.sandbox
        try:
            if sandbox is None or self._kernel_id is None:
                raise ConnectionLost("the sandbox was removed while it was connected to")
            session_id = uuid.uuid4().hex
            connection = Connection(
                sock,
                channels_path(self._kernel_id, session_id),
                token=sandbox.token,
                timeout=deadline.at_most(1e6),
                limit_for=message_limits(
                    max(self.options.max_output_bytes, MAX_ERROR_CHARS),
                    self.options.max_value_bytes,
                ),
            )
        except BaseException:
            sock.close()
            raise
        self._comm_id = secrets.token_hex(16)
        channel = Channel(
            connection, Requests(session_id, self._comm_id), engine_responds=sandbox.engine_responds
        )
        self._link = Link(channel)
        if self.sandbox is not sandbox:  # dropped by another thread, which saw no link yet
            self._forget_link()
            raise ConnectionLost("the sandbox was removed while it was connected to")

    def _socket_with_kernel(self, deadline: Deadline) -> TimedSocket:
        while True:
            sock = TimedSocket(self._open_stream(deadline))
            sandbox = self.sandbox
            try:
                if sandbox is None:
                    raise ConnectionLost("the sandbox was removed while it was connected to")
                if self._kernel_id is None:
                    self._kernel_id = create_kernel(
                        sock, token=sandbox.token, timeout=deadline.at_most(1e6)
                    )
                return sock
            except ConnectionLost:
                sock.close()
                # The engine's proxy accepts for a gateway that does not listen yet, and hangs up.
                waits = self._published and sandbox is not None and not deadline.expired()
                if not waits or sandbox is None or not sandbox.is_running():
                    raise
                time.sleep(0.05)
            except BaseException:
                sock.close()
                raise

    def _open_stream(self, deadline: Deadline) -> Any:
        sandbox = self.sandbox
        if sandbox is None:
            raise ConnectionLost("the sandbox was removed while it was connected to")
        if not self._published:
            try:
                return sandbox.open_stream(timeout=deadline.at_most(60.0))
            except StreamUnsupported as error:
                if self.options.transport == "exec":
                    raise ExecutorStartError(f"transport='exec': {error}") from error
                sandbox = self._fall_back(sandbox, error)
        port = sandbox.published_port(deadline.at_most(5.0))
        return connected(self._gateway_host(), port, deadline)

    def _gateway_host(self) -> str:
        """Where a port published on ``host`` is reached from here."""
        if self.options.host in ("0.0.0.0", "::"):
            return self._provisioner.remote_host or "127.0.0.1"
        return self.options.host

    def _out_of_reach(self) -> str | None:
        """Why a published port could not be reached; ``None`` when it can."""
        remote, host = self._provisioner.remote_host, self.options.host
        network = self.options.network
        if network not in ("none", "bridge") and not self._provisioner.publishes_on(network):
            return f"network={network!r} is internal, and the engine publishes no port on it"
        if remote is None or not _is_loopback(host):
            return None
        return (
            f"the engine runs on {remote}, and a port published on host={host!r} is on the "
            f"loopback of that machine: pass host='0.0.0.0' (or its address) if the port may be "
            "open to that network, or use an engine on this machine"
        )

    def _fall_back(self, sandbox: DockerSandbox, reason: Exception) -> DockerSandbox:
        """Replace the sandbox by one with a published port: the engine's streams do not work."""
        unreachable = self._out_of_reach()
        if unreachable:
            raise ExecutorStartError(f"{reason}, and {unreachable}") from reason
        self._note(
            f"WARNING: {reason}; using a port published on {self.options.host} with a token "
            "instead. The container is on the engine's bridge network, so its code can reach it; "
            "pass transport='exec' to refuse this."
        )
        sandbox.remove(wait=True)
        self._published = True
        replacement = self._started(published=True)
        replacement.streams = False
        self._take(replacement)
        return replacement

    def _install(self, deadline: Deadline) -> None:
        link = self._link
        if link is None:
            raise ConnectionLost("the sandbox was removed while its kernel was prepared")
        if link.installed:
            return
        code, buffers = install_request(
            comm_id=self._comm_id,
            max_output_bytes=self.options.max_output_bytes,
            max_value_bytes=self.options.max_value_bytes,
            max_error_chars=MAX_ERROR_CHARS,
            allow_pickle=self.options.allow_pickle,
            allow_root=self.options.allow_root,
        )
        request = link.channel.execute(code, sink=Sink(), silent=True, buffers=buffers)
        link.channel.wait(request, deadline)
        if request.error is not None:
            raise ExecutorStartError(
                f"the kernel of image {self.image} could not be prepared: "
                f"{request.error.name}: {request.error.value}\n{request.error.traceback}"
            )
        link.installed = True

    # -- letting go --

    def _forget_link(self) -> None:
        link, self._link, self._unread_end = self._link, None, None
        if link is not None:
            link.channel.close()

    def _drop_sandbox(self) -> None:
        # In this order: whoever connects makes a link first and looks for the sandbox then.
        sandbox, self.sandbox = self.sandbox, None
        self._forget_link()
        self._kernel_id = None
        self._kernels_ended = 0
        if sandbox is not None:
            sandbox.remove()

    @property
    def client(self) -> Any:
        """docker-py's client."""
        return self._provisioner.client


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
