"""Base of the doubled services: sandboxes that are kernels, records of requests, faults."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from aiohttp import web
from faults import Faults
from sandbox_kernel import SandboxKernel


class DoubledService(ABC):
    """State of a doubled service.

    Args:
        folder: where the sandboxes' folders are made.
        packages: folder with the wheels that ``pip`` finds in a sandbox.
    """

    def __init__(self, folder: Path, packages: Path) -> None:
        self._folder = folder
        self._packages = packages
        self.faults = Faults()
        #: The sandboxes that run, by name.
        self.sandboxes: dict[str, SandboxKernel] = {}
        #: Those of the sandboxes that outlive a test.
        self.shared: set[str] = set()
        #: The requests that created sandboxes, or their bodies.
        self.created: list[Any] = []

    def application(self) -> web.Application:
        """Return the service as an application."""
        application = web.Application(middlewares=[self.faults.middleware()])
        self._add_to(application)
        application.on_cleanup.append(self._close)
        return application

    @abstractmethod
    def _add_to(self, application: web.Application) -> None:
        """Add the service's routes."""

    def _start(self, name: str) -> None:
        # A short path: the kernel's sockets are here, and a socket's path has 107 bytes at most.
        folder = self._folder / f"s{len(self.created)}"
        self.sandboxes[name] = SandboxKernel(folder, self._packages)

    async def _close(self, _application: web.Application) -> None:
        for kernel in self.sandboxes.values():
            await kernel.stop()
