"""Supervisor of a node's sandboxes: what runs in Ray's actor there."""

from __future__ import annotations

import logging
import os
import platform
import secrets
import threading
import time
from typing import Any

from ..._version import fork_revision, upstream_version
from ...errors import ExecutorStartError, ForkError
from ...sandboxes.cluster_owner import ClusterOwner
from ..links.direct_transport import Listener, uses_tls
from ..links.failure_data import failure_data
from ..links.relay_frames import RelayCall
from ..links.relayed_transport import RelayedStreams
from ..links.thread_priority import use_normal_priority
from ..reservation import Reservation, shown_node
from .node_metrics import NodeMetrics
from .node_sandboxes import NodeSandboxes, kind_of

__all__ = ["Supervisor", "refusal", "versions"]

_log = logging.getLogger(__name__)

_CHECK_SECONDS = 1.0
# Time for the sandboxes to end once the lease has, in seconds.
_END_SECONDS = 30.0


def versions() -> dict[str, str]:
    """Return the versions that both ends must share."""
    return {
        "smolagents": f"{upstream_version}+fork.{fork_revision}",
        "Python": platform.python_version(),
    }


class Supervisor:
    """Owner of the sandboxes of one reservation.

    Every method returns ``("ok", value)`` or ``("error", [class, message])``: plain data, so that
    nothing of the cluster is unpickled that Ray itself does not make.

    Args:
        reservation: its resources, as plain data.
        asked: versions of the driver.
        cluster: name of the cluster.
        node: id of the node.
        address: of the node.
    """

    def __init__(
        self,
        reservation: dict[str, Any],
        asked: dict[str, str],
        cluster: str,
        node: str,
        address: str,
    ) -> None:
        self._lock = threading.Lock()
        self._reservation = Reservation.from_data(reservation)
        self._owner = ClusterOwner(cluster, node, secrets.token_hex(6))
        self._address = address
        self._refusal = refusal(asked, shown_node(address, node))
        self._metrics = NodeMetrics(node, "start", "request", "call")
        kind = kind_of(self._reservation.kind)(self._owner)
        self._sandboxes = NodeSandboxes(kind, self._reservation.slots, shown_node(address, node))
        self._relayed = RelayedStreams(self._sandboxes.serve)
        self._listener: Listener | None = None
        self._why_no_port = ""
        try:
            self._listener = Listener(address, self._sandboxes.serve)
        except (OSError, ForkError) as error:
            self._why_no_port = str(error)
        self._heard = time.monotonic()
        threading.Thread(target=self._watch, name="smolagents-fork-lease", daemon=True).start()

    # -- lease --

    def beat(self, calls: list[tuple[str, float]]) -> Any:
        """Renew the driver's lease; return the figures of this moment.

        Args:
            calls: tenant and seconds of each call of a sandbox here since the last heartbeat.
        """
        use_normal_priority()  # a node that computes is not silent
        self._heard = time.monotonic()
        for tenant, seconds in calls:
            self._metrics.record("call", self._reservation.kind, tenant, seconds)
        return "ok", self._sandboxes.counts()

    def _watch(self) -> None:
        before, silent, heard = time.monotonic(), 0.0, self._heard
        while True:
            time.sleep(_CHECK_SECONDS)
            now = time.monotonic()
            # A node that was paused has heard nothing meanwhile, and that is not silence.
            silent += min(now - before, 2 * _CHECK_SECONDS)
            before = now
            if self._heard != heard:
                heard, silent = self._heard, 0.0
            if silent > self._reservation.lease_seconds:
                node = shown_node(self._address, self._owner.node)
                _log.warning(
                    "supervisor %s on node %s: no heartbeat for %.0f s, so it ends",
                    self._owner.supervisor, node, silent,
                )  # fmt: skip
                try:
                    # A sandbox that does not end, or an error, does not keep this process.
                    end = threading.Thread(target=self._end, daemon=True)
                    end.start()
                    end.join(_END_SECONDS)
                finally:
                    os._exit(0)

    def _end(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._relayed.close_all()
        self._sandboxes.close()

    def close(self) -> Any:
        """End all sandboxes."""
        return _answered(self._end)

    # -- for the driver --

    def describe(self) -> Any:
        """Return where this supervisor is and how to reach it."""
        if self._refusal:
            return "error", failure_data(ExecutorStartError(self._refusal))
        port = None if self._listener is None else self._listener.port
        return "ok", {
            "supervisor": self._owner.supervisor,
            "node": self._owner.node,
            "address": self._address,
            "port": port,
            "why_no_port": self._why_no_port,
            "tls": uses_tls(),
            "pid": os.getpid(),
        }

    def start(self, sandbox: str, options: dict[str, Any], tenant: str, purpose: str) -> Any:
        """Start a sandbox, with a ticket for its first stream if a purpose is given."""
        return _answered(lambda: self._start(sandbox, options, tenant, purpose))

    def _start(
        self, name: str, options: dict[str, Any], tenant: str, purpose: str
    ) -> dict[str, Any]:
        with self._metrics.timed("start", self._reservation.kind, tenant):
            sandbox = self._sandboxes.start(name, options, tenant)
        ticket = self._sandboxes.ticket(name, purpose) if purpose else b""
        return {"info": dict(sandbox.info), "ticket": ticket}

    def call(self, sandbox: str, method: str, arguments: dict[str, Any]) -> Any:
        """Carry out a request for a sandbox."""
        with self._metrics.timed("request", self._reservation.kind, ""):
            return _answered(lambda: self._sandboxes.call(sandbox, method, arguments))

    def ticket(self, sandbox: str, purpose: str) -> Any:
        """Return a ticket for one stream of a sandbox."""
        return _answered(lambda: self._sandboxes.ticket(sandbox, purpose))

    def remove(self, sandbox: str) -> Any:
        """End a sandbox."""
        return _answered(lambda: self._sandboxes.remove(sandbox))

    # -- the relayed transport --

    def relay_open(self, token: bytes) -> Any:
        """Open a relayed stream."""
        return _answered(lambda: self._relayed.open(token))

    def relay_exchange(self, call: bytes) -> Any:
        """Take a chunk of the host and return one of the sandbox, as the bytes of an answer."""
        use_normal_priority()  # no sandbox is started in this thread
        status, value = _answered(lambda: self._relayed.exchange(RelayCall.unpacked(call)).packed())
        return value if status == "ok" else (status, value)

    def relay_close(self, name: bytes) -> Any:
        """End a relayed stream."""
        return _answered(lambda: self._relayed.close(name))


def refusal(asked: dict[str, str], node: str) -> str:
    """Return why a supervisor does not serve a driver; empty if it does.

    Args:
        asked: versions of the driver.
        node: for the message.
    """
    here = versions()
    other = [
        f"{name} {asked.get(name)} here and {version} on node {node}"
        for name, version in here.items()
        if asked.get(name) != version
    ]
    return f"{' and '.join(other)}: install the same on both" if other else ""


def _answered(work: Any) -> Any:
    try:
        return "ok", work()
    except ForkError as error:
        return "error", failure_data(error)
    except Exception as error:
        return "error", failure_data(ExecutorStartError(f"{type(error).__name__}: {error}"))
