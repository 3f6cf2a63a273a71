"""A sandbox, the kernel in it, and the channel to that: opened, dropped, opened again.

Who calls what: a pool or an executor makes a connection and calls :meth:`KernelConnection.open`
once. The session that works on it calls :meth:`KernelConnection.ready` before each request, from
one thread at a time, and says by :meth:`~KernelConnection.drop_channel` and
:meth:`~KernelConnection.drop_sandbox` what has ended. :meth:`~KernelConnection.close` and
:meth:`~KernelConnection.drop_sandbox` may come at any moment from any thread.
"""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import uuid
from dataclasses import dataclass

from ...deadline import Deadline
from ...errors import ExecutorClosedError, ExecutorStartError, ProtocolError
from ...jupyter.channel import Channel, DeadlinePassed, message_limits
from ...jupyter.gateway_api import channels_path, create_kernel
from ...jupyter.kernel.bootstrap import install_request
from ...jupyter.protocol import KernelGone, Request, Requests, Sink
from ...jupyter.websocket import Connection, ConnectionLost, TimedSocket
from ...sandboxes.provisioner import Provisioner, Sandbox, SandboxSpec
from .diagnosis import Ending, find_ending

__all__ = ["MAX_ERROR_CHARS", "KernelConnection", "KernelSettings", "Link"]

MAX_ERROR_CHARS = 100_000


@dataclass(frozen=True)
class KernelSettings:
    """Settings that prepare a kernel.

    Attributes:
        max_output_bytes: what one call may print.
        max_value_bytes: largest encoded value, either way.
        allow_pickle: whether the kernel may pickle an answer the codec does not take.
        allow_root: whether the kernel may run as root.
        start_advice: what may help a start that has failed, for the end of its message.
    """

    max_output_bytes: int = 1_000_000
    max_value_bytes: int = 256 * 1024 * 1024
    allow_pickle: bool = False
    allow_root: bool = False
    start_advice: str = ""


@dataclass
class Link:
    """A channel to a kernel, and how far the kernel has been prepared.

    Attributes:
        channel: open.
        installed: the kernel's side of the protocol is there.
        prepared: it also has the host's tools and variables.
    """

    channel: Channel
    installed: bool = False
    prepared: bool = False


