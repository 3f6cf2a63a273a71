"""One running container: streams into it, programs in it, what it uses, its end."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

from ...errors import ExecutorStartError
from ...results import ExecutorStats
from ..provisioner import Evidence, SandboxSpec
from . import reaper
from .engine import answers, mapped_errors
from .exec_run import exit_code, run_attached, run_detached
from .exec_stream import RELAY, AttachedConnection, ExecStream, StreamUnsupported, exec_stream
from .exit_info import evidence

__all__ = ["DockerSandbox"]

_RELAY_PATIENCE_SECONDS = 30
# How long the engine may take to show that it is there while a call waits on it.
_PROBE_SECONDS = 2.0


class DockerSandbox:
    """One running container. Made by :class:`DockerProvisioner`."""

    def __init__(
        self,
        client: Any,
        container: Any,
        name: str,
        token: str,
        spec: SandboxSpec,
        lease: AttachedConnection | None = None,
    ) -> None:
        self.client = client
        self.container = container
        self.name = name
        self.token = token
        self.spec = spec
        self._started_at = time.time()
        # Held open, and closed with this process whatever ends it: see the lease module.
        self._lease = lease
        #: Whether streams can be attached; ``None`` as long as none was.
        self.streams: bool | None = None
        self._removed = threading.Event()

    @property
    def id(self) -> str:
        """The container's short id."""
        return str(self.container.short_id)

    def open_stream(self, *, timeout: float) -> ExecStream:
        """A stream to the kernel gateway through an attached exec.

        Raises:
            StreamUnsupported: the connection to the engine cannot carry one.
            ExecutorError: the container is gone.
        """
        patience = min(timeout, _RELAY_PATIENCE_SECONDS)
        argv = ["python3", "-I", "-S", "-c", RELAY, str(self.spec.gateway_port), str(patience)]
        return self._exec(argv)

    def _exec(self, argv: list[str]) -> ExecStream:
        stream, _ = self._exec_with_id(argv)
        return stream

    def _exec_with_id(self, argv: list[str]) -> tuple[ExecStream, str]:
        if self.streams is False:
            raise StreamUnsupported("this connection to the engine carries no streams")
        api = self.client.api
        with mapped_errors("opening a stream into the container", container=self.id):
            exec_id = api.exec_create(self.container.id, argv, stdin=True)["Id"]
            handed_over = api.exec_start(exec_id, socket=True)
        try:
            stream = exec_stream(handed_over)
        except StreamUnsupported:
            self.streams = False
            AttachedConnection(handed_over).close()
            raise
        self.streams = True
        return stream, exec_id

    def published_port(self, timeout: float) -> int:
        """The host port the gateway is published on.

        Raises:
            ExecutorStartError: the engine did not publish one.
        """
        end = time.monotonic() + timeout
        while True:
            with mapped_errors("asking for the published port", container=self.id):
                self.container.reload()
            bindings = self.container.ports.get(f"{self.spec.gateway_port}/tcp")
            if bindings:
                return int(bindings[0]["HostPort"])
            if time.monotonic() > end or self.container.status not in ("created", "running"):
                raise ExecutorStartError(
                    f"container {self.id} has no published port ({self.evidence()})"
                )
            time.sleep(0.02)

    def run(
        self, argv: list[str], *, stdin: bytes = b"", timeout: float, max_bytes: int
    ) -> tuple[int, bytes, bytes]:
        """Run a program in the container.

        Args:
            argv: program and arguments; no shell.
            stdin: what it reads.
            timeout: seconds it may take.
            max_bytes: most bytes of standard output to take.

        Returns:
            exit code, standard output, the end of standard error.

        Raises:
            ExecutorError: it took too long, or wrote more.
            StreamUnsupported: there is input, and the engine's connection cannot carry it.
        """
        try:
            if self.streams is None:
                # With a program that does nothing: it has begun before this is known.
                self._exec(["true"]).close()
            stream, exec_id = self._exec_with_id(argv)
        except StreamUnsupported:
            if stdin:
                raise
            api = self.client.api
            return run_detached(api, self.container.id, argv, timeout=timeout, max_bytes=max_bytes)
        output = run_attached(stream, stdin=stdin, timeout=timeout, max_bytes=max_bytes)
        return exit_code(self.client.api, self.container.id, exec_id), output, stream.stderr

    def engine_responds(self) -> bool:
        """Whether the engine, through which the streams run, still answers."""
        return answers(self.client, _PROBE_SECONDS)

    def is_running(self) -> bool:
        """Whether the engine says that it runs."""
        with contextlib.suppress(Exception):
            return bool(self.client.api.inspect_container(self.container.id)["State"]["Running"])
        return False

    def stats(self) -> ExecutorStats:
        """What the container uses now.

        Raises:
            EngineUnavailableError: the engine does not answer.
            ExecutorStartError: the container is gone.
        """
        with mapped_errors("asking for statistics", container=self.id):
            raw = self.client.api.stats(self.container.id, stream=False, one_shot=True)
        memory = raw.get("memory_stats", {})
        details = memory.get("stats", {})
        cache = details.get("total_inactive_file", details.get("inactive_file", 0))
        limit = memory.get("limit")
        return ExecutorStats(
            memory_bytes=max(0, memory.get("usage", 0) - cache),
            memory_limit_bytes=limit if self.spec.limits.memory is not None else None,
            cpu_seconds=raw.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage", 0) / 1e9,
            pids=raw.get("pids_stats", {}).get("current"),
        )

    def evidence(self) -> Evidence:
        """What became of the container; never raises, takes a few seconds at most."""
        tail = None if self._lease is None else self._lease.tail
        return evidence(self.client.api, self.container.id, self._started_at, tail)

    def remove(self, *, wait: bool = False) -> None:
        """Kill and remove the container.

        Args:
            wait: return only when the engine has done it; otherwise it happens in the background,
                and is finished before the process exits.
        """
        if self._removed.is_set():
            return
        self._removed.set()
        if self._lease is not None:
            self._lease.close()
        reaper.remove(self.client, self.name, wait=wait)
