"""A running pod as a sandbox: streams, statistics, status."""

from __future__ import annotations

import base64
import socket
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...deadline import Deadline
from ...errors import ExecutorError, ExecutorStartError
from ...results import ExecutorStats
from ...system.first_process_link import FirstProcess
from ..container_options import GATEWAY_PORT
from ..containers.container_sandbox import ContainerSandbox
from ..containers.relay import relay_command
from ..lease_keeper import Lease
from ..provisioner import ByteStream, SandboxSpec, SandboxStatus, select_lines, signal_name
from ..resource_limits import parse_size
from .api_client import ClusterClient, ClusterRefusal
from .channel_socket import ChannelSocket, RelayStream
from .pod_manifest import CONTAINER
from .pod_status import PodState, pod_state

__all__ = ["PodSandbox"]

_QUERY_SECONDS = 2.0
_LOG_LINES = 8
# Time for one attempt to attach again.
_ATTEMPT_SECONDS = 5.0
# Time that a node may take to report the end of a container, and the pause between two looks.
_LAG_SECONDS, _LAG_PAUSE_SECONDS = 3.0, 0.1
# Limit of the first process's answer about the pod's resource use.
_USAGE_SECONDS = 15.0
# Longest program that is sent as it is. A command is part of an address, and servers in front of a
# cluster allow 8 KiB for that.
_LONGEST_PROGRAM = 500


class PodSandbox(ContainerSandbox):
    """One running pod. Made by the provisioner.

    Args:
        tenant: Tenant whose it is; empty for none.
        end: removes it in the background.

    Raises:
        ExecutorError: its first process cannot be attached to.
    """

    def __init__(
        self,
        client: ClusterClient,
        name: str,
        sandbox: str,
        gateway_token: str,
        node: str,
        tenant: str,
        spec: SandboxSpec,
        end: Callable[[], None],
    ) -> None:
        super().__init__(name, gateway_token, spec)
        #: Short identifier, part of the pod's name.
        self.id = sandbox
        #: Name of its node.
        self.node = node
        owner = f" of tenant {tenant}" if tenant else ""
        #: Sandbox, pod, node and tenant, for messages.
        self.place = f"sandbox {sandbox} (pod {name}) on node {node}{owner}"
        self._client = client
        self._end = end
        stream = self._attach(spec.lease_seconds)
        self._lease = Lease(stream, self._attach_again, spec.lease_seconds)
        #: The pod's first process.
        self.first_process: FirstProcess = self._lease.first_process

    @property
    def lost(self) -> str:
        """Nothing: it is the cluster that gives up a node, and the pod's status says so."""
        return ""

    def open_stream(self, *, timeout: float) -> ByteStream:
        """Open a stream to the kernel, by a relay in the pod; again after a loss.

        Args:
            timeout: seconds the kernel may take to start.

        Raises:
            OSError: the kernel did not answer in time.
            ExecutorError: the pod is gone, or the cluster gives no stream.
        """
        # The relay is given less time than the caller has, to hear its reason.
        argv = relay_command(GATEWAY_PORT, max(0.1, timeout * 0.9))
        stream = self.open_program(argv, timeout)
        if self._carried is not None:
            self._carried.serve_beside(stream, timeout)
        return stream

    def open_program(self, argv: list[str], seconds: float) -> ByteStream:
        self._check_there()
        command = _short_command(argv)
        return RelayStream(self._open("exec", seconds, command=command, stderr=True))

    def _attach(self, seconds: float) -> ChannelSocket:
        return ChannelSocket(self._open("attach", seconds))

    def _attach_again(self) -> ChannelSocket | None:
        """Replace a lost attachment; return ``None`` if the pod has ended."""
        state = self._state()
        # A cluster that does not answer says nothing about the pod.
        may_run = state.startswith("unknown") if isinstance(state, str) else state.running
        return self._attach(_ATTEMPT_SECONDS) if may_run else None

    def _open(self, subresource: str, seconds: float, **parameters: Any) -> socket.socket:
        query = {"container": CONTAINER, "stdin": True, "stdout": True, **parameters}
        # Lower-case, as the API's own clients write it.
        query = {k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items()}
        return self._client.stream(self.name, subresource, query, seconds)

    def stats(self) -> ExecutorStats:
        """Return the pod's resource use now.

        Raises:
            ExecutorError: it is gone, or does not answer.
        """
        self._check_there()
        usage = self.first_process.usage(_USAGE_SECONDS)
        if usage is None:
            raise ExecutorError(
                f"{self.place}: its first process reported no resource use in {_USAGE_SECONDS:g} s "
                f"({self.status()}); that of an older warm pool template does not"
            )
        memory, seconds, count = usage
        return ExecutorStats(memory, parse_size(self.spec.limits.memory), seconds, count)

    def status(self) -> SandboxStatus:
        """Return the pod's status; never raises, takes a few seconds at most."""
        state = self._state()
        end = self.first_process.end
        if end is not None and signal_name(end.exit_code) and not end.out_of_memory:
            # Who sent the signal may be in the API's words, a second or two later.
            deadline = Deadline(_LAG_SECONDS)
            while isinstance(state, PodState) and state.running and not deadline.expired():
                time.sleep(_LAG_PAUSE_SECONDS)
                state = self._state()
        if isinstance(state, str):
            return self._with_end(SandboxStatus(state))
        lines: list[str] = []
        missing = ""
        try:
            lines = self._client.log_lines(self.name, _LOG_LINES, seconds=_QUERY_SECONDS)
        except ExecutorError as error:
            missing = str(error)
        return self._with_end(state.status(select_lines(lines), missing))

    def _with_end(self, status: SandboxStatus) -> SandboxStatus:
        """Return a status with the first process's words about the end, if there are any."""
        end = self.first_process.end
        if end is None:
            return status
        return replace(
            status,
            state=status.state if status.state.startswith("ended") else "ended",
            exit_code=end.exit_code,
            out_of_memory=status.out_of_memory or end.out_of_memory,
        )

    def _state(self) -> PodState | str:
        """Return the pod's state, or the text of one that cannot be read."""
        try:
            return pod_state(self._client.read_pod(self.name, seconds=_QUERY_SECONDS))
        except ClusterRefusal as error:
            if error.status in (404, 410):
                return "ended and was removed"
            return f"unknown: {error}"
        except ExecutorError as error:
            return f"unknown: the cluster does not answer ({error})"

    def _check_there(self) -> None:
        if self._removed:
            raise ExecutorStartError(f"{self.place} has been removed")

    def _begin_removal(self) -> None:
        self._lease.close()
        self._end()


def _short_command(argv: list[str]) -> list[str]:
    """Return a command with a compressed program, if it runs a long one with Python's ``-c``."""
    if "-c" not in argv or not argv[0].startswith("python"):
        return argv
    place = argv.index("-c") + 1
    program = argv[place]
    if len(program) <= _LONGEST_PROGRAM:
        return argv
    packed = base64.b85encode(zlib.compress(program.encode(), 9)).decode()
    code = f"import base64,zlib;exec(zlib.decompress(base64.b85decode({packed!r})))"
    return [*argv[:place], code, *argv[place + 1 :]]
