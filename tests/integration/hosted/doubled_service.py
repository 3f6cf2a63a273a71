"""Base of the doubled services: sandboxes that are kernels, executors on them, faults."""

from __future__ import annotations

import ssl
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiohttp import web
from faults import Faults
from kernel_routes import KernelRoutes
from sandbox_kernel import SandboxKernel
from service_thread import ServiceThread
from smolagents.monitoring import AgentLogger, LogLevel

from tests import certificates

#: A package that ``pip`` finds in sandboxes.
PROBE = "hosted_probe"


class DoubledService(ABC):
    """A doubled service under test.

    Args:
        folder: where the sandboxes' folders are made.
        packages: folder with the wheels that ``pip`` finds in a sandbox.

    Attributes:
        name: what ``executor_type`` takes.
        options: ``executor_kwargs`` that keep the SDK from trying again.
        impatient: options under which the SDK gives up a silent service soon.
        create: part of the path of the request that creates a sandbox.
        key: the secret that the SDK sends.
        refusals: name of the SDK's exception by the status of the answer to a creation.
    """

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    impatient: ClassVar[dict[str, Any]] = {"startup_timeout_seconds": 1.0}
    create: ClassVar[str]
    key: ClassVar[str]
    refusals: ClassVar[dict[int, str]]

    def __init__(self, folder: Path, packages: Path) -> None:
        self._folder = folder
        self._packages = packages
        self._certificate = certificates.made_in(folder)
        self.faults = Faults()
        self.routes = KernelRoutes(self._kernel_of)
        #: The sandboxes that run, by name.
        self.sandboxes: dict[str, SandboxKernel] = {}
        #: Those of the sandboxes that outlive a test.
        self.shared: set[str] = set()
        #: The requests that created sandboxes, or their bodies.
        self.created: list[Any] = []
        self._made: list[Any] = []
        self._shared_executor: Any = None
        application = web.Application(middlewares=[self.faults.middleware()])
        self._add_to(application)
        application.on_cleanup.append(self._stop_kernels)
        #: Serves while its block runs.
        self.thread = ServiceThread(application, self._tls())

    @abstractmethod
    def _add_to(self, application: web.Application) -> None:
        """Add the service's routes."""

    @abstractmethod
    def _kernel_of(self, request: web.Request) -> SandboxKernel:
        """Return the kernel of a request's sandbox, or raise the refusal."""

    @abstractmethod
    def lead(self, address: str, patch: pytest.MonkeyPatch) -> None:
        """Lead the SDK to an address, with the variables that ``patch`` sets."""

    def _tls(self) -> ssl.SSLContext | None:
        """Return what the application is served with."""
        return None

    def _own_tls(self) -> ssl.SSLContext:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self._certificate)
        return tls

    @property
    def address(self) -> str:
        """Host and port to which the SDK is led."""
        return f"127.0.0.1:{self.thread.port}"

    def _start(self, name: str) -> None:
        # A short path: the kernel's sockets are here, and a socket's path has 107 bytes at most.
        folder = self._folder / f"s{len(self.created)}"
        self.sandboxes[name] = SandboxKernel(folder, self._packages)

    async def _stop_kernels(self, _application: web.Application) -> None:
        for kernel in self.sandboxes.values():
            await kernel.stop()

    @property
    def repaired(self) -> Any:
        """Return the class that ``executor_type`` picks."""
        from smolagents_fork.executors import registry

        return registry.built_in(self.name)

    def make(self, imports: tuple[str, ...] = (), **options: Any) -> Any:
        """Return a started executor; the end of the test closes it."""
        logger = AgentLogger(level=LogLevel.OFF)
        made = self.repaired([*imports], logger, **{**self.options, **options})
        self._made.append(made)
        return made

    def shared_executor(self) -> Any:
        """Return an executor that outlives the tests."""
        if self._shared_executor is None:
            self._shared_executor = self.make()
            self._made.remove(self._shared_executor)
            self.shared = set(self.sandboxes)
        return self._shared_executor

    def close_connections(self) -> None:
        """Close all connections to kernels, as a server between does with silent ones."""
        self.thread.run(self.routes.close())

    def close(self) -> None:
        """Close the executors, and forget the faults."""
        self.faults.clear()
        while self._made:
            self._made.pop().cleanup()

    def close_shared(self) -> None:
        """Close the executor that outlived the tests."""
        if self._shared_executor is not None:
            self._shared_executor.cleanup()
