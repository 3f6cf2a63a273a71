"""Connection to a kernel in a sandbox: started, dropped and started again.

Who calls what: a pool or an executor makes a connection and calls :meth:`KernelConnection.open`
once. A session calls :meth:`KernelConnection.ready` before each request, from one thread at a time.
When a channel or a sandbox has ended, it calls :meth:`~KernelConnection.drop_channel` or
:meth:`~KernelConnection.drop_sandbox`. The latter and :meth:`~KernelConnection.close` may be called
from any thread.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import time
import uuid
from typing import Protocol, runtime_checkable

from ...deadline import Deadline
from ...errors import (
    ExecutorError,
    ExecutorStartError,
    ProtocolError,
    SandboxDiedError,
)
from ...jupyter.channel import Channel, DeadlinePassed, message_limit
from ...jupyter.kernel.bootstrap import KernelSettings, install_request
from ...jupyter.protocol import KernelGone, Requests, Sink
from ...jupyter.resumption import ResumableConnection
from ...jupyter.websocket import (
    Connection,
    ConnectionLost,
    GatewayAddress,
    KernelModel,
    address_with,
    channels_path,
    create_kernel,
)
from ...sandboxes.provisioner import (
    GatewaySandbox,
    SandboxOnNode,
    SandboxSpec,
    SandboxStatus,
    StartsSandboxes,
)
from ...stream.timed_socket import TimedSocket
from ...system.closing import close_on_error
from ...system.first_process_link import HasFirstProcess
from ..session.guest import Failure

__all__ = [
    "HasGatewayAddress",
    "KernelConnection",
    "KernelSettings",
    "status_after_end",
]

# Longest time for which a lost connection is opened again; a shorter lease ends the sandbox before.
_PATIENCE_SECONDS = 20.0
# Type of a request for a file, and the time for its answer, which waits for C code at most.
_FILE_REQUEST, _FILE_SECONDS = "smolagents_fork_file_request", 60.0
# Time an engine may take to notice that a sandbox has ended, and to deliver its log. A node of a
# cluster reports the end of a container within three seconds.
_NOTICE_SECONDS = 5.0


@runtime_checkable
class HasGatewayAddress(Protocol):
    """A sandbox whose streams lead to its gateway through a server of somebody else."""

    @property
    def gateway_address(self) -> GatewayAddress:
        """Address of the gateway at that server."""


class KernelConnection:
    """A kernel in a sandbox of its own, and the channel to it.

    Args:
        provisioner: starts the sandbox; closed with the connection.
    """

    def __init__(
        self, provisioner: StartsSandboxes, spec: SandboxSpec, settings: KernelSettings
    ) -> None:
        self._provisioner = provisioner
        self._spec = spec
        self._settings = settings
        self._sandbox: GatewaySandbox | None = None
        self._kernel: KernelModel | None = None
        # Of the kernel's side of the protocol, and whether the kernel has it.
        self._comm_id = ""
        self._installed = False
        self._channel: Channel | None = None
        self._closed = False

    @property
    def sandbox(self) -> GatewaySandbox | None:
        """Present sandbox; ``None`` when there is none."""
        return self._sandbox

    @property
    def channel(self) -> Channel | None:
        """Present channel; ``None`` when there is none."""
        return self._channel

    @property
    def kernel_id(self) -> str | None:
        """Id of the kernel at its gateway; ``None`` when there is none."""
        return None if self._kernel is None else self._kernel.id

    @property
    def spec(self) -> SandboxSpec:
        """Specification that sandboxes are started from."""
        return self._spec

    def use_image(self, image: str) -> None:
        """Use another image for later sandboxes."""
        self._spec = dataclasses.replace(self._spec, image=image)

    # -- opening --

    def open(self, timeout: float, *, rehearse: bool = False) -> None:
        """Start the sandbox and its kernel and prepare the kernel; a failure leaves nothing.

        Args:
            timeout: seconds for all steps together.
            rehearse: run an empty text too, since the first call of a kernel takes longer.

        Raises:
            ExecutorStartError: the kernel did not start in time.
            SandboxDiedError: its node was lost meanwhile, so that it can be started elsewhere.
            ConnectionLost: :meth:`close` was called meanwhile.
        """
        deadline = Deadline(timeout)
        self._register(self._provisioner.start(self._spec))
        try:
            self._connect(deadline)
            self._install(deadline)
            if rehearse:
                self._rehearse(deadline)
        except (
            ConnectionLost,
            ProtocolError,
            KernelGone,
            DeadlinePassed,
            ExecutorStartError,
        ) as error:
            sandbox = self._sandbox
            if sandbox is None:
                raise
            # The stream may end before the provisioner has noticed the sandbox's end.
            status = status_after_end(sandbox)
            message = (
                f"the kernel in sandbox {sandbox.id} (image {self._spec.image}) did not start in "
                f"startup_timeout_seconds={timeout}: "
                f"{str(error) or 'the kernel did not answer'}; "
                f"{status}{self._settings.start_advice}"
            )
            lost = isinstance(sandbox, SandboxOnNode) and sandbox.lost
            self.drop_sandbox()
            if lost:
                raise SandboxDiedError(message, cause="node") from None
            raise ExecutorStartError(message) from None
        except BaseException:
            self.drop_sandbox()
            raise

    def ready(self, timeout: float) -> Channel:
        """Return a channel to a kernel that has its side; a new one when the last has ended.

        Args:
            timeout: seconds for all steps together.

        Raises:
            ConnectionLost, KernelGone, ProtocolError: stream, kernel or gateway ended meanwhile.
            DeadlinePassed: the kernel did not answer in time.
            ExecutorStartError: a new sandbox did not start.
            SandboxDiedError: the node of a new sandbox was lost meanwhile.
        """
        deadline = Deadline(timeout)
        if self._sandbox is None:
            self._kernel = None
            self.open(timeout)
        if self._channel is None:
            try:
                self._connect(deadline)
            except ProtocolError:
                # The gateway has given up a kernel that ended repeatedly, and does not know its id.
                self.drop_sandbox()
                self.open(timeout)
            except ExecutorStartError:
                # No stream to it can be opened: a later call works in another.
                self.drop_sandbox()
                raise
        self._install(deadline)
        return self._open_channel()

    def _open_channel(self) -> Channel:
        channel = self._channel
        if channel is None:
            raise ConnectionLost("the sandbox was removed while its kernel was prepared")
        return channel

    def _register(self, sandbox: GatewaySandbox) -> None:
        """Store a started sandbox, or remove it when the connection has been closed meanwhile."""
        self._sandbox = sandbox
        # In this order: close() sets the mark before it reads the sandbox.
        if self._closed:
            sandbox.remove()
            raise ConnectionLost("the connection was closed while the sandbox started")

    def _connect(self, deadline: Deadline) -> None:
        """Open the kernel's channel; start a kernel when there is none."""
        sandbox = self._sandbox
        if sandbox is None:
            raise ConnectionLost("the sandbox was removed while the channel was opened")
        session_id = uuid.uuid4().hex
        if self._kernel is None:
            self._comm_id, self._installed = secrets.token_hex(16), False
        connection = self._open_connection(sandbox, session_id, 0, deadline)
        kernel = self._kernel
        assert kernel is not None
        first = sandbox.first_process if isinstance(sandbox, HasFirstProcess) else None
        resumable: Connection | ResumableConnection = connection
        if connection.peer_received is not None:
            resumable = ResumableConnection(
                connection,
                lambda received, seconds: self._open_connection(
                    sandbox, session_id, received, Deadline(seconds)
                ),
                may_run=lambda: self._sandbox is sandbox and _may_run(sandbox),
                heard_at=None if first is None else lambda: first.heard_at,
                patience=min(self._spec.lease_seconds, _PATIENCE_SECONDS),
            )
        self._channel = Channel(
            resumable,
            Requests(session_id, self._comm_id),
            serves_itself=kernel.serves_itself,
            first_process=first,
        )
        if self._sandbox is not sandbox:  # another thread dropped it before there was a channel
            self.drop_channel()
            raise ConnectionLost("the sandbox was removed while the channel was opened")

    def _open_connection(
        self, sandbox: GatewaySandbox, session_id: str, received: int, deadline: Deadline
    ) -> Connection:
        """Open a stream to the sandbox and the kernel's WebSocket on it.

        Args:
            received: number of its messages that have been received over earlier connections.

        Raises:
            ConnectionLost: the stream could not be opened, or ended.
            ProtocolError: the gateway refuses it.
            ExecutorError: the sandbox is gone, or can give no stream.
        """
        try:
            sock = TimedSocket(sandbox.open_stream(timeout=deadline.at_most(1e6)))
        except OSError as error:
            raise ConnectionLost(str(error)) from None
        if isinstance(sandbox, HasGatewayAddress):
            address = sandbox.gateway_address
        else:
            address = address_with(sandbox.gateway_token)
        with close_on_error(sock):
            if self._kernel is None:
                self._kernel = create_kernel(sock, address, timeout=deadline.at_most(1e6))
            return Connection(
                sock,
                address,
                channels_path(self._kernel.id, session_id),
                timeout=deadline.at_most(1e6),
                limit=message_limit(
                    self._settings.streamed_length,
                    self._settings.max_value_bytes,
                ),
                received=received,
            )

    def _install(self, deadline: Deadline) -> None:
        channel = self._open_channel()
        if self._installed:
            return
        code, buffers = install_request(self._comm_id, self._settings)
        request = channel.execute(
            code, sink=Sink(), silent=True, buffers=buffers, deadline=deadline
        )
        channel.wait(request, deadline)
        if request.error is not None:
            # Code of an earlier kernel may have changed what this one starts from.
            failure = Failure(request.error.name, request.error.value, request.error.traceback)
            raise ExecutorStartError(
                f"the kernel of image {self._spec.image} could not be prepared: "
                f"{failure.name}: {failure.value}\n{failure.traceback}"
            )
        self._installed = True

    def _rehearse(self, deadline: Deadline) -> None:
        # A value, so that all of a call's steps are taken.
        channel = self._open_channel()
        channel.wait(channel.execute("''", sink=Sink(), deadline=deadline), deadline)

    # -- files --

    def ask_file(self, body: bytes) -> bytes:
        """Have the kernel carry out a request for a file, while code runs too. From any thread.

        Args:
            body: see :mod:`smolagents_fork.guest.worker_files`.

        Returns:
            the body of the answer, which is not trusted.

        Raises:
            ExecutorError: the kernel refused, has ended, or did not answer.
            ProtocolError: its answer has no body.
        """
        try:
            reply = self._open_channel().ask(_FILE_REQUEST, [body], Deadline(_FILE_SECONDS))
        except DeadlinePassed:
            raise ExecutorError(
                f"the kernel has not answered for {_FILE_SECONDS:g} s; it answers when C code "
                "that holds the GIL returns or is interrupted"
            ) from None
        except (ConnectionLost, KernelGone) as error:
            raise ExecutorError(f"the kernel has ended, or cannot be reached: {error}") from None
        content = reply.content or {}
        reason = content.get("evalue")
        if content.get("status") == "error" and isinstance(reason, str):
            raise ExecutorError(Failure("", reason).value)
        if not reply.buffers:
            raise ProtocolError("the sandbox answered a request for a file without its content")
        return b"".join(reply.buffers)

    # -- ends --

    def is_alive(self) -> bool:
        """Return whether the next call can be expected to work without a new sandbox.

        Reads the messages that have arrived; must not be called while code runs.
        """
        channel = self._channel
        if self._closed or self._sandbox is None or channel is None:
            return False
        try:
            channel.read_pending()
        except (ConnectionLost, KernelGone):
            return False
        return True

    def reconnect(self) -> bool:
        """Open the channel again that was lost between two calls; return whether it is open.

        A gateway has its kernel without a client, too. A kernel that serves itself has ended when
        its conversation is not resumed.
        """
        sandbox, kernel = self._sandbox, self._kernel
        if sandbox is None or kernel is None or kernel.serves_itself or not _may_run(sandbox):
            return False
        self.drop_channel()
        deadline = Deadline(_PATIENCE_SECONDS)
        try:
            self._connect(deadline)
            channel = self._open_channel()
            # A gateway starts another kernel under the id of one that has ended.
            request = channel.execute(
                "__smolagents_fork__", sink=Sink(), silent=True, deadline=deadline
            )
            channel.wait(request, deadline)
        except (ExecutorError, KernelGone, DeadlinePassed):
            return False
        return request.error is None

    def drop_channel(self) -> None:
        """Close the channel; the next request opens another. From any thread."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def drop_sandbox(self) -> None:
        """Remove the sandbox; the next request starts another. From any thread."""
        # In this order: _connect() stores a channel before it reads the sandbox.
        sandbox, self._sandbox = self._sandbox, None
        self.drop_channel()
        self._kernel = None
        if sandbox is not None:
            sandbox.remove()

    def close(self) -> None:
        """Remove the sandbox and close the provisioner; idempotent, from any thread."""
        self._closed = True
        self.drop_sandbox()
        with contextlib.suppress(Exception):
            self._provisioner.close()

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals of sandboxes; return whether all are done."""
        return self._provisioner.wait_until_removed(timeout)


def status_after_end(sandbox: GatewaySandbox) -> SandboxStatus:
    """Return the status of a sandbox whose stream has ended, which the engine may notice later."""
    deadline = Deadline(_NOTICE_SECONDS)
    while (status := sandbox.status()).running and not deadline.expired():
        time.sleep(0.05)
    return status


def _may_run(sandbox: GatewaySandbox) -> bool:
    """Return whether a sandbox runs, or an engine that does not answer may still run it."""
    status = sandbox.status()
    return status.running or status.state.startswith("unknown")