class KernelConnection:
    """A kernel in a sandbox of its own, and the channel to it.

    Args:
        provisioner: starts the sandbox; owned from now on.
        spec: of the sandbox.
        settings: of the kernel.
    """

    def __init__(
        self, provisioner: Provisioner, spec: SandboxSpec, settings: KernelSettings
    ) -> None:
        self._provisioner = provisioner
        self._spec = spec
        self._settings = settings
        self._sandbox: Sandbox | None = None
        self._kernel_id: str | None = None
        self._link: Link | None = None
        self._closed = False
        self._comm_id = ""
        self._kernels_ended = 0
        # How the link ended, where that was noticed outside of a call; the next call says so.
        self._unread_end: Exception | None = None

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox there is now."""
        return self._sandbox

    @property
    def channel(self) -> Channel | None:
        """The channel there is now."""
        link = self._link
        return None if link is None else link.channel

    @property
    def spec(self) -> SandboxSpec:
        """Specification that sandboxes are started from."""
        return self._spec

    @property
    def closed(self) -> bool:
        """Tell whether :meth:`close` has been called."""
        return self._closed

    def use_image(self, image: str) -> None:
        """Start sandboxes from another image from the next one on.

        Args:
            image: as the provisioner takes it.
        """
        self._spec = dataclasses.replace(self._spec, image=image)

    # -- opening --

    def open(self, timeout: float) -> None:
        """Start the sandbox and its kernel, and prepare the kernel; all of it or nothing.

        Args:
            timeout: seconds for all of it.

        Raises:
            ExecutorStartError: it did not come up in time.
            ExecutorClosedError: it was closed meanwhile.
        """
        deadline = Deadline(timeout)
        self._take(self._start())
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
            sandbox = self._sandbox
            if sandbox is None:
                raise
            # The stream may end before the provisioner has noticed that the sandbox did.
            ending = find_ending(sandbox, of_kernel=False, known=0)
            message = (
                f"the kernel in container {sandbox.id} (image {self._spec.image}) did not come up "
                f"in startup_timeout_seconds={timeout}: "
                f"{str(error) or 'the kernel did not answer'}; "
                f"{ending.status}{self._settings.start_advice}"
            )
            self.drop_sandbox()
            raise ExecutorStartError(message) from error
        except BaseException:
            self.drop_sandbox()
            raise

    def ready(self, timeout: float) -> Link:
        """Return the link, made anew where the last one ended, its kernel's side installed.

        Args:
            timeout: seconds for all of it.

        Raises:
            ConnectionLost, KernelGone, ProtocolError: something ended meanwhile.
            DeadlinePassed: the kernel did not answer in time.
            ExecutorStartError: a new sandbox did not come up.
        """
        deadline = Deadline(timeout)
        if self._sandbox is None:
            self._kernel_id = None
            self.open(timeout)
        if self._link is None:
            try:
                self._connect(deadline)
            except ProtocolError:
                # The gateway gives up on kernels that keep ending, and knows none of that id.
                self.drop_sandbox()
                self.open(timeout)
        link = self._link
        if link is None:
            raise ConnectionLost("the sandbox was removed while its kernel was prepared")
        if not link.prepared:
            self._install(deadline)
        return link

    def _start(self) -> Sandbox:
        # A token for each sandbox: the program in it can read it.
        token = secrets.token_urlsafe(24)
        return self._provisioner.start(dataclasses.replace(self._spec, gateway_token=token))

    def _take(self, sandbox: Sandbox) -> None:
        """Make a started sandbox this one's; not when it was closed in the meantime."""
        self._sandbox = sandbox
        # In this order: whoever closes sets the mark first and looks for a sandbox then.
        if self._closed:
            sandbox.remove()
            self._check_not_closed()

    def _check_not_closed(self) -> None:
        if self._closed:
            raise ExecutorClosedError("the executor was closed while its container started")

    def _connect(self, deadline: Deadline) -> None:
        """Open the kernel's channels, starting a kernel when there is none yet."""
        sandbox = self._sandbox
        if sandbox is None:
            raise ConnectionLost("the sandbox was removed while it was connected to")
        try:
            sock = TimedSocket(sandbox.open_stream(timeout=deadline.at_most(1e6)))
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        token = sandbox.spec.gateway_token
        session_id = uuid.uuid4().hex
        try:
            if self._kernel_id is None:
                self._kernel_id = create_kernel(sock, token=token, timeout=deadline.at_most(1e6))
            connection = Connection(
                sock,
                channels_path(self._kernel_id, session_id),
                token=token,
                timeout=deadline.at_most(1e6),
                limit_for=message_limits(
                    max(self._settings.max_output_bytes, MAX_ERROR_CHARS),
                    self._settings.max_value_bytes,
                ),
            )
        except BaseException:
            sock.close()
            raise
        self._comm_id = secrets.token_hex(16)
        requests = Requests(session_id, self._comm_id)
        self._link = Link(Channel(connection, requests, engine_responds=sandbox.engine_responds))
        if self._sandbox is not sandbox:  # dropped by another thread, which saw no link yet
            self.drop_channel()
            raise ConnectionLost("the sandbox was removed while it was connected to")

    def _install(self, deadline: Deadline) -> None:
        link = self._link
        if link is None:
            raise ConnectionLost("the sandbox was removed while its kernel was prepared")
        if link.installed:
            return
        code, buffers = install_request(
            comm_id=self._comm_id,
            max_output_bytes=self._settings.max_output_bytes,
            max_value_bytes=self._settings.max_value_bytes,
            max_error_chars=MAX_ERROR_CHARS,
            allow_pickle=self._settings.allow_pickle,
            allow_root=self._settings.allow_root,
        )
        request = link.channel.execute(code, sink=Sink(), silent=True, buffers=buffers)
        link.channel.wait(request, deadline)
        if request.error is not None:
            raise ExecutorStartError(
                f"the kernel of image {self._spec.image} could not be prepared: "
                f"{request.error.name}: {request.error.value}\n{request.error.traceback}"
            )
        link.installed = True

    # -- ends --

    def is_alive(self) -> bool:
        """Return whether the next call can be expected to work without a new sandbox.

        Reads the news that has come in the meantime; must not be called while code runs.
        """
        link = self._link
        if self._closed or self._sandbox is None or link is None or self._unread_end is not None:
            return False
        try:
            link.channel.read_pending(unsent_request())
        except (ConnectionLost, KernelGone) as error:
            # The next call tells it: the state is lost, and silence would hide that.
            self._unread_end = error
            return False
        return True

    def check_end(self) -> None:
        """Raise how the link ended, where :meth:`is_alive` has taken the news out of it.

        Raises:
            ConnectionLost: the stream ended.
            KernelGone: the kernel's process ended.
        """
        if self._unread_end is not None:
            raise self._unread_end

    def find_ending(self, sandbox: Sandbox, *, of_kernel: bool) -> Ending:
        """Return what the provisioner knows of an end that has been noticed.

        Args:
            sandbox: in which something ended.
            of_kernel: whether it was the kernel.
        """
        ending = find_ending(sandbox, of_kernel=of_kernel, known=self._kernels_ended)
        if ending.kernel is not None and of_kernel and ending.status.running:
            self._kernels_ended = ending.kernel.number
        return ending

    def drop_channel(self) -> None:
        """Let go of the channel; the next request connects anew. From any thread."""
        link, self._link, self._unread_end = self._link, None, None
        if link is not None:
            link.channel.close()

    def drop_sandbox(self) -> None:
        """Let go of the sandbox; the next request starts another. From any thread."""
        # In this order: whoever connects makes a link first and looks for the sandbox then.
        sandbox, self._sandbox = self._sandbox, None
        self.drop_channel()
        self._kernel_id = None
        self._kernels_ended = 0
        if sandbox is not None:
            sandbox.remove()

    def close(self) -> None:
        """End everything; from any thread, any number of times."""
        self._closed = True
        self.drop_sandbox()
        with contextlib.suppress(Exception):
            self._provisioner.close()

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for sandboxes that are being removed; return whether all are gone.

        Args:
            timeout: seconds to wait at most.
        """
        return self._provisioner.wait_until_removed(timeout)


def unsent_request() -> Request:
    """Return a request that was never sent, to read past messages of earlier ones."""
    return Request(Requests("", "").execute("", silent=True), Sink(), "")
