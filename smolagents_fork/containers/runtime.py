"""Sandboxes on Docker's engine: started with limits, asked about, removed."""

from __future__ import annotations

import contextlib
import secrets
import select
import threading
import time
from collections.abc import Mapping
from typing import Any

from .. import _version
from ..errors import ConfigurationError, ExecutorError, ExecutorStartError
from ..results import ExecutorStats
from . import removal
from .engine import connect, mapped_errors
from .owner import labels
from .provisioner import Evidence, Limits, SandboxSpec
from .tunnel import RELAY, ExecStream, StreamUnsupported, exec_stream

__all__ = ["DockerProvisioner", "DockerSandbox"]

_RELAY_PATIENCE_SECONDS = 30
_LOG_LINES = 8


class DockerProvisioner:
    """Starts sandboxes on the engine that ``DOCKER_HOST`` names, or the local one.

    Raises:
        EngineUnavailableError: no engine answers.
    """

    def __init__(self) -> None:
        self.client = connect()
        removal.reap_once()

    def start(self, spec: SandboxSpec) -> DockerSandbox:
        """Create and start a container.

        Raises:
            ConfigurationError: an argument the engine refuses.
            ExecutorStartError: the image is missing, the port is taken ...
        """
        name = f"smolagents-fork-{secrets.token_hex(8)}"
        token = secrets.token_urlsafe(24)
        arguments = container_arguments(spec, name, token)
        removal.remember(name)
        try:
            with mapped_errors(
                "starting the container",
                image=spec.image,
                runtime=spec.runtime,
                network=spec.network,
                port=spec.publish[1] if spec.publish else None,
            ):
                container = self.client.containers.create(**arguments)
                container.start()
        except BaseException:
            # Whatever stage it failed at: the name is known before the engine is asked.
            removal.remove(self.client, name, wait=True)
            raise
        return DockerSandbox(self.client, container, name, token, spec)

    def close(self) -> None:
        """Close the connections to the engine."""
        self.client.close()


def container_arguments(spec: SandboxSpec, name: str, token: str) -> dict[str, Any]:
    """What docker-py's ``containers.create`` gets; ``spec.extra`` has the last word."""
    limits = spec.limits
    uid, _, gid = spec.user.partition(":")
    owner = f",uid={uid},gid={gid or uid}" if uid.isdigit() else ",mode=1777"
    environment = {
        "HOME": spec.workdir,
        "TMPDIR": "/tmp",
        "JUPYTER_RUNTIME_DIR": "/tmp/jupyter",
        "IPYTHONDIR": "/tmp/ipython",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "KG_IP": "127.0.0.1" if spec.publish is None else "0.0.0.0",
        "KG_PORT": str(spec.gateway_port),
        "KG_AUTH_TOKEN": token,
        "SANDBOX_LEASE_SECONDS": str(spec.lease_seconds),
        **spec.environment,
    }
    arguments: dict[str, Any] = {
        "image": spec.image,
        "name": name,
        "init": True,
        "detach": True,
        # The engine removes it when its main process ends, even if the host process is dead.
        "auto_remove": True,
        "user": spec.user,
        "working_dir": spec.workdir,
        "environment": environment,
        "labels": labels(f"{_version.upstream_version}+fork.{_version.fork_revision}"),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "read_only": spec.read_only,
        "tmpfs": {
            # noexec is the engine's default; extension modules that are installed while the
            # sandbox runs, which takes a network, have to be mapped as code.
            spec.workdir: f"rw,nosuid,nodev,size={limits.workdir_size}{owner}"
            + (",exec" if spec.network != "none" else ""),
            "/tmp": f"rw,nosuid,nodev,size={limits.tmp_size},mode=1777",
        },
        "network_mode" if spec.network == "none" else "network": spec.network,
        # A program can write into its main process' output without end; the engine's disk is not
        # the sandbox' to fill.
        "log_config": {"type": "json-file", "config": {"max-size": "1m", "max-file": "1"}},
    }
    if limits.memory is not None:
        # memswap equal to memory: no swap.
        arguments |= {"mem_limit": limits.memory, "memswap_limit": limits.memory}
    if limits.cpus is not None:
        arguments["nano_cpus"] = int(limits.cpus * 1e9)
    if limits.pids is not None:
        arguments["pids_limit"] = limits.pids
    if spec.runtime is not None:
        arguments["runtime"] = spec.runtime
    if spec.volumes:
        arguments["volumes"] = spec.volumes
    if spec.publish is not None:
        arguments["ports"] = {f"{spec.gateway_port}/tcp": spec.publish}
    return merged(arguments, spec.extra)


