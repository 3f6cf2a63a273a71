"""Sandbox of a hosted service with a Jupyter gateway at a web address."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...deadline import Deadline
from ...errors import ExecutorStartError
from ...jupyter.websocket import GatewayAddress
from ...sandboxes.provisioner import SandboxSpec, SandboxStatus
from ...stream.http_exchange import request
from ...stream.web_connection import connect_to

__all__ = ["CreatedSandbox", "GatewayService", "WebGateway"]

# Pause between two questions whether the gateway has started, in seconds.
_PAUSE_SECONDS = 0.5
# Longest single question, and the one whether a gateway that was lost still answers, in seconds.
_REQUEST_SECONDS = 30.0
_STATUS_SECONDS = 3.0
# Longest wait for the end of a sandbox before the next one starts, in seconds.
_END_SECONDS = 30.0
# Bytes that are read of an answer, and characters that messages quote of it.
_LONGEST_ANSWER = 1 << 20
_QUOTED = 500
_NOT_ALLOWED = (401, 403)


@dataclass(frozen=True)
class CreatedSandbox:
    """A sandbox that a service has created.

    Attributes:
        name: of the sandbox at the service, for messages.
        url: address of its gateway, without a slash at its end.
        headers: returns what is sent with every request; it may be secret, so no message quotes it.
        end: ends it.
        sdk_object: of the service's SDK for it.
    """

    name: str
    url: str
    headers: Callable[[], Mapping[str, str]]
    end: Callable[[], object]
    sdk_object: Any


class WebGateway:
    """A running sandbox whose gateway has a web address; a :class:`.provisioner.GatewaySandbox`.

    Args:
        end: ends it in the background; called once.
    """

    #: Sent among the headers, by the name that the service has for it.
    gateway_token = ""

    def __init__(
        self, created: CreatedSandbox, spec: SandboxSpec, end: Callable[[], object]
    ) -> None:
        self.id, self.spec, self.created = created.name, spec, created
        self._end: Callable[[], object] | None = end
        self._lock = threading.Lock()

    @property
    def gateway_address(self) -> GatewayAddress:
        """Address of the gateway at the service's server."""
        url = urlsplit(self.created.url)
        return GatewayAddress(url.netloc, url.path, self.created.headers())

    def open_stream(self, *, timeout: float) -> socket.socket:
        """Open a stream to the gateway, once it answers; see :class:`.provisioner.GatewaySandbox`.

        Raises:
            ExecutorStartError: it refuses this client, or does not answer in time.
        """
        deadline = Deadline(timeout)
        last = ""
        while True:
            stream, answer = self._ask(Deadline(deadline.at_most(_REQUEST_SECONDS)))
            if stream is not None:
                return stream
            # What the deadline cut short says less than the answer before.
            last = last if last and deadline.expired() else answer
            if deadline.at_most(1e6) < _PAUSE_SECONDS:
                raise ExecutorStartError(f"no kernel gateway; {last}")
            time.sleep(_PAUSE_SECONDS)

    def _ask(self, deadline: Deadline) -> tuple[socket.socket | None, str]:
        """Ask the gateway for its kernels; return its stream, or none and what it said.

        Raises:
            ExecutorStartError: it refuses this client.
        """
        from requests import Session

        address, stream = self.gateway_address, None
        try:
            with Session() as session:
                stream = connect_to(self.created.url, session, deadline)
            target = f"{address.prefix}/api/kernelspecs"
            answer = request(
                stream, "GET", target, host=address.host, headers=address.headers, deadline=deadline
            )
            text = answer.read(_LONGEST_ANSWER)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if stream is not None:
                stream.close()
            return None, f"the last answer was {type(error).__name__}: {error}"
        if answer.status == http.client.OK:
            return stream, ""
        stream.close()
        last_answer = (
            f"the last answer was {answer.status} {text[:_QUOTED].decode('utf-8', 'replace')}"
        )
        if answer.status in _NOT_ALLOWED:
            raise ExecutorStartError(f"no kernel gateway: it refuses this client; {last_answer}")
        return None, last_answer

    def status(self) -> SandboxStatus:
        """Return whether the gateway answers; the service is not asked."""
        if self._end is None:
            return SandboxStatus("removed")
        try:
            stream, answer = self._ask(Deadline(_STATUS_SECONDS))
        except ExecutorStartError as error:
            stream, answer = None, str(error)
        if stream is None:
            return SandboxStatus(f"unknown: {answer}")
        stream.close()
        return SandboxStatus("running")

    def remove(self) -> None:
        """End the sandbox in the background. Idempotent."""
        with self._lock:
            end, self._end = self._end, None
        if end is not None:
            end()


class GatewayService:
    """Starts and ends the sandboxes of one executor; a :class:`.provisioner.StartsSandboxes`.

    Args:
        report: takes a line about a sandbox that could not be ended.
        extra: extra that installs the service's SDK.
    """

    def __init__(
        self,
        create: Callable[[Deadline], CreatedSandbox],
        report: Callable[[str], object],
        extra: str,
    ) -> None:
        self._create, self._report, self._extra = create, report, extra
        self._ending: list[threading.Thread] = []

    def start(self, spec: SandboxSpec) -> WebGateway:
        """Create a sandbox, once the last has ended; its gateway may still be starting.

        Raises:
            ExecutorStartError: the service's SDK is not installed.
        """
        deadline = Deadline(spec.start_seconds)
        self.wait_until_removed(deadline.at_most(_END_SECONDS))
        try:
            created = self._create(deadline)
        except ModuleNotFoundError as error:
            raise ExecutorStartError(
                f"executor_type={self._extra!r} needs the package {error.name}, which is not "
                f"installed: pip install 'smolagents[{self._extra}]'"
            ) from error

        def work() -> None:
            try:
                created.end()
            except Exception as error:
                self._report(f"sandbox {created.name} was not ended: {error}")

        thread = threading.Thread(target=work, name="smolagents-fork-hosted-end", daemon=True)
        self._ending.append(thread)
        return WebGateway(created, spec, thread.start)

    def wait_until_removed(self, timeout: float) -> bool:
        """Wait until the sandboxes that were removed have ended; return whether all have."""
        deadline = Deadline(timeout)
        for thread in self._ending:
            if thread.ident is not None:
                thread.join(deadline.at_most(timeout))
        return not any(thread.is_alive() for thread in self._ending)

    def close(self) -> None:
        """Do nothing: a service has no connection to close."""
