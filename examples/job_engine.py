"""Sandboxes as jobs of a scheduler. The scheduler here starts processes of this machine."""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from smolagents_fork.errors import ExecutorError, ExecutorStartError
from smolagents_fork.results import ExecutorStats
from smolagents_fork.sandboxes.container_options import ContainerOptions
from smolagents_fork.sandboxes.engine_protocol import Note, no_note
from smolagents_fork.sandboxes.provisioner import ImageSpec, Report, SandboxSpec, SandboxStatus
from smolagents_fork.sandboxes.resource_limits import parse_size


class Job:
    """Client of your scheduler: it starts a job, and asks for it by its id."""

    def __init__(self, image: str, workdir: str, memory: int | None, variables: dict[str, str]):
        self.id = secrets.token_hex(6)
        self.command = [f"{image}/bin/python", f"{image}/kernel_server.py"]
        self._environment = {"PATH": f"{image}/bin:/usr/bin:/bin", "HOME": workdir, **variables}
        self._workdir = workdir
        Path(workdir).mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            self.command,
            cwd=workdir,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if memory is not None:
            resource.prlimit(self._process.pid, resource.RLIMIT_AS, (memory, memory))

    def exit_code(self) -> int | None:
        """Return how it ended, as a shell has it; ``None`` while it runs."""
        code = self._process.poll()
        return 128 - code if code is not None and code < 0 else code

    def usage(self) -> tuple[int, float, int]:
        """Return its memory in bytes, processor seconds, and its processes and threads."""
        try:
            process = psutil.Process(self._process.pid)
            times = process.cpu_times()
            memory = process.memory_info().rss
            return memory, times.user + times.system, process.num_threads()
        except psutil.NoSuchProcess:
            raise ExecutorError(f"job {self.id} has ended") from None

    def stop(self) -> None:
        """End it with all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class JobSandbox:
    """A job with a kernel."""

    def __init__(self, spec: SandboxSpec) -> None:
        self.spec = spec
        self.gateway_token = secrets.token_urlsafe(24)
        self._removed = threading.Event()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._address = free.getsockname()
        self._memory = parse_size(spec.limits.memory)
        gateway = {"KG_IP": self._address[0], "KG_PORT": str(self._address[1])}
        variables = {**spec.environment, **gateway, "KG_AUTH_TOKEN": self.gateway_token}
        try:
            self._job = Job(spec.image, spec.workdir, self._memory, variables)
        except OSError as error:
            raise ExecutorStartError(f"image {spec.image!r}: {error}") from error
        self.id = self._job.id

    def open_stream(self, *, timeout: float) -> socket.socket:
        end = time.monotonic() + timeout
        while True:
            if not self.status().running:
                raise ExecutorError(f"job {self.id} has ended")
            try:
                return socket.create_connection(self._address, timeout=5)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def status(self) -> SandboxStatus:
        code = self._job.exit_code()
        return SandboxStatus("running" if code is None else "ended", code)

    def stats(self) -> ExecutorStats:
        memory, seconds, count = self._job.usage()
        return ExecutorStats(memory, self._memory, seconds, count)

    def remove(self) -> None:
        if not self._removed.is_set():
            self._removed.set()
            self._job.stop()


class JobProvisioner:
    """Starts jobs."""

    def __init__(self) -> None:
        self._sandboxes: list[JobSandbox] = []

    def prepare_image(self, spec: ImageSpec, *, report: Report, rebuild: bool = False) -> str:
        if spec.image is None or not Path(spec.image, "kernel_server.py").is_file():
            raise ExecutorStartError(f"image={spec.image!r}: give a folder with kernel_server.py")
        return str(Path(spec.image).absolute())

    def start(self, spec: SandboxSpec) -> JobSandbox:
        sandbox = JobSandbox(spec)
        self._sandboxes.append(sandbox)
        return sandbox

    def ours(self) -> list[str]:
        return [sandbox.id for sandbox in self._sandboxes if sandbox.status().running]

    def wait_until_removed(self, timeout: float) -> bool:
        return True  # remove() waits

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class JobEngine:
    """The scheduler; a real one is named by its address."""

    name = "job"

    @property
    def refused_options(self) -> dict[str, str]:
        return {"volumes": "a job has all folders of its machine"}

    def network_remedy(self, options: ContainerOptions, owner: str, /) -> str:
        return ""  # a job has the network of its machine

    def connect(self, options: ContainerOptions, *, note: Note = no_note) -> JobProvisioner:
        return JobProvisioner()
