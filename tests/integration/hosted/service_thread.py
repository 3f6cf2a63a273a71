"""HTTP service of a test, on loopback, in a thread of its own."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

from aiohttp import web

_STOP_SECONDS = 30.0


class ServiceThread:
    """An aiohttp application that serves while the block runs.

    Args:
        application: what is served; its ``on_cleanup`` handlers run at the end.
        tls: serve over TLS with this context.
    """

    def __init__(self, application: web.Application, tls: ssl.SSLContext | None = None) -> None:
        self._application = application
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._failure: BaseException | None = None
        self.port = 0

    def __enter__(self) -> ServiceThread:
        self._thread.start()
        assert self._ready.wait(_STOP_SECONDS), "the service did not start"
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_STOP_SECONDS)
        assert not self._thread.is_alive(), "the service did not stop"
        if self._failure is not None:
            raise self._failure

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the service's thread, and wait for its end."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()
            self._loop.close()

    async def _serve(self) -> None:
        runner = web.AppRunner(self._application, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls)
            await site.start()
            self.port = runner.addresses[0][1]
            self._ready.set()
            await self._stop.wait()
        finally:
            await runner.cleanup()
            # Those that clients keep open, or have closed only now, end in the loop's next rounds.
            # One that garbage collection closes warns, in the middle of whatever test runs then.
            for transport in list(self._loop._transports.values()):  # type: ignore[attr-defined]
                transport.abort()  # asyncio has no public list of them
            for _ in range(10):
                await asyncio.sleep(0)
