"""The doubled services, each with its executor and the errors that its SDK raises."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import blaxel_service
import e2b_service
import pytest
from service_thread import ServiceThread
from smolagents.monitoring import AgentLogger, LogLevel

from tests import certificates

PROBE = "hosted_probe"


@dataclass
class Hosted:
    """One service under test.

    Attributes:
        name: what ``executor_type`` takes.
        service: the double.
        address: the double's host and port.
        thread: that serves it.
        lead: leads the SDK to an address, with the variables that ``patch`` sets.
        leave: closes the connections that the SDK keeps.
        options: ``executor_kwargs`` that keep the SDK from trying again.
        impatient: options under which the SDK gives up a silent service soon.
        create: part of the path of the request that creates a sandbox.
        start: part of the path of the request that starts a kernel.
        key: the secret that the SDK sends.
        refusals: name of the SDK's exception by the status of the answer to a creation.
    """

    name: str
    service: Any
    address: str
    lead: Callable[[str, pytest.MonkeyPatch], None]
    leave: Callable[[], None]
    options: dict[str, Any]
    impatient: dict[str, Any]
    create: str
    start: str
    key: str
    refusals: dict[int, str]
    _made: list[Any] = field(default_factory=list)
    _shared: Any = None
    thread: ServiceThread = field(init=False)

    @property
    def repaired(self) -> Any:
        """Return the class that ``executor_type`` picks."""
        from smolagents_fork.executors import registry

        return registry.built_in(self.name)

    def shared_executor(self) -> Any:
        """Return an executor that outlives the tests."""
        if self._shared is None:
            self._shared = self.make()
            self._made.remove(self._shared)
            self.service.shared = set(self.service.sandboxes)
        return self._shared

    def make(self, factory: Any = None, imports: tuple[str, ...] = (), **options: Any) -> Any:
        """Return a started executor; the end of the test closes it."""
        logger = AgentLogger(level=LogLevel.OFF)
        made = (factory or self.repaired)([*imports], logger, **{**self.options, **options})
        self._made.append(made)
        return made

    def close_connections(self) -> None:
        """Close all connections to kernels, as a server between does with silent ones."""
        self.thread.run(self.service.routes.close())

    def close(self) -> None:
        """Close the executors, and forget the faults."""
        self.service.faults.clear()
        while self._made:
            self._made.pop().cleanup()

    def close_shared(self) -> None:
        """Close the executor that outlived the tests."""
        if self._shared is not None:
            self._shared.cleanup()
        self.leave()


def e2b(folder: Path, packages: Path) -> tuple[ServiceThread, Callable[[str], Hosted]]:
    """Return the service of E2B, not yet started, and what makes its description."""
    certificate = certificates.made_in(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    service = e2b_service.E2BService(folder, packages, tls)

    def lead(address: str, patch: pytest.MonkeyPatch) -> None:
        from e2b import ConnectionConfig

        patch.setenv("E2B_API_KEY", e2b_service.KEY)
        patch.setenv("E2B_API_URL", f"http://{address}")
        patch.setenv("E2B_SANDBOX_URL", f"http://{address}")
        patch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        # The names of sandboxes' ports are resolved by the service's own servers of names.
        host = f"127.0.0.1:{service.gateway_port}"
        patch.setattr(ConnectionConfig, "get_host", lambda *_arguments: host)

    def describe(address: str) -> Hosted:
        return Hosted(
            name="e2b",
            service=service,
            address=address,
            lead=lead,
            leave=lambda: None,
            options={"retries": 0},
            impatient={"request_timeout": 1.0},
            create="/sandboxes",
            start="/api/kernels",
            key=e2b_service.KEY,
            refusals={
                401: "AuthenticationException",
                429: "RateLimitException",
                500: "SandboxException",
            },
        )

    return ServiceThread(service.application()), describe


def blaxel(folder: Path, packages: Path) -> tuple[ServiceThread, Callable[[str], Hosted]]:
    """Return the service of Blaxel, not yet started, and what makes its description."""
    service = blaxel_service.BlaxelService(folder, packages)

    def describe(address: str) -> Hosted:
        return Hosted(
            name="blaxel",
            service=service,
            address=address,
            lead=_lead_blaxel,
            leave=lambda: None,
            options={},
            impatient={"startup_timeout_seconds": 1.0},
            create="/v0/sandboxes",
            start="/api/kernels",
            key=blaxel_service.KEY,
            refusals={401: "ExecutorStartError", 429: "RateLimitError", 500: "ExecutorStartError"},
        )

    return ServiceThread(service.application()), describe


def _lead_blaxel(address: str, patch: pytest.MonkeyPatch) -> None:
    # The SDK reads them when it is imported.
    patch.setenv("BL_API_KEY", blaxel_service.KEY)
    patch.setenv("BL_WORKSPACE", blaxel_service.WORKSPACE)
    patch.setenv("DO_NOT_TRACK", "1")
    from blaxel.core.client import client

    client.with_base_url(f"http://{address}/v0")


def modal(folder: Path, packages: Path) -> tuple[ServiceThread, Callable[[str], Hosted]]:
    """Return the service of Modal, not yet started, and what makes its description."""
    # Not at the top: every worker collects these tests, and the SDK takes half a second.
    import modal_service
    from modal.client import Client

    service = modal_service.ModalService(folder, packages)
    certificate = certificates.made_in(folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)

    def lead(address: str, patch: pytest.MonkeyPatch) -> None:
        # The SDK keeps the client that it has made from the variables until that is closed.
        if "MODAL_SERVER_URL" in os.environ:
            Client.from_env().close()
        patch.setenv("MODAL_SERVER_URL", f"http://{address}")
        patch.setenv("MODAL_TOKEN_ID", modal_service.TOKEN_ID)
        patch.setenv("MODAL_TOKEN_SECRET", modal_service.TOKEN_SECRET)
        patch.setenv("MODAL_ENVIRONMENT", "main")
        patch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        patch.setenv("WEBSOCKET_CLIENT_CA_BUNDLE", str(certificate))

    def describe(address: str) -> Hosted:
        service.tunnel = address
        return Hosted(
            name="modal",
            service=service,
            address=f"127.0.0.1:{service.grpc_port}",
            lead=lead,
            leave=lambda: Client.from_env().close(),
            options={},
            impatient={"startup_timeout_seconds": 1.0},
            create="SandboxCreateV2",
            start="/api/kernels",
            key=modal_service.TOKEN_SECRET,
            refusals={401: "AuthError", 429: "ResourceExhaustedError", 500: "InternalError"},
        )

    return ServiceThread(service.application(), tls), describe


SERVICES = {"blaxel": blaxel, "e2b": e2b, "modal": modal}
