"""IPython kernel of a doubled sandbox: a real one, in a process and a folder of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager

#: Takes the name of a channel, and a message in its parts.
Publish = Callable[[str, list[bytes]], Awaitable[None]]
#: Seconds for the kernel's start.
START_SECONDS = 60


class SandboxKernel:
    """Kernel with the outcomes that users see in a hosted sandbox.

    ``pip install`` inside finds the packages in ``packages`` and nothing else, and installs into
    the kernel's folder.

    Args:
        folder: of the kernel, with its working folder and the installed packages.
        packages: folder with wheels.
    """

    def __init__(self, folder: Path, packages: Path) -> None:
        self._folder = folder
        self._packages = packages
        self._manager: Any = None
        self.client: Any = None
        self._turn = asyncio.Lock()

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the kernel, and of processes beside it."""
        installed = self._folder / "installed"
        return {
            "HOME": str(self._folder),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}",
            "PYTHONPATH": str(installed),
            "PIP_TARGET": str(installed),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": str(self._packages),
            "IPYTHONDIR": str(self._folder / "ipython"),
        }

    async def start(self) -> None:
        """Start the kernel unless one runs."""
        async with self._turn:
            if self.client is not None:
                return
            for name in ("installed", "work"):
                (self._folder / name).mkdir(parents=True, exist_ok=True)
            self._manager = AsyncKernelManager(
                transport="ipc",
                connection_file=str(self._folder / "kernel.json"),
                ip=str(self._folder / "socket"),
            )
            await self._manager.start_kernel(cwd=str(self._folder / "work"), env=self.environment)
            client = self._manager.client()
            client.start_channels()
            await client.wait_for_ready(timeout=START_SECONDS)
            self.client = client

    @contextlib.asynccontextmanager
    async def published_to(self, publish: Publish) -> AsyncIterator[None]:
        """Pass all messages of the kernel on in the block, and its end as a gateway reports it."""
        names = ("shell", "iopub", "stdin", "control")
        tasks = [asyncio.ensure_future(self._read(name, publish)) for name in names]
        tasks.append(asyncio.ensure_future(self._report_end(publish)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, name: str, publish: Publish) -> None:
        while True:
            parts = await self._socket(name).recv_multipart()
            _, (_, *message) = self.client.session.feed_identities(parts)
            await publish(name, message)

    async def _report_end(self, publish: Publish) -> None:
        while await self._manager.is_alive():
            await asyncio.sleep(0.1)
        session = self.client.session
        status = session.msg("status", {"execution_state": "restarting"})
        _, (_, *message) = session.feed_identities(session.serialize(status))
        await publish("iopub", message)

    async def send(self, name: str, parts: list[bytes]) -> None:
        """Send a message to the kernel."""
        signed = [b"<IDS|MSG>", self.client.session.sign(parts[:4]), *parts]
        await self._socket(name).send_multipart(signed)

    def _socket(self, name: str) -> Any:
        return getattr(self.client, f"{name}_channel").socket

    async def interrupt(self) -> None:
        """Interrupt the code that runs."""
        await self._manager.interrupt_kernel()

    async def stop(self) -> None:
        """End the kernel."""
        client, self.client = self.client, None
        manager, self._manager = self._manager, None
        if client is not None:
            client.stop_channels()
        if manager is not None:
            await manager.shutdown_kernel(now=True)
