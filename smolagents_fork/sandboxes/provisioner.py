"""The protocol between executors and the engines that run sandboxes.

An engine (:mod:`.engine_protocol`) is connected to as a :class:`Provisioner`. Everything above is
typed by the protocols of this module. It assumes no shared file system, no reachable address, no
published port and no local socket. Every implementation passes the test suite
``tests/contract/provisioners``.

Who calls what: an executor calls :meth:`Provisioner.prepare_image` and :meth:`Provisioner.start`.
It calls :meth:`Sandbox.open_stream` once for each connection to the gateway, also for one that
takes the place of a lost one, and :meth:`Sandbox.status` when something has ended. Several threads
may call :meth:`Provisioner.start` at once. :meth:`Sandbox.remove` may be called from any thread,
any number of times.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol, runtime_checkable

from ..errors import ConfigurationError
from ..options import accept
from ..options.option import Options, option
from ..options.words import PACKAGES
from ..results import ExecutorStats
from ..stream.timed_socket import ByteStream
from ..system.first_process_link import MARK
from .resource_limits import Limits

__all__ = [
    "BUILD_SECONDS",
    "BUILT",
    "STEP",
    "ByteStream",
    "ConnectionProxy",
    "GatewaySandbox",
    "ImageSpec",
    "Limits",
    "NodesProvisioner",
    "Provisioner",
    "PublishesPort",
    "Report",
    "Sandbox",
    "SandboxOnNode",
    "SandboxSpec",
    "SandboxStatus",
    "StartsSandboxes",
    "select_lines",
    "signal_name",
]

#: Default limit of a build.
BUILD_SECONDS = 1800.0
#: Takes one line of progress.
Report = Callable[[str], None]
#: Begins a line of progress that begins a step; other lines are details of the last step.
STEP = "==> "
#: Begins the line of progress about an image that has been built.
BUILT = f"{STEP}built "


@dataclass(frozen=True)
class ImageSpec(Options):
    """Options of an image; the first three are upstream's."""

    image_name: str | None = option(
        None, "another name for the image that is built", accept.text_or_none, form="`name[:tag]`"
    )
    build_new_image: bool = option(
        True,
        "with `False` an existing image of that name is used as it is. The same content is never "
        "built twice",
        accept.flag,
    )
    dockerfile_content: str | None = option(
        None,
        "a Dockerfile in place of the fork's; its image must start a kernel gateway on port 8888",
        accept.text_or_none,
        form="text",
    )
    _: KW_ONLY
    image: str | None = option(
        None,
        "an image to use as it is; it must start a kernel gateway on port 8888",
        accept.text_or_none,
        form="name",
        elsewhere="container_image docker_image image_tag template",
    )
    base_image: str | None = option(
        None,
        "the base of the fork's image: `SMOLAGENTS_FORK_BASE_IMAGE` of the environment, else "
        "`python:3.12-slim`",
        accept.text_or_none,
        form="name",
    )
    requirements: Sequence[str] = option(
        (),
        "more to install; options, addresses and paths are refused",
        accept.names,
        form='pip\'s own form (`"numpy==2.1"`)',
        elsewhere=PACKAGES,
    )
    ca_bundle: str | os.PathLike[str] | None = option(
        None,
        "trusted by pip during the build, for proxies that re-sign TLS; `None` for the one that "
        "`PIP_CERT`, `REQUESTS_CA_BUNDLE` or `SSL_CERT_FILE` names. It is not in the image",
        accept.path_or_none,
        form="path of a PEM file",
        elsewhere="ca_cert ca_certs ca_file cert certs ssl_cert_file",
    )
    build_timeout_seconds: float = option(
        BUILD_SECONDS,
        "limit of a build, a pull or an `install_packages`, waiting for another process that "
        "builds the same image included. The error has the builder's last lines",
        accept.seconds,
        form="seconds",
    )
    #: Whether the image has smolagents, as whole agents need it; not an option.
    with_smolagents: bool = False

    def check_together(self) -> None:
        """Refuse an image beside a Dockerfile."""
        super().check_together()
        if self.image is not None and self.dockerfile_content is not None:
            raise ConfigurationError(
                "image= and dockerfile_content= are mutually exclusive: pass one of them"
            )

    @property
    def is_users_own(self) -> bool:
        """Tell whether the user has chosen the image or its Dockerfile."""
        return self.image is not None or self.dockerfile_content is not None


class ConnectionProxy(Protocol):
    """A proxy of this process, which serves connections of a sandbox; from any thread."""

    @property
    def variables(self) -> dict[str, str]:
        """Variables that name the proxy to clients in the sandbox."""

    def serve(self, listener: socket.socket) -> None:
        """Serve the listener of the sandbox's loopback, in place of what was served before."""

    def serve_stream(self, stream: ByteStream) -> None:
        """Serve the stream of a multiplexer in the sandbox, as :meth:`serve`."""


@dataclass(frozen=True)
class SandboxSpec:
    """Specification of a sandbox to start.

    Attributes:
        image: name that :meth:`Provisioner.prepare_image` returned.
        limits: see :class:`Limits`.
        environment: variables of the sandbox; never a secret, the program can read them.
        workdir: absolute path of the folder the program may write to.
        lease_seconds: time the sandbox may outlive a host process that was killed.
        proxy: serves connections to a port of the sandbox's loopback; ``None``: it has none.
        start_seconds: time the engine may take to find it a place and start it.
    """

    image: str
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/workspace"
    lease_seconds: float = 60.0
    start_seconds: float = 60.0
    proxy: ConnectionProxy | None = None

    @property
    def proxy_variables(self) -> dict[str, str]:
        """Variables of the sandbox that name the proxy to its clients; none without one."""
        return {} if self.proxy is None else self.proxy.variables


