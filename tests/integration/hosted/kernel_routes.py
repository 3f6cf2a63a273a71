"""Jupyter's web interface to a kernel, as the gateways in hosted sandboxes offer it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from aiohttp import WSMsgType, web
from sandbox_kernel import SandboxKernel

KernelOf = Callable[[web.Request], SandboxKernel]


class KernelRoutes:
    """Routes of a gateway.

    Args:
        kernel_of: returns the kernel of a request's sandbox, or raises the refusal.
    """

    def __init__(self, kernel_of: KernelOf) -> None:
        self._kernel_of = kernel_of

    def add(self, router: web.UrlDispatcher, prefix: str) -> None:
        """Add the routes below ``prefix``."""
        router.add_get(f"{prefix}/api/kernelspecs", self._specs)
        router.add_post(f"{prefix}/api/kernels", self._start)
        router.add_get(f"{prefix}/api/kernels/{{kernel}}/channels", self._channels)
        router.add_post(f"{prefix}/api/kernels/{{kernel}}/interrupt", self._interrupt)

    async def _specs(self, request: web.Request) -> web.Response:
        self._kernel_of(request)
        return web.json_response({"default": "python3", "kernelspecs": {}})

    async def _start(self, request: web.Request) -> web.Response:
        # The kernel's process starts with its first code: many tests run none.
        self._kernel_of(request)
        return web.json_response({"id": str(uuid.uuid4()), "name": "python3"}, status=201)

    async def _interrupt(self, request: web.Request) -> web.Response:
        await self._kernel_of(request).interrupt()
        return web.Response(status=204)

    async def _channels(self, request: web.Request) -> web.WebSocketResponse:
        kernel = self._kernel_of(request)
        channels = web.WebSocketResponse()
        await channels.prepare(request)
        async for frame in channels:
            if frame.type is not WSMsgType.TEXT:
                break
            message = json.loads(frame.data)
            if message["header"]["msg_type"] == "execute_request":
                await _execute(kernel, message, channels)
        return channels


async def _execute(
    kernel: SandboxKernel, message: dict[str, Any], channels: web.WebSocketResponse
) -> None:
    """Run the code of a request, and send its messages with the request as their parent."""
    status = "ok"
    run = kernel.run(message["content"]["code"], store_history=False)
    try:
        async for answer in run:
            kind, parent, content = answer["msg_type"], message["header"], answer["content"]
            if kind == "kernel_died":
                kind, parent, content = "status", {}, {"execution_state": "restarting"}
            if kind == "error":
                status = "error"
            await channels.send_str(_framed("iopub", kind, parent, content))
            if kind == "status" and content["execution_state"] == "restarting":
                return
    finally:
        await run.aclose()
    reply = {"status": status, "execution_count": 1}
    await channels.send_str(_framed("shell", "execute_reply", message["header"], reply))


def _framed(channel: str, kind: str, parent: Any, content: Any) -> str:
    header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "version": "5.3", "session": "s"}
    fields = {"parent_header": parent, "metadata": {}, "content": content, "buffers": []}
    return json.dumps({"channel": channel, "msg_type": kind, "header": header, **fields})
