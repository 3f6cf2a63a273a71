"""Double of Blaxel: the control plane's sandboxes, and the Jupyter gateway in each of them.

The SDK's own ``client.with_base_url`` leads it here; the sandbox's address is in the answer to its
creation.
"""

from __future__ import annotations

from typing import ClassVar

import pytest
from aiohttp import web
from doubled_service import DoubledService
from sandbox_kernel import SandboxKernel

WORKSPACE = "made-up"


class BlaxelService(DoubledService):
    """State of the doubled service."""

    name = "blaxel"
    create = "/v0/sandboxes"
    key = "bl_0123456789abcdef"
    refusals: ClassVar = {
        401: "ExecutorStartError",
        429: "RateLimitError",
        500: "ExecutorStartError",
    }

    def lead(self, address: str, patch: pytest.MonkeyPatch) -> None:
        """Lead the SDK to an address."""
        # The SDK reads them when it is imported.
        patch.setenv("BL_API_KEY", self.key)
        patch.setenv("BL_WORKSPACE", WORKSPACE)
        patch.setenv("DO_NOT_TRACK", "1")
        from blaxel.core.client import client

        client.with_base_url(f"http://{address}/v0")

    def _add_to(self, application: web.Application) -> None:
        application.router.add_post("/v0/sandboxes", self._create)
        application.router.add_delete("/v0/sandboxes/{name}", self._delete)
        self.routes.add(application.router, "/box/{name}/port/8888")

    def _check_key(self, request: web.Request) -> None:
        given = request.headers.get("X-Blaxel-Authorization")
        if (given, request.headers.get("X-Blaxel-Workspace")) != (f"Bearer {self.key}", WORKSPACE):
            raise web.HTTPUnauthorized(text='{"code": 401, "message": "wrong key"}')

    async def _create(self, request: web.Request) -> web.Response:
        self._check_key(request)
        body = await request.json()
        self.created.append(body)
        name = body["metadata"]["name"]
        self._start(name)
        body["metadata"]["url"] = f"http://{request.host}/box/{name}"
        return web.json_response({**body, "status": "DEPLOYED"})

    async def _delete(self, request: web.Request) -> web.Response:
        self._check_key(request)
        kernel = self.sandboxes.pop(request.match_info["name"], None)
        if kernel is None:
            return web.json_response({"error": "not found", "code": 404}, status=404)
        await kernel.stop()
        metadata = {"name": request.match_info["name"]}
        return web.json_response({"metadata": metadata, "spec": {}, "status": "DELETING"})

    def _kernel_of(self, request: web.Request) -> SandboxKernel:
        self._check_key(request)
        kernel = self.sandboxes.get(request.match_info["name"])
        if kernel is None:
            raise web.HTTPNotFound(text="no such sandbox")
        return kernel
