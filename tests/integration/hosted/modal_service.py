"""Double of Modal: the control plane over gRPC, and a tunnel to a sandbox's Jupyter gateway.

The SDK's variable ``MODAL_SERVER_URL`` leads it here. The messages are those of the SDK's own
``modal_proto``. A call that the service does not know is answered with UNIMPLEMENTED.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, ClassVar

import grpclib
import grpclib.const
import grpclib.server
import pytest
from aiohttp import web
from doubled_service import DoubledService
from google.protobuf.message import Message
from modal.client import Client
from modal_proto import api_grpc, api_pb2
from sandbox_kernel import SandboxKernel

TOKEN_ID = "ak-0123456789abcdef"
# A JSON web token without a signature, whose body says that it never expires.
_SESSION = "e30.eyJleHAiOiA5OTk5OTk5OTk5fQ.x"
_STATUSES = {
    401: grpclib.Status.UNAUTHENTICATED,
    429: grpclib.Status.RESOURCE_EXHAUSTED,
    500: grpclib.Status.INTERNAL,
}
_PORT = 8888


class ModalService(DoubledService):
    """State of the doubled service."""

    name = "modal"
    create = "SandboxCreateV2"
    key = "as-0123456789abcdef"
    refusals: ClassVar = {401: "AuthError", 429: "ResourceExhaustedError", 500: "InternalError"}

    def __init__(self, folder: Path, packages: Path) -> None:
        super().__init__(folder, packages)
        #: Port of the control plane.
        self.grpc_port = 0
        self._tokens: dict[str, str] = {}

    @property
    def address(self) -> str:
        """Host and port of the control plane; the thread's port is that of the tunnels."""
        return f"127.0.0.1:{self.grpc_port}"

    def lead(self, address: str, patch: pytest.MonkeyPatch) -> None:
        """Lead the SDK to an address."""
        # The SDK keeps the client that it has made from the variables until that is closed.
        if "MODAL_SERVER_URL" in os.environ:
            Client.from_env().close()
        patch.setenv("MODAL_SERVER_URL", f"http://{address}")
        patch.setenv("MODAL_TOKEN_ID", TOKEN_ID)
        patch.setenv("MODAL_TOKEN_SECRET", self.key)
        patch.setenv("MODAL_ENVIRONMENT", "main")
        patch.setenv("REQUESTS_CA_BUNDLE", str(self._certificate))
        patch.setenv("WEBSOCKET_CLIENT_CA_BUNDLE", str(self._certificate))

    def close_shared(self) -> None:
        """Close the connections that the SDK keeps, too."""
        super().close_shared()
        Client.from_env().close()

    def _tls(self) -> ssl.SSLContext:
        return self._own_tls()

    def _add_to(self, application: web.Application) -> None:
        self.routes.add(application.router, "")
        application.cleanup_ctx.append(self._control_plane)

    async def _control_plane(self, _application: web.Application) -> AsyncIterator[None]:
        server = grpclib.server.Server([_Calls(self)])
        listener = socket.create_server(("127.0.0.1", 0))
        self.grpc_port = listener.getsockname()[1]
        await server.start(sock=listener)
        yield
        server.close()
        await server.wait_closed()

    def _kernel_of(self, request: web.Request) -> SandboxKernel:
        given = request.headers.get("Authorization", "").removeprefix("token ")
        name = self._tokens.get(given or request.query.get("token", ""))
        if name is None:
            raise web.HTTPForbidden(text="Forbidden")
        if name not in self.sandboxes:
            raise web.HTTPNotFound(text="no such sandbox")
        return self.sandboxes[name]

    async def answer(self, name: str, request: Any, metadata: Any) -> Message:
        """Return the answer to one call of the control plane."""
        self.faults.seen.append(name)
        if any(part in name for part in self.faults.silent):
            await asyncio.Event().wait()
        for part, status in self.faults.status.items():
            if part in name:
                raise grpclib.GRPCError(_STATUSES[status], f"shown by the test: {status}")
        secret = metadata.get("x-modal-token-id"), metadata.get("x-modal-token-secret")
        if secret != (TOKEN_ID, self.key):
            raise grpclib.GRPCError(grpclib.Status.UNAUTHENTICATED, "wrong token")
        handler: Callable[[Any], Message] | None = getattr(self, f"_{name}", None)
        if handler is None:
            raise grpclib.GRPCError(grpclib.Status.UNIMPLEMENTED, name)
        answer = handler(request)
        if name == "SandboxTerminateV2":
            await self.sandboxes.pop(request.sandbox_id).stop()
        return answer

    def _AppGetOrCreate(self, _request: Any) -> Message:
        return api_pb2.AppGetOrCreateResponse(app_id="ap-1")

    def _EnvironmentGetOrCreate(self, _request: Any) -> Message:
        settings = api_pb2.EnvironmentSettings(image_builder_version="2025.06")
        metadata = api_pb2.EnvironmentMetadata(name="main", settings=settings)
        return api_pb2.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata)

    def _ImageGetOrCreate(self, _request: Any) -> Message:
        done = api_pb2.GenericResult(status=api_pb2.GenericResult.GENERIC_STATUS_SUCCESS)
        return api_pb2.ImageGetOrCreateResponse(image_id="im-1", result=done)

    def _AuthTokenGet(self, _request: Any) -> Message:
        return api_pb2.AuthTokenGetResponse(token=_SESSION)

    def _SandboxCreateV2(self, request: Any) -> Message:
        self.created.append(request)
        name = f"sb-{len(self.created)}"
        environment: dict[str, str] = {}
        for source in request.secret_sources:
            environment.update(source.env.contents)
        self._tokens[environment["KG_AUTH_TOKEN"]] = name
        self._start(name)
        # Upstream's class takes port 443 for granted, so the host has the real port with it.
        tunnel = api_pb2.TunnelData(host=super().address, port=443, container_port=_PORT)
        return api_pb2.SandboxCreateV2Response(sandbox_id=name, task_id="ta-1", tunnels=[tunnel])

    def _SandboxTerminateV2(self, request: Any) -> Message:
        if request.sandbox_id not in self.sandboxes:
            raise grpclib.GRPCError(grpclib.Status.NOT_FOUND, request.sandbox_id)
        return api_pb2.SandboxTerminateResponse()


class _Calls:
    """Every call of Modal's service, answered by a :class:`ModalService`."""

    def __init__(self, service: ModalService) -> None:
        self._service = service

    def __mapping__(self) -> dict[str, Any]:
        # The generated base has the types of every call, and no answers.
        complete = type("Complete", (api_grpc.ModalClientBase,), {})
        complete.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
        return {
            path: grpclib.const.Handler(
                self._handler(path.rpartition("/")[2]),
                known.cardinality,
                known.request_type,
                known.reply_type,
            )
            for path, known in complete().__mapping__().items()
        }

    def _handler(self, name: str) -> Callable[[Any], Any]:
        async def handle(stream: Any) -> None:
            request = await stream.recv_message()
            await stream.send_message(await self._service.answer(name, request, stream.metadata))

        return handle