def merged(arguments: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """``arguments`` with the user's ``container_run_kwargs`` laid over them.

    Environments, labels, ports and tmpfs are merged; everything else is replaced.
    """
    result = dict(arguments)
    for key, value in extra.items():
        if key in ("remove", "stream", "stdout", "stderr", "name", "image"):
            continue  # of docker-py's run(), not of the container
        if key == "environment" and isinstance(value, (list, tuple)):
            value = dict(item.partition("=")[::2] for item in value)
        if key in ("environment", "labels", "ports", "tmpfs") and isinstance(value, Mapping):
            result[key] = {**(result.get(key) or {}), **value}
        else:
            result[key] = value
    if "network" in extra:
        result.pop("network_mode", None)
    if "network_mode" in extra:
        result.pop("network", None)
    if "nano_cpus" in result and ("cpu_quota" in extra or "cpu_period" in extra):
        del result["nano_cpus"]
    return result


class DockerSandbox:
    """One running container. Made by :class:`DockerProvisioner`."""

    def __init__(
        self, client: Any, container: Any, name: str, token: str, spec: SandboxSpec
    ) -> None:
        self.client = client
        self.container = container
        self.name = name
        self.token = token
        self.spec = spec
        self._started_at = time.time()
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
        api = self.client.api
        with mapped_errors("opening a stream into the container", container=self.id):
            exec_id = api.exec_create(self.container.id, argv, stdin=True)["Id"]
            handed_over = api.exec_start(exec_id, socket=True)
        try:
            return exec_stream(handed_over), exec_id
        except StreamUnsupported:
            for name in ("_response", "_sock"):
                with contextlib.suppress(Exception):
                    getattr(handed_over, name).close()
            raise

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
        """
        stream, exec_id = self._exec_with_id(argv)
        end = time.monotonic() + timeout
        output = bytearray()
        try:
            _write_all(stream, stdin, end)
            stream.end_input()
            while True:
                try:
                    piece = stream.recv(1 << 20)
                except BlockingIOError:
                    _wait(stream, select.POLLIN, end)
                    continue
                if not piece:
                    break
                output += piece
                if len(output) > max_bytes:
                    raise ExecutorError(f"{argv[0]} wrote more than {max_bytes} bytes")
        finally:
            stream.close()
        with mapped_errors("asking for an exit code", container=self.id):
            code = self.client.api.exec_inspect(exec_id)["ExitCode"]
        return int(code if code is not None else -1), bytes(output), stream.stderr

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
        """What became of the container; never raises."""
        import docker
        import requests

        lines = self._log_lines()
        try:
            state = self.client.api.inspect_container(self.container.id)["State"]
        except docker.errors.NotFound:
            code, oom = self._told_by_events()
            return Evidence("ended and was removed", code, oom, lines)
        except (docker.errors.DockerException, requests.RequestException):
            return Evidence("unknown: the engine does not answer any more", log_lines=lines)
        if state.get("Running"):
            return Evidence("running", None, bool(state.get("OOMKilled")), lines)
        code, oom = self._told_by_events()
        code = state.get("ExitCode") if code is None else code
        return Evidence("ended", code, oom or bool(state.get("OOMKilled")), lines)

    def _log_lines(self) -> tuple[str, ...]:
        with contextlib.suppress(Exception):
            text = self.client.api.logs(self.container.id, tail=_LOG_LINES)
            lines = (line[:300] for line in text.decode("utf-8", "replace").splitlines())
            return tuple(line for line in lines if line.strip() and "IPKernelApp" not in line)
        return ()

    def _told_by_events(self) -> tuple[int | None, bool]:
        """Exit code and out-of-memory from the engine's record, which outlives the container."""
        code, oom = None, False
        with contextlib.suppress(Exception):
            events = self.client.api.events(
                since=int(self._started_at) - 1,
                until=f"{time.time():.6f}",
                filters={"container": self.container.id},
                decode=True,
            )
            # To its end, which "until" gives it: a stream left half read keeps its connection.
            for event in events:
                if event.get("Action") == "oom":
                    oom = True
                elif event.get("Action") == "die":
                    code = int(event["Actor"]["Attributes"]["exitCode"])
        return code, oom

    def remove(self, *, wait: bool = False) -> None:
        """Kill and remove the container.

        Args:
            wait: return only when the engine has done it; otherwise it happens in the background,
                and is finished before the process exits.
        """
        if self._removed.is_set():
            return
        self._removed.set()
        removal.remove(self.client, self.name, wait=wait)


def _write_all(stream: ExecStream, data: bytes, end: float) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[stream.send(bytes(view[:1_048_576])) :]
        except BlockingIOError:
            _wait(stream, select.POLLOUT, end)


def _wait(stream: ExecStream, event: int, end: float) -> None:
    left = end - time.monotonic()
    poll = select.poll()
    poll.register(stream.fileno(), event)
    if left <= 0 or not poll.poll(left * 1000 + 1):
        raise ExecutorError("a program in the container took longer than it was given")


def check_limits(limits: Limits) -> None:
    """Refuse limits that cannot be meant, before the engine is asked.

    Raises:
        ConfigurationError: a size or number that is none.
    """
    for name, size in (
        ("memory", limits.memory),
        ("workdir_size", limits.workdir_size),
        ("tmp_size", limits.tmp_size),
    ):
        if size is None:
            continue
        if parse_size(size) is None:
            raise ConfigurationError(
                f"{name}={size!r}: give bytes as a number, or text such as '512m' or '2g'"
            )
    for name, number in (("cpus", limits.cpus), ("pids_limit", limits.pids)):
        if number is not None and (isinstance(number, bool) or not 0 < number < 1_000_000):
            raise ConfigurationError(f"{name}={number!r}: give a number above 0")


def parse_size(size: int | str) -> int | None:
    """Bytes for a number or for text with a unit (b, k, m, g); ``None`` when it is neither."""
    if isinstance(size, bool):
        return None
    if isinstance(size, int):
        return size if size > 0 else None
    text = size.strip().lower().removesuffix("b")
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:], 1)
    number = text[:-1] if factor > 1 else text
    return int(float(number) * factor) if number.replace(".", "", 1).isdigit() else None
