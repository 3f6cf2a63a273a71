"""Program of the helper process, which alone calls Ray.

Ray ends its process a minute after the head is lost. Here that ends the helper, and the host lives
on. The helper ends when the host closes the connection, or dies.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...deadline import Deadline
from ...errors import (
    ConfigurationError,
    EngineUnavailableError,
    ExecutorStartError,
    ForkError,
    ProtocolError,
    SandboxDiedError,
)
from ..head_check import probe_head
from ..links.failure_data import failure_data
from ..links.helper_frames import FrameSocket
from ..links.node_fields import START, fields_of
from ..links.relay_frames import NAME_BYTES, RelayCall
from ..reservation import Reservation
from .ray_connection import connect_to_ray
from .relay_pump import Arrived, RelayPump

if TYPE_CHECKING:
    from .supervisors import Remote, Supervisors

__all__ = ["main"]

_HEAD_SECONDS = 3.0
# Nodes whose engines may not answer, one after the other, in one start.
_MOST_NODES = 4
# Pause before a start is made elsewhere, in seconds.
_AGAIN_SECONDS = 0.2
_REQUEST_SECONDS = 30.0
_REMOVE_SECONDS = 60.0


def main(number: int) -> None:
    """Serve the host until it closes the connection; never returns.

    Args:
        number: descriptor of the connection.
    """
    code = 0
    try:
        # Ctrl-C on a terminal is the host's to handle.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()
        Helper(FrameSocket(socket.socket(fileno=number))).serve()
    except BaseException:
        code = 1
        raise
    finally:
        # Not Ray's own handlers at exit, which wait for a head that may be gone.
        os._exit(code)


def _watch_parent(parent: int) -> None:
    # A fork of the host may have the other end open for longer than the host lives.
    while os.getppid() == parent:
        time.sleep(1.0)
    time.sleep(5.0)
    os._exit(0)


class Helper:
    """Serves the requests of the host, each in a thread of its own.

    Args:
        frames: the connection.
    """

    def __init__(self, frames: FrameSocket) -> None:
        self._frames = frames
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._supervisors: Supervisors | None = None
        self._sandboxes: dict[str, Remote] = {}
        self._head = ""

    def serve(self) -> None:
        """Serve until the host closes the connection."""
        while (request := self._frames.receive()) is not None:
            if request["op"] == "connect":
                # In the main thread: Ray sets handlers of signals.
                self._answer(request, None)
                continue
            descriptor = self._frames.take_descriptor() if request.get("descriptor") else None
            threading.Thread(target=self._answer, args=(request, descriptor), daemon=True).start()
        if self._supervisors is not None:
            self._supervisors.close()

    def _answer(self, request: dict[str, Any], descriptor: int | None) -> None:
        try:
            work: Callable[..., Any] = getattr(self, f"do_{request['op']}")
            extra = () if descriptor is None else (descriptor,)
            answer = {"id": request["id"], "ok": work(*extra, **request["arguments"])}
        except ForkError as error:
            answer = {"id": request["id"], "error": failure_data(error)}
        except Exception as error:
            failure = ExecutorStartError(f"Ray: {type(error).__name__}: {error}")
            answer = {"id": request["id"], "error": failure_data(failure)}
        self._send(answer)

    def _send(self, value: dict[str, Any]) -> None:
        with self._sending, contextlib.suppress(OSError):
            try:
                self._frames.send(value)
            except ForkError as error:
                # Nothing of it was sent: it is encoded first.
                self._frames.send({"id": value.get("id"), "error": failure_data(error)})

    def _lost(self, remote: Remote) -> None:
        with self._lock:
            for name in [n for n, one in self._sandboxes.items() if one is remote]:
                del self._sandboxes[name]
        self._send({"event": "lost", "supervisor": remote.name, "reason": remote.lost})

    # -- requests --

    def do_connect(self, address: str) -> dict[str, Any]:
        """Connect to the cluster."""
        self._head = connect_to_ray(address, lambda step: self._send({"event": step}))
        from .supervisors import Supervisors

        self._supervisors = Supervisors(self._head, self._lost)
        return {"head": self._head}

    def do_start(
        self,
        reservation: dict[str, Any],
        options: dict[str, Any],
        tenant: str,
        purpose: str,
        limit: float,
        slot_limit: float,
    ) -> dict[str, Any]:
        """Start a sandbox; wait for a free slot as long as ``slot_limit`` says.

        It is started elsewhere if its node is lost meanwhile, or the node's engine does not answer,
        for no code of a program has run.
        """
        deadline = Deadline(limit)
        asked = Reservation.from_data(reservation)
        probe_head(self._head, _HEAD_SECONDS)
        failed: dict[str, str] = {}
        while True:
            try:
                slot = Deadline(deadline.at_most(slot_limit))
                remote = self._acquired(asked, tenant, slot, failed)
                made = self._started(remote, options, tenant, purpose, deadline)
            except SandboxDiedError as error:
                if error.cause != "node" or deadline.expired():
                    raise
                # Its end is certain, or is about to be noticed.
                time.sleep(_AGAIN_SECONDS)
            except _EngineFailedError as error:
                self._check_others(error, asked, failed)
            else:
                self._open_supervisors().engine_answered(remote)
                return made

    def _acquired(
        self, asked: Reservation, tenant: str, deadline: Deadline, failed: dict[str, str]
    ) -> Remote:
        """Wait for a supervisor on a node whose engine has not failed this start."""
        try:
            return self._open_supervisors().acquire(asked, tenant, deadline, failed)
        except ForkError as error:
            if not failed:
                raise
            raise error.reworded(f"{error}; before that, {_shown(failed)}") from error

    def _check_others(
        self, error: _EngineFailedError, asked: Reservation, failed: dict[str, str]
    ) -> None:
        """Note a node whose engine does not answer; raise if no other is left to try."""
        supervisors, node = self._open_supervisors(), error.remote.node
        supervisors.engine_failed(error.remote, str(error))
        failed[node] = str(error)
        if len(failed) == _MOST_NODES or not supervisors.others(asked, failed):
            raise EngineUnavailableError(_shown(failed)) from error

    def _started(
        self,
        remote: Remote,
        options: dict[str, Any],
        tenant: str,
        purpose: str,
        deadline: Deadline,
    ) -> dict[str, Any]:
        name = secrets.token_hex(6)
        try:
            seconds = max(1.0, deadline.remaining() or 0.0)
            answer = remote.ask(seconds, "start", name, options, tenant, purpose)
            made = fields_of(answer, START, "a start")
        except BaseException as error:
            self._undo_start(remote, name)
            if isinstance(error, EngineUnavailableError):
                raise _EngineFailedError(f"node {remote.shown}: {error}", remote) from error
            if isinstance(error, ForkError):
                raise error.reworded(f"node {remote.shown}: {error}") from error
            raise
        with self._lock:
            self._sandboxes[name] = remote
        return {**made, **remote.place, "sandbox": name}

    def _undo_start(self, remote: Remote, name: str) -> None:
        """Give the slot back, and have the node end a sandbox whose start it may yet finish."""
        with contextlib.suppress(Exception):
            if not remote.lost:
                remote.begin("remove", name)
        self._open_supervisors().release(remote)

    def do_ticket(self, sandbox: str, purpose: str) -> bytes:
        """Return a ticket for a stream."""
        found: bytes = self._remote(sandbox).ask(_REQUEST_SECONDS, "ticket", sandbox, purpose)
        return found

    def do_call(self, sandbox: str, method: str, arguments: dict[str, Any], limit: float) -> Any:
        """Carry out a request for a sandbox."""
        return self._remote(sandbox).ask(limit, "call", sandbox, method, arguments)

    def do_relay(self, descriptor: int, sandbox: str, ticket: bytes) -> None:
        """Begin to relay a stream; the descriptor is the host's end."""
        end = socket.socket(fileno=descriptor)
        try:
            remote = self._remote(sandbox)
            name = remote.ask(_REQUEST_SECONDS, "relay_open", ticket)
            if type(name) is not bytes or len(name) != NAME_BYTES:
                raise ProtocolError(f"a stream's name is {NAME_BYTES} bytes, not {name!r:.100}")
            pump = _relay_pump(end, remote, name)
        except BaseException:
            end.close()
            raise
        threading.Thread(target=pump.run, daemon=True).start()

    def do_remove(self, sandbox: str) -> None:
        """End a sandbox."""
        with self._lock:
            remote = self._sandboxes.pop(sandbox, None)
        if remote is None:
            return
        try:
            remote.ask(_REMOVE_SECONDS, "remove", sandbox)
        finally:
            self._open_supervisors().release(remote)

    def do_suspect(self, sandbox: str) -> None:
        """Find out whether the supervisor of a sandbox is there; its stream has ended."""
        self._open_supervisors().suspect(self._remote(sandbox))

    def do_nodes(self, reservation: dict[str, Any]) -> list[str]:
        """Return the ids of the nodes that can have a reservation."""
        # Imports Ray.
        from .cluster_capacity import fitting_nodes

        self._open_supervisors()
        return fitting_nodes(Reservation.from_data(reservation))

    def do_record_calls(self, calls: list[tuple[str, str, float]]) -> None:
        """Record times of calls; see :meth:`Supervisors.record_calls`."""
        self._open_supervisors().record_calls(calls)

    def do_waiting(self) -> str:
        """Return what starts wait for; empty if none does."""
        return self._open_supervisors().waiting()

    def do_stats(self) -> list[dict[str, Any]]:
        """Return the figures of each supervisor."""
        return self._open_supervisors().stats()

    def _remote(self, sandbox: str) -> Remote:
        with self._lock:
            remote = self._sandboxes.get(sandbox)
        if remote is None:
            raise SandboxDiedError(f"there is no sandbox {sandbox} any more", cause="removed")
        return remote

    def _open_supervisors(self) -> Supervisors:
        if self._supervisors is None:
            raise ConfigurationError("the helper process is not connected")
        return self._supervisors


class _EngineFailedError(Exception):
    """The engine of a node does not answer; the message names the node.

    Attributes:
        remote: the supervisor that was asked.
    """

    def __init__(self, message: str, remote: Remote) -> None:
        super().__init__(message)
        self.remote = remote


def _shown(failed: dict[str, str]) -> str:
    """Return the errors of the nodes that were tried, in their order."""
    return "; and ".join(failed.values())


def _relay_pump(end: socket.socket, remote: Remote, name: bytes) -> RelayPump:
    def exchange(number: int, chunk: bytes, waits: bool, arrived: Arrived) -> None:
        remote.exchange(RelayCall(name, number, waits, chunk), arrived)

    def close() -> None:
        with contextlib.suppress(ForkError):
            remote.ask(_REQUEST_SECONDS, "relay_close", name)

    return RelayPump(end, exchange, close)
