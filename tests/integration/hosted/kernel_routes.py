"""Jupyter's web interface to a kernel, as the gateways in hosted sandboxes offer it."""

from __future__ import annotations

import itertools
import struct
import uuid
from collections.abc import Callable

from aiohttp import WSMsgType, web
from sandbox_kernel import SandboxKernel

KernelOf = Callable[[web.Request], SandboxKernel]
#: Layout of messages that Jupyter Server 2 offers.
V1 = "v1.kernel.websocket.jupyter.org"


class KernelRoutes:
    """Routes of a gateway.

    Args:
        kernel_of: returns the kernel of a request's sandbox, or raises the refusal.
    """

    def __init__(self, kernel_of: KernelOf) -> None:
        self._kernel_of = kernel_of
        #: Connections to kernels that are open.
        self.channels: set[web.WebSocketResponse] = set()

    def add(self, router: web.UrlDispatcher, prefix: str) -> None:
        """Add the routes below ``prefix``."""
        router.add_get(f"{prefix}/api/kernelspecs", self._specs)
        router.add_post(f"{prefix}/api/kernels", self._start)
        router.add_get(f"{prefix}/api/kernels/{{kernel}}/channels", self._open)
        router.add_post(f"{prefix}/api/kernels/{{kernel}}/interrupt", self._interrupt)

    async def close(self) -> None:
        """Close all connections to kernels."""
        for channels in list(self.channels):
            await channels.close()

    async def _specs(self, request: web.Request) -> web.Response:
        self._kernel_of(request)
        return web.json_response({"default": "python3", "kernelspecs": {}})

    async def _start(self, request: web.Request) -> web.Response:
        # The kernel's process starts with its first connection: many tests open none.
        self._kernel_of(request)
        return web.json_response({"id": str(uuid.uuid4()), "name": "python3"}, status=201)

    async def _interrupt(self, request: web.Request) -> web.Response:
        await self._kernel_of(request).interrupt()
        return web.Response(status=204)

    async def _open(self, request: web.Request) -> web.WebSocketResponse:
        kernel = self._kernel_of(request)
        # As Jupyter's servers, which ask the kernel who it is first.
        await kernel.start()
        channels = web.WebSocketResponse(protocols=(V1,), max_msg_size=10 << 20)
        await channels.prepare(request)
        self.channels.add(channels)
        try:
            await _relay(kernel, channels)
        finally:
            self.channels.discard(channels)
        return channels


async def _relay(kernel: SandboxKernel, channels: web.WebSocketResponse) -> None:
    """Pass messages on in both directions, each as the kernel has it."""

    async def publish(channel: str, parts: list[bytes]) -> None:
        await channels.send_bytes(_packed(channel, parts))

    async with kernel.published_to(publish):
        async for frame in channels:
            if frame.type is not WSMsgType.BINARY:
                break
            await kernel.send(*_unpacked(frame.data))


def _packed(channel: str, parts: list[bytes]) -> bytes:
    """Return a message with the table of its offsets ("Kernel WebSocket protocols")."""
    parts = [channel.encode(), *parts]
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


def _unpacked(data: bytes) -> tuple[str, list[bytes]]:
    (count,) = struct.unpack_from("<Q", data)
    offsets = struct.unpack_from(f"<{count}Q", data, 8)
    channel, *parts = (data[start:end] for start, end in itertools.pairwise(offsets))
    return channel.decode(), parts
