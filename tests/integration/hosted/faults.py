"""Faults that a doubled service shows on demand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class Faults:
    """Answers in place of a service's own, by a part of the request's path.

    Attributes:
        status: ``{"/sandboxes": 500}`` answers requests there with that status.
        silent: parts of paths where the service accepts the request and says nothing.
        seen: ``"METHOD /path"`` of every request, in order.
    """

    status: dict[str, int] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    seen: list[str] = field(default_factory=list)

    def clear(self) -> None:
        """Return to the service's own answers."""
        self.status.clear()
        self.silent.clear()
        self.seen.clear()

    def middleware(self) -> Any:
        """Return the middleware that shows the faults."""

        @web.middleware
        async def show(request: web.Request, handler: Any) -> web.StreamResponse:
            self.seen.append(f"{request.method} {request.path}")
            if any(part in request.path for part in self.silent):
                await asyncio.Event().wait()
            for part, status in self.status.items():
                if part in request.path:
                    text = {"code": status, "message": f"shown by the test: {status}"}
                    return web.json_response(text, status=status)
            answer: web.StreamResponse = await handler(request)
            return answer

        return show
