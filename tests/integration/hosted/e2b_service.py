"""Double of E2B: the API that creates and kills sandboxes, and the daemon in them.

Speaks what ``e2b_code_interpreter`` sends and parses: ``POST /v2/sandboxes`` and ``DELETE
/sandboxes/<id>`` of the API, ``GET /health`` and ``POST /process.Process/Start`` of a sandbox's
daemon. The SDK addresses all of it by ``E2B_API_URL`` and ``E2B_SANDBOX_URL``. A command that
starts a Jupyter server is not run: the routes of its gateway have a TLS listener of their own.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest
from aiohttp import web
from doubled_service import DoubledService
from sandbox_kernel import SandboxKernel

# Head of a message in a stream of the Connect protocol: flags, and length.
_ENVELOPE = struct.Struct("!BI")
_END_OF_STREAM = 2


class E2BService(DoubledService):
    """State of the doubled service."""

    name = "e2b"
    options: ClassVar = {"retries": 0}
    impatient: ClassVar = {"request_timeout": 1.0}
    create = "/sandboxes"
    key = "e2b_0123456789abcdef"
    refusals: ClassVar = {
        401: "AuthenticationException",
        429: "RateLimitException",
        500: "SandboxException",
    }

    def __init__(self, folder: Path, packages: Path) -> None:
        super().__init__(folder, packages)
        self._tokens: dict[str, str] = {}
        #: Commands that were started in sandboxes, and the exit code of the next ones.
        self.commands: list[str] = []
        self.exit_code = 0
        #: Port of the sandboxes' gateways.
        self.gateway_port = 0

    def lead(self, address: str, patch: pytest.MonkeyPatch) -> None:
        """Lead the SDK to an address."""
        from e2b import ConnectionConfig

        patch.setenv("E2B_API_KEY", self.key)
        patch.setenv("E2B_API_URL", f"http://{address}")
        patch.setenv("E2B_SANDBOX_URL", f"http://{address}")
        patch.setenv("REQUESTS_CA_BUNDLE", str(self._certificate))
        # The names of sandboxes' ports are resolved by the service's own servers of names.
        host = f"127.0.0.1:{self.gateway_port}"
        patch.setattr(ConnectionConfig, "get_host", lambda *_arguments: host)

    def _add_to(self, application: web.Application) -> None:
        application.router.add_post("/process.Process/Start", self._start_process)
        application.cleanup_ctx.append(self._gateways)
        application.router.add_post("/v2/sandboxes", self._create)
        application.router.add_delete("/sandboxes/{id}", self._kill)
        application.router.add_get("/health", self._health)

    async def _gateways(self, _application: web.Application) -> AsyncIterator[None]:
        gateways = web.Application(middlewares=[self.faults.middleware()])
        self.routes.add(gateways.router, "")
        runner = web.AppRunner(gateways, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._own_tls()).start()
        self.gateway_port = runner.addresses[0][1]
        yield
        await runner.cleanup()

    def _kernel_of(self, request: web.Request) -> SandboxKernel:
        token = request.headers.get("Authorization", "").removeprefix("token ")
        name = self._tokens.get(token)
        if name not in self.sandboxes:
            raise web.HTTPForbidden(text="Forbidden")
        return self.sandboxes[name]

    async def _start_process(self, request: web.Request) -> web.Response:
        """Answer as the daemon does: a stream of enveloped messages, and its end."""
        if self._kernel(request) is None:
            return web.Response(status=502, text="The sandbox was not found")
        process = json.loads((await request.read())[_ENVELOPE.size :])["process"]
        self.commands.append(process["args"][-1])
        self._tokens[process["envs"]["JUPYTER_TOKEN"]] = request.headers["E2b-Sandbox-Id"]
        ended = {"exitCode": self.exit_code, "exited": True, "status": "exit status"}
        messages = [(0, {"event": {"start": {"pid": 7}}}), (0, {"event": {"end": ended}})]
        body = b""
        for flags, message in [*messages, (_END_OF_STREAM, {})]:
            data = json.dumps(message).encode()
            body += _ENVELOPE.pack(flags, len(data)) + data
        return web.Response(body=body, content_type=request.content_type)

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-Key") != self.key:
            return web.json_response({"code": 401, "message": "Invalid API key"}, status=401)
        self.created.append(await request.json())
        name = f"i{uuid.uuid4().hex[:10]}"
        self._start(name)
        body = {
            "templateID": self.created[-1]["templateID"],
            "sandboxID": name,
            "clientID": "client",
            "envdVersion": "0.2.0",
            "envdAccessToken": f"access-{name}",
        }
        return web.json_response(body, status=201)

    async def _kill(self, request: web.Request) -> web.Response:
        kernel = self.sandboxes.pop(request.match_info["id"], None)
        if kernel is None:
            return web.json_response({"code": 404, "message": "not found"}, status=404)
        await kernel.stop()
        return web.Response(status=204)

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(status=204 if self._kernel(request) else 502)

    def _kernel(self, request: web.Request) -> SandboxKernel | None:
        name = request.headers.get("E2b-Sandbox-Id", "")
        if request.headers.get("X-Access-Token") != f"access-{name}":
            raise web.HTTPUnauthorized(text="wrong access token")
        return self.sandboxes.get(name)