def signal_name(exit_code: int) -> str:
    """Return the name of the signal that ended a process; empty for an exit of its own.

    Args:
        exit_code: as a shell has it: 128 and the number of the signal.
    """
    with contextlib.suppress(ValueError):
        return signal.Signals(exit_code - 128).name
    return ""


@dataclass(frozen=True)
class SandboxStatus:
    """Status of a sandbox: whether it runs, how it ended, and its last log lines.

    Attributes:
        state: ``running``, ``ended``, ``ended and was removed`` and the like.
        exit_code: of the sandbox's main process, ``None`` while unknown.
        out_of_memory: whether a process in it was killed for lack of memory.
        log_lines: its last log lines.
        log_missing: the reason why there are none.
    """

    state: str
    exit_code: int | None = None
    out_of_memory: bool = False
    log_lines: tuple[str, ...] = ()
    log_missing: str = ""

    @property
    def running(self) -> bool:
        """Tell whether it runs."""
        return self.state == "running"

    @property
    def signal_name(self) -> str:
        """Name of the signal that ended the main process; empty for an exit of its own."""
        return "" if self.exit_code is None else signal_name(self.exit_code)

    def __str__(self) -> str:
        parts = [f"sandbox {self.state}"]
        if self.exit_code is not None:
            name = self.signal_name
            parts.append(f"exit code {self.exit_code}" + (f" ({name})" if name else ""))
        if self.out_of_memory:
            parts.append("out of memory: raise memory=, or use less")
        text = ", ".join(parts)
        if self.log_lines:
            text += "; last log lines: " + " | ".join(self.log_lines)
        elif self.log_missing:
            # An engine that removes an ended sandbox may do so before its log is read.
            text += f"; the engine removed its log with it ({self.log_missing})"
        elif self.state.startswith("ended") and not self.out_of_memory:
            text += "; its log does not say why"
        return text


def select_lines(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of a sandbox's log that say something about it, bounded.

    Args:
        lines: Lines of the log, which may have those of the first process and of the kernel's
            start, too.
    """
    return tuple(
        line[:300]
        for line in lines
        if line.strip() and "IPKernelApp" not in line and not line.startswith(MARK)
    )


class GatewaySandbox(Protocol):
    """One running sandbox, as far as the connection to its kernel needs it."""

    @property
    def id(self) -> str:
        """Short identifier, for messages."""

    @property
    def spec(self) -> SandboxSpec:
        """Specification that it was started from."""

    @property
    def gateway_token(self) -> str:
        """Token the gateway asks its clients for; :meth:`open_stream` may change it."""

    def open_stream(self, *, timeout: float) -> ByteStream:
        """Open a stream to the kernel gateway, which may still be starting.

        Called again after a stream was lost, from another thread: an engine opens the next as it
        opened the first, and keeps nothing of the last (:mod:`smolagents_fork.jupyter.resumption`
        sends what is missing again).

        Args:
            timeout: seconds to wait for the gateway; no step may take longer.

        Raises:
            OSError: the gateway did not answer in time.
            ExecutorError: the sandbox is gone, or can give no stream.
        """

    def status(self) -> SandboxStatus:
        """Return its status; never raises, takes a few seconds at most."""

    def remove(self) -> None:
        """End and remove it in the background; idempotent, no error when it is gone."""


class Sandbox(GatewaySandbox, Protocol):
    """One running sandbox of an engine, which knows its resources."""

    def stats(self) -> ExecutorStats:
        """Return its resource use now.

        Raises:
            ExecutorError: it is gone.
        """


@runtime_checkable
class PublishesPort(Protocol):
    """A sandbox that can be reached at a port, too: an optional capability of an engine."""

    def published_address(self) -> tuple[str, int] | None:
        """Return host and port of the gateway as seen from here; ``None`` if none is published.

        Raises:
            ExecutorError: the sandbox has ended.
        """


@runtime_checkable
class SandboxOnNode(Protocol):
    """A sandbox on a node of a cluster: an optional capability of an engine."""

    @property
    def place(self) -> str:
        """Sandbox, node and tenant, for messages."""

    @property
    def lost(self) -> str:
        """Reason for which its node was given up; empty while it was not."""


@runtime_checkable
class NodesProvisioner(Protocol):
    """An engine whose nodes each have images of their own."""

    def prepare_on_all_nodes(
        self, spec: ImageSpec, *, report: Report, rebuild: bool = False
    ) -> str:
        """Prepare an image on every node; see :meth:`Provisioner.prepare_image`."""


class StartsSandboxes(Protocol):
    """Starts and removes sandboxes of one kind."""

    def start(self, spec: SandboxSpec) -> GatewaySandbox:
        """Start a sandbox; its gateway may still be starting. From any thread.

        Raises:
            ExecutorError: it cannot be started; nothing of it is left.
        """

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait for pending removals, also after :meth:`close`; return whether all are done.

        Args:
            timeout: seconds to wait at most.
        """

    def close(self) -> None:
        """Close the connection to the engine; running sandboxes stay. Idempotent."""


class Provisioner(StartsSandboxes, Protocol):
    """An engine that runs sandboxes."""

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        """Pull or build an image unless the engine has it.

        Args:
            spec: of the image.
            report: takes one line at a time while something is built.
            rebuild: build again, without a cache.

        Returns:
            the name for :attr:`SandboxSpec.image`.

        Raises:
            ExecutorError: the image could not be prepared; says why.
        """

    def start(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox; see :class:`StartsSandboxes`."""

    def ours(self) -> list[str]:
        """Return the ids of the sandboxes of this process that exist."""
