"""The proxy of the application: one thread, which serves the listeners of all its sandboxes."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import logging
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..sandboxes.provisioner import ByteStream
from ..system.forks import ForkSafeLock, Owner, disconnect_in_child, reset_in_child
from ..system.proxy_environment import PROXY_PORT, proxy_environment
from .access_record import AccessRecord
from .hosts.host_policy import HostPolicy
from .hosts.lookups import Lookup, system_lookup
from .multiplexed_connections import MultiplexedConnections
from .proxied_connection import Access, ProxiedConnection, ProxyLimits

if TYPE_CHECKING:
    from .secrets.secret_access import SecretAccess

__all__ = ["SandboxProxy"]

_logger = logging.getLogger("smolagents_fork")
# Lookups of one sandbox at once: each has a thread.
_MOST_LOOKUPS = 4
# Pause after a failed accept, in seconds: the application has no descriptor left.
_RETRY_SECONDS = 0.1
_EXIT_SECONDS = 5.0


class SandboxProxy:
    """Serves the listener of one sandbox, by its list of hosts.

    Args:
        policy: List of hosts.
        limits: Limits of the sandbox's connections.
        record: Record of refusals and bytes.
        lookup: Function that resolves names.
        secrets: Secrets of the sandbox; ``None`` without any.
    """

    def __init__(
        self,
        policy: HostPolicy,
        limits: ProxyLimits,
        record: AccessRecord,
        lookup: Lookup = system_lookup,
        secrets: SecretAccess | None = None,
    ) -> None:
        lookups = asyncio.Semaphore(_MOST_LOOKUPS)
        self._access = Access(policy, limits, record, lookup, lookups, secrets)
        self._thread: _ProxyThread | None = None
        self._serving: asyncio.Task[None] | None = None
        self._is_closed = False
        #: What was refused and moved in the present call.
        self.record = record
        #: Secrets of the sandbox; ``None`` without any.
        self.secrets = secrets
        #: Variables that name the proxy to clients in the sandbox.
        self.variables = proxy_environment(PROXY_PORT, policy.names)

    def serve(self, listener: socket.socket) -> None:
        """Serve a listener instead of what was served before, whose connections are cut.

        Args:
            listener: Listener of the sandbox; closed by the proxy.
        """
        disconnect_in_child(listener)
        listener.setblocking(False)
        self._serve(lambda: _Listener(listener))

    def serve_stream(self, stream: ByteStream) -> None:
        """Serve what a multiplexer in the sandbox carries, as :meth:`serve`.

        Args:
            stream: Stream to a multiplexer that listens; closed by the proxy.
        """
        self._serve(lambda: MultiplexedConnections(stream))

    def _serve(self, source: Callable[[], _Source]) -> None:
        self._thread = _shared_thread()
        self._thread.call(lambda: self._replace(source()))

    def close(self) -> None:
        """Cut all connections and close the listener. Idempotent, from any thread."""
        if self._thread is not None:
            self._thread.call(self._end)

    # -- in the thread of the proxy --

    def _replace(self, source: _Source) -> None:
        if self._serving is not None:
            self._serving.cancel()
        if self._is_closed:
            source.close()
            return
        self._serving = asyncio.ensure_future(self._accept(source))
        # Also if it is cancelled before it begins.
        self._serving.add_done_callback(lambda _: source.close())

    def _end(self) -> None:
        self._is_closed = True
        if self._serving is not None:
            self._serving.cancel()

    async def _accept(self, source: _Source) -> None:
        loop = asyncio.get_running_loop()
        # More connections wait in the sandbox's queue, whose length the listener has.
        slots = asyncio.Semaphore(self._access.limits.connections)
        tasks: set[asyncio.Task[None]] = set()

        def close_source(connection: socket.socket, task: asyncio.Task[None]) -> None:
            connection.close()  # of a task that was cancelled before it began
            tasks.discard(task)
            slots.release()
            if not task.cancelled() and task.exception() is not None:
                _logger.error("a connection of a sandbox failed", exc_info=task.exception())

        # The source has ended with the sandbox, or with the connection to its engine.
        with contextlib.suppress(EOFError):
            try:
                while True:
                    await slots.acquire()
                    connection = await source.accept()
                    disconnect_in_child(connection)
                    serving = ProxiedConnection.serve(self._access, connection)
                    task = loop.create_task(serving)
                    tasks.add(task)
                    task.add_done_callback(functools.partial(close_source, connection))
            finally:
                for task in tasks:
                    task.cancel()


class _Source(Protocol):
    """A source of connections from one sandbox."""

    async def accept(self) -> socket.socket:
        """Return the next connection.

        Raises:
            EOFError: the source has ended.
        """

    def close(self) -> None:
        """End the source."""


class _Listener:
    """The listener of a sandbox's loopback."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener

    async def accept(self) -> socket.socket:
        """Return the next connection."""
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            except OSError as error:
                _logger.warning("a connection of a sandbox waits: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return connection

    def close(self) -> None:
        """Close the listener."""
        self._listener.close()


class _ProxyThread:
    """A thread with an event loop, until the application ends."""

    def __init__(self) -> None:
        self._owner = Owner()
        # Streams have descriptors, which the default loop of Windows does not wait for.
        self._loop = asyncio.SelectorEventLoop()
        self._thread = threading.Thread(target=self._run, name="network proxy", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def call(self, action: Callable[[], object]) -> None:
        """Have the thread call ``action``; no-op once it has ended, and in a forked copy."""
        if not self._owner.inherited:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(action)

    def stop(self) -> None:
        """Cut all connections and end the thread."""
        self.call(lambda: asyncio.ensure_future(self._finish()))
        self._thread.join(_EXIT_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _finish(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_EXIT_SECONDS / 2)
        await asyncio.sleep(0)  # a task that has just ended has yet to close its source
        self._loop.stop()


_thread: _ProxyThread | None = None
_thread_lock = ForkSafeLock()
# Of the process that this one is a copy of: a loop that is collected changes what both share.
_inherited: list[_ProxyThread] = []


def _shared_thread() -> _ProxyThread:
    global _thread
    with _thread_lock:
        if _thread is None:
            _thread = _ProxyThread()
        return _thread


@atexit.register
def _stop_at_exit() -> None:
    if _thread is not None:
        _thread.stop()


@reset_in_child
def _after_fork() -> None:
    """Leave a forked copy without the thread, which it does not have."""
    global _thread
    if _thread is not None:
        _inherited.append(_thread)
        _thread = None
